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

from tui_chat.workspace.active_session import ActiveSession
from tui_chat.workspace.branches import Branches
from tui_chat.workspace.cache_losses import CacheLosses
from tui_chat.workspace.calibration import TokenCalibration
from tui_chat.workspace.compaction import Compaction
from tui_chat.workspace.configuration import Configuration
from tui_chat.workspace.core import WorkspaceCore
from tui_chat.workspace.drafts import Drafts
from tui_chat.workspace.exports import Exports
from tui_chat.workspace.external_changes import ExternalChanges
from tui_chat.workspace.forecasts import Forecasts
from tui_chat.workspace.live_request import LiveRequest
from tui_chat.workspace.message_queue import MessageQueue
from tui_chat.workspace.mutes import Mutes
from tui_chat.workspace.plugin_listeners import PluginListeners
from tui_chat.workspace.presets import Presets
from tui_chat.workspace.replies import Replies
from tui_chat.workspace.request_history import RequestHistory
from tui_chat.workspace.requests import Requests
from tui_chat.workspace.roles import Roles
from tui_chat.workspace.session_catalog import SessionCatalog
from tui_chat.workspace.session_organization import SessionOrganization
from tui_chat.workspace.sessions import Sessions
from tui_chat.workspace.settings import SessionSetup
from tui_chat.workspace.side_requests import SideRequests
from tui_chat.workspace.source_texts import SourceTexts
from tui_chat.workspace.state import WorkspaceState
from tui_chat.workspace.temporary import TemporarySession
from tui_chat.workspace.titles import Titles
from tui_chat.workspace.tool_grants import ToolGrants
from tui_chat.workspace.tool_sources import ToolSources
from tui_chat.workspace.tools import Tools
from tui_chat.workspace.usage import UsageReports
from tui_chat.workspace.viewed_requests import ViewedRequests

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

        # What is sent
        self.usage = usage = UsageReports(core)
        self.calibration = calibration = TokenCalibration(core)
        self.requests = requests = Requests(core, calibration)
        self.request_history = history = RequestHistory(core)
        self.forecasts = Forecasts(core, requests, history)
        self.side_requests = side_requests = SideRequests(core, requests, usage)

        # The active session
        self.catalog = catalog = SessionCatalog(core)
        self.presets = Presets(core)
        self.tool_grants = grants = ToolGrants(core.store)
        self.tool_sources = tool_sources = ToolSources(core, grants)
        self.settings = settings = SessionSetup(core, self.presets, requests, tool_sources)
        self.configuration = Configuration(core, settings, read_config)
        self.roles = roles = Roles(core, settings)
        self.active = active = ActiveSession(core, requests, history, roles)
        self.replies = replies = Replies(
            core, requests, history, calibration, active, catalog, usage, tool_sources
        )
        self.cache_losses = CacheLosses(core, history, active, usage)
        self.tools = tools = Tools(core, active, replies, tool_sources, grants)
        self.queue = MessageQueue(core, requests, replies)
        self.temporary = temporary = TemporarySession(core, active, catalog, replies)
        self.drafts = Drafts(core, temporary)

        # Which session is the active one, and what is done with it
        self.sessions = sessions = Sessions(
            core, active, catalog, settings, roles, tools, temporary
        )
        self.organization = SessionOrganization(core, sessions, catalog, replies)
        self.titles = titles = Titles(core, catalog, side_requests)
        replies.followers = (
            self.cache_losses.follow,
            tools.follow,
            self.queue.follow,
            titles.follow,
        )
        self.compaction = compaction = Compaction(
            core, requests, calibration, active, sessions, side_requests, usage
        )
        self.branches = branches = Branches(
            core, active, sessions, replies, side_requests, compaction
        )
        self.source_texts = SourceTexts(core, tool_sources, branches)
        self.mutes = Mutes(core, sessions, compaction)
        self.exports = Exports(core)
        self.external_changes = ExternalChanges(core, active, sessions, catalog, roles, settings)

        # What the inspector shows
        self.live_request = live_request = LiveRequest(
            core, requests, history, branches, titles, compaction
        )
        self.viewed_requests = ViewedRequests(
            core, requests, history, live_request, sessions, usage
        )
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

        With `guarded`, a session that cannot be shown, or during whose display the program ended
        the last time, is not opened, and `Failed` is published; call `sessions.confirm_start` once
        the session has been on the screen. Raises StoreError if the store cannot be read.
        """
        await self._load()
        await self.sessions.open_last(guarded=guarded)

    async def _load(self) -> None:
        await self.roles.load()
        await self.calibration.load()

    async def close(self) -> None:
        """Stop all replies, each kept as far as it came, and close store and network."""
        try:
            await self.tools.stop_all()
            await self.tool_sources.close()
            await self.replies.stop_all(for_good=True)
            await self.titles.stop()
            await self.cache_losses.finish()
            await self.queue.finish()
            await self.catalog.stop()
            if self.session_files is not None:
                await self.session_files.stop()
            await self.plugin_listeners.finish()
            await self.client.aclose()
        finally:
            if self.core.temporary_store is not None:
                await self.core.temporary_store.close()
            await self.store.close()
