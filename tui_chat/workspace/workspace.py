"""The application without a screen: its state, and the use cases that change it.

1. There is one `WorkspaceState`. It is frozen, and only `update` replaces it.
2. Use cases are grouped by subject: `workspace.sessions.open(...)`,
   `workspace.replies.submit(...)`. They reach the state and each other through the workspace.
3. Whatever fails because of the user, a provider or the disk is published as `Failed`; a method
   that raises it instead says so.
4. Everything runs on one event loop, except that a request may be composed in a thread.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from time import monotonic
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from tui_chat.config import Config
from tui_chat.errors import InputError, TuiChatError
from tui_chat.library.library import Library
from tui_chat.providers import HttpClient
from tui_chat.workspace.branches import Branches
from tui_chat.workspace.captured_requests import CapturedRequests
from tui_chat.workspace.compaction import Compaction
from tui_chat.workspace.drafts import Drafts
from tui_chat.workspace.events import Done, Failed, WorkspaceEvent
from tui_chat.workspace.external_changes import ExternalChanges
from tui_chat.workspace.import_export import ImportExport
from tui_chat.workspace.live_request import Forecasts, LiveRequest
from tui_chat.workspace.presets import Presets
from tui_chat.workspace.replies import Replies
from tui_chat.workspace.request_history import RequestHistory
from tui_chat.workspace.requests import Requests
from tui_chat.workspace.roles import Roles
from tui_chat.workspace.session_organization import SessionOrganization
from tui_chat.workspace.sessions import Sessions
from tui_chat.workspace.settings import SessionSetup
from tui_chat.workspace.side_requests import SideRequests
from tui_chat.workspace.state import WorkspaceState
from tui_chat.workspace.temporary import TemporarySession
from tui_chat.workspace.titles import Titles
from tui_chat.workspace.tools import Tools
from tui_chat.workspace.unsaved_writes import UnsavedWrites
from tui_chat.workspace.usage import UsageReports

if TYPE_CHECKING:
    from tui_chat.store import Store
    from tui_chat.workspace.lorebooks import Lorebooks
    from tui_chat.workspace.session_files import SessionFiles

MAX_UNDO_STEPS = 100
"""Steps that can be undone, for as long as the program runs."""


class Workspace:
    """The state and the use cases. Subscribe to its events, then call `start`."""

    def __init__(
        self,
        config: Config,
        store: Store,
        client: HttpClient,
        library: Library,
        *,
        now: Callable[[], datetime],
        clock: Callable[[], float] = monotonic,
        new_id: Callable[[], str] = lambda: uuid4().hex,
        remembers: bool = True,
    ) -> None:
        """`now` returns the time in the zone that times are shown in; `clock` counts seconds and
        never goes back; `new_id` returns ids that are unique across programs. Without `remembers`
        nothing is stored of what was opened and chosen last, so that a command changes nothing
        that the app starts with.
        """
        self.store = store
        self.client = client
        self.library = library
        """The user's presets, profiles, lorebooks and roles as files."""
        self.now = now
        self.clock = clock
        self.new_id = new_id
        self.remembers = remembers
        self.state = WorkspaceState.initial(config)
        self._listeners: list[Callable[[WorkspaceEvent], object]] = []
        self._undo_steps: list[tuple[str, Callable[[], Awaitable[None]], str, Store | None]] = []
        """What was deleted, how to restore it, and of a message its id and its store, oldest first.
        """

        self.requests = Requests(self)
        self.live_request = LiveRequest(self)
        self.captured_requests = CapturedRequests(self)
        self.request_history = RequestHistory(self)
        self.forecasts = Forecasts(self)
        self.settings = SessionSetup(self)
        self.presets = Presets(self)
        self.roles = Roles(self)
        self.sessions = Sessions(self)
        self.organization = SessionOrganization(self)
        self.temporary = TemporarySession(self)
        self.branches = Branches(self)
        self.drafts = Drafts(self)
        self.replies = Replies(self)
        self.side_requests = SideRequests(self)
        self.titles = Titles(self)
        self.compaction = Compaction(self)
        self.tools = Tools(self)
        self.usage = UsageReports(self)
        self.import_export = ImportExport(self)
        self.session_files: SessionFiles | None = None
        """The files that a viewer lists; None for one's own conversations."""
        self.external_changes = ExternalChanges(self)
        self.unsaved_writes = UnsavedWrites(self)

    @cached_property
    def lorebooks(self) -> Lorebooks:
        """The lorebooks that the user edits; their files are not read at the start."""
        from tui_chat.workspace.lorebooks import Lorebooks

        return Lorebooks(self)

    # --- the state -----------------------------------------------------------------------

    def update(self, *events: WorkspaceEvent, **changes: Any) -> None:
        """Replace fields of the state, then publish the events that tell of it."""
        before, self.state = self.state, replace(self.state, **changes)
        self.requests.follow(before, self.state)
        for event in events:
            self.publish(event)

    def publish(self, event: WorkspaceEvent) -> None:
        """Call the listeners with an event."""
        for listener in self._listeners:
            listener(event)

    def subscribe(self, listener: Callable[[WorkspaceEvent], object]) -> None:
        """Call `listener` with every event from now on."""
        self._listeners.append(listener)

    @contextmanager
    def reporting(self) -> Generator[None]:
        """Publish our own errors as `Failed` instead of raising them."""
        try:
            yield
        except TuiChatError as error:
            self.publish(Failed(error))

    # --- stores --------------------------------------------------------------------------

    def store_of(self, session_id: str) -> Store:
        """Return the store that has a session: that in memory for the temporary one."""
        temporary = self.temporary.store
        is_temporary = temporary is not None and session_id == self.state.temporary_id
        return temporary if temporary is not None and is_temporary else self.store

    @property
    def active_store(self) -> Store:
        """The store that has the active session."""
        return self.store_of(self.state.session_id)

    # --- start and end -------------------------------------------------------------------

    async def start_new_chat(self) -> None:
        """Read the roles, and open a new chat. Nothing is sent. Raises StoreError, and InputError
        if a command cannot begin a chat.
        """
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
        await self.requests.calibration.load(self.store)

    async def remember(self, name: str, value: str) -> None:
        """Store what was opened or chosen last, for the next start. Raises StoreError."""
        if self.remembers:
            await self.store.settings.set(name, value)

    async def close(self) -> None:
        """Stop all replies, each kept as far as it came, and close store and network."""
        try:
            await self.tools.stop_all()
            await self.replies.stop_all(for_good=True)
            await self.titles.stop()
            await self.sessions.stop_listing()
            if self.session_files is not None:
                await self.session_files.stop()
            await self.unsaved_writes.stop()
            await self.client.aclose()
        finally:
            if self.temporary.store is not None:
                await self.temporary.store.close()
            await self.store.close()

    # --- undo ----------------------------------------------------------------------------

    def push_undo(
        self,
        what: str,
        restore: Callable[[], Awaitable[None]],
        *,
        done: str = "Deleted",
        message_id: str = "",
        store: Store | None = None,
    ) -> None:
        """Publish that `what` was deleted or archived (`done`), and remember how to restore it, for
        as long as the `store` of its session is open.
        """
        step = what, restore, message_id, store
        self._undo_steps = [*self._undo_steps[1 - MAX_UNDO_STEPS :], step]
        self.publish(Done(f"{done} {what}.", undoable=True))

    def forget_messages(self, store: Store) -> None:
        """Forget how to restore messages of a store that is closed."""
        self._undo_steps = [each for each in self._undo_steps if each[3] is not store]

    async def undo(self) -> None:
        """Restore what was deleted or archived last; `Done` says what."""
        with self.reporting():
            if not self._undo_steps:
                raise InputError(
                    "There is nothing to undo.",
                    advice="`tui-chat sessions delete --undo TITLE` brings back what was deleted "
                    "before this start.",
                )
            what, restore, message_id, _ = self._undo_steps.pop()
            await restore()
            self.publish(Done(f"Brought back {what}.", message_id=message_id))
