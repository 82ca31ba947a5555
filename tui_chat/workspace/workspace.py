"""The application without a screen: its state, and the use cases that change it.

1. `WorkspaceCore` has the state and what it is read from. Use cases are grouped by subject:
   `workspace.sessions.open(...)`, `workspace.replies.submit(...)`. Each takes the core, and by name
   the use cases that it needs; they are composed here, in an order without circles.
2. Whatever fails because of the user, a provider or the disk is published as `Failed`; a method
   that raises it instead says so.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from tui_chat.workspace.aside import Aside
from tui_chat.workspace.branches import Branches
from tui_chat.workspace.compaction import Compaction
from tui_chat.workspace.core import WorkspaceCore
from tui_chat.workspace.exports import Exports
from tui_chat.workspace.message_queue import MessageQueue
from tui_chat.workspace.plugin_listeners import PluginListeners
from tui_chat.workspace.presets import Presets
from tui_chat.workspace.replies import Replies
from tui_chat.workspace.requests import Requests
from tui_chat.workspace.roles import Roles
from tui_chat.workspace.sent import PromptCache, Sent
from tui_chat.workspace.session_list import SessionList
from tui_chat.workspace.sessions import Sessions
from tui_chat.workspace.settings import SessionSetup
from tui_chat.workspace.state import WorkspaceState
from tui_chat.workspace.tool_grants import ToolGrants
from tui_chat.workspace.tool_sources import ToolSources
from tui_chat.workspace.tools import Tools
from tui_chat.workspace.usage import UsageReports
from tui_chat.workspace.windows import Windows

if TYPE_CHECKING:
    from collections.abc import Callable

    from tui_chat.config import Config
    from tui_chat.store import Store
    from tui_chat.workspace.request_edits import RequestEdits
    from tui_chat.workspace.session_source import SessionSource


class Workspace:
    """The state and the use cases. Subscribe to its events, then call `start`."""

    def __init__(
        self, core: WorkspaceCore, *, read_config: Callable[[], Config] | None = None
    ) -> None:
        """`read_config` reads the configuration again; without it, that of the start stays."""
        self.core = core
        self.store, self.client, self.library = core.store, core.client, core.library
        self.now, self.clock = core.now, core.clock
        self.subscribe, self.publish, self.update = core.subscribe, core.publish, core.update
        self.reporting, self.store_of, self.undo = core.reporting, core.store_of, core.undo

        self.usage = usage = UsageReports(core)
        self.requests = requests = Requests(core, usage)
        self.sent = sent = Sent(core, requests, usage)
        self.cache = PromptCache(core, requests, sent, usage)
        self.presets = Presets(core)
        self.tool_grants = grants = ToolGrants(core.store)
        self.tool_sources = tool_sources = ToolSources(core)
        self.settings = settings = SessionSetup(
            core, self.presets, requests, tool_sources, read_config
        )
        self.roles = roles = Roles(core, settings)
        self.session_list = listed = SessionList(core)
        self.sessions = sessions = Sessions(core, requests, sent, roles, settings, listed)
        self.replies = replies = Replies(
            core, requests, sent, sessions, listed, usage, tool_sources
        )
        self.tools = tools = Tools(core, sessions, replies, tool_sources, grants)
        self.queue = MessageQueue(core, requests, replies)
        self.aside = aside = Aside(core, requests, usage, listed)
        replies.followers = tools.follow, self.queue.follow, aside.follow
        sent.open_session = sessions.open_added
        sessions.stop_replies, sessions.stop_tools = replies.stop, tools.stop
        self.compaction = compaction = Compaction(core, requests, sessions, aside, usage)
        requests.compose_summary = compaction.request
        self.branches = Branches(core, sessions, replies, aside, compaction)
        self.exports = Exports(core)
        self.windows = Windows(core, sessions, listed, roles, settings)
        self.plugin_listeners = PluginListeners(core, self)

    @cached_property
    def request_edits(self) -> RequestEdits:
        """The edits of the request by hand; few sessions have some."""
        from tui_chat.workspace.request_edits import RequestEdits

        return RequestEdits(self.core)

    @property
    def state(self) -> WorkspaceState:
        """The present state."""
        return self.core.state

    @property
    def active_store(self) -> Store:
        """The store that has the active session."""
        return self.core.active_store

    @property
    def session_files(self) -> SessionSource | None:
        """The files that a viewer lists; None for one's own conversations."""
        return self.core.session_files

    @session_files.setter
    def session_files(self, files: SessionSource) -> None:
        self.core.session_files = files

    # --- start and end -------------------------------------------------------------------

    async def start_new_chat(self) -> None:
        """Read the roles and open a new chat; sends nothing. Raises StoreError and InputError."""
        await self._load()
        await self.sessions.new()

    async def start(self, *, guarded: bool = False) -> None:
        """Read the sessions and open the one that was open last. Nothing is sent.

        With `guarded`, a session during whose display the program ended the last time is not
        opened, and `Failed` is published; call `sessions.confirm_start` once the session has been
        on the screen. Raises StoreError if the store cannot be read.
        """
        await self._load()
        await self.sessions.open_last(guarded=guarded)

    async def _load(self) -> None:
        await self.roles.load()
        await self.usage.load_corrections()

    async def save_again(self) -> None:
        """Store what is on the screen and could not be stored; a fault is reported."""
        if self.state.unsaved_replies:
            await self.replies.save_again()
        if self.state.is_queue_unsaved:
            await self.queue.save()

    async def close(self) -> None:
        """Stop all replies, each kept as far as it came, and close store and network."""
        try:
            await self.tools.stop_all()
            await self.tool_sources.close()
            await self.replies.stop_all(for_good=True)
            await self.aside.stop()
            await self.queue.finish()
            if self.session_files is not None:
                await self.session_files.stop()
            await self.plugin_listeners.finish()
            await self.client.aclose()
        finally:
            if self.core.temporary_store is not None:
                await self.core.temporary_store.close()
            await self.store.close()
