"""The base of every use case: the state, the sources and stores of the state, and the events.

1. There is one `WorkspaceState`. It is frozen, and only `update` replaces it.
2. The core knows no use case. A use case that something else makes necessary listens: to the typed
   events (`subscribe`), or to each replacement of the state (`watch`).
3. Everything runs on one event loop, except that a request may be composed in a thread.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from functools import partial, wraps
from time import monotonic
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar, Unpack
from uuid import uuid4

from tui_chat.config import Config
from tui_chat.errors import InputError, TuiChatError
from tui_chat.library.library import Kind, Library
from tui_chat.providers.client import HttpClient
from tui_chat.workspace.events import BranchChanged, Done, Failed, WorkspaceEvent
from tui_chat.workspace.state import WorkspaceState

if TYPE_CHECKING:
    from tui_chat.store import Store
    from tui_chat.store.sessions import SessionChanges
    from tui_chat.workspace.session_source import SessionSource

MAX_UNDO_STEPS = 100
"""Deletions that can be undone, for as long as the program runs."""


class WorkspaceCore:
    """The state of a workspace, its stores and files, its clock, its events and its undo steps."""

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
        nothing is stored of what was opened and chosen last, and nothing of it is used: new chats
        are those of the configuration, without role and profile, so that a command neither changes
        nor follows what is clicked in the app.
        """
        self.store = store
        self.temporary_store: Store | None = None
        """The store of the temporary session, in memory; None if there is none."""
        self.client = client
        self.library = library
        """The user's presets, profiles, lorebooks and roles as files."""
        self.session_files: SessionSource | None = None
        """The files that a viewer lists; None for one's own conversations."""
        self.now = now
        self.clock = clock
        self.new_id = new_id
        self.remembers = remembers
        self.state = WorkspaceState.initial(config)
        self.new_chat_tools = ""
        """The names of the tools that were chosen for the new chat, as JSON; empty if none were."""
        self._watchers: list[Callable[[WorkspaceState, WorkspaceState], object]] = []
        self._listeners: list[Callable[[WorkspaceEvent], object]] = []
        self._doubted = set[tuple[str, str]]()
        self._undo_steps: list[tuple[str, Callable[[], Awaitable[None]], str, Store | None]] = []
        """What each undo is called, the undo, and for a message its id and store, oldest first."""

    # --- the state -----------------------------------------------------------------------

    def update(self, *events: WorkspaceEvent, **changes: Any) -> None:
        """Replace fields of the state, then publish the events that tell of it."""
        before, self.state = self.state, replace(self.state, **changes)
        for watcher in self._watchers:
            watcher(before, self.state)
        for event in events:
            self.publish(event)

    def watch(self, watcher: Callable[[WorkspaceState, WorkspaceState], object]) -> None:
        """Call `watcher` with the state before and after each replacement, before its events."""
        self._watchers.append(watcher)

    def publish(self, event: WorkspaceEvent) -> None:
        """Call the listeners with an event."""
        for listener in tuple(self._listeners):
            listener(event)

    def subscribe(self, listener: Callable[[WorkspaceEvent], object]) -> Callable[[], None]:
        """Call `listener` with every event from now on; return what ends that."""
        self._listeners.append(listener)
        return partial(self._listeners.remove, listener)

    @contextmanager
    def reporting(self) -> Generator[None]:
        """Publish our own errors as `Failed` instead of raising them."""
        try:
            yield
        except TuiChatError as error:
            self.publish(Failed(error))

    def report_doubts(self, kind: Kind, name: str) -> None:
        """Publish, once in this run, what is doubtful in a file of the library that is used."""
        if name and (kind, name) not in self._doubted:
            self._doubted.add((kind, name))
            for sentence in self.library.doubts(kind, name):
                self.publish(Failed(InputError(sentence)))

    # --- what is stored ------------------------------------------------------------------

    def store_of(self, session_id: str) -> Store:
        """Return the store that has a session: that in memory for the temporary one."""
        temporary = self.temporary_store
        is_temporary = temporary is not None and session_id == self.state.temporary_id
        return temporary if temporary is not None and is_temporary else self.store

    @property
    def active_store(self) -> Store:
        """The store that has the active session."""
        return self.store_of(self.state.session_id)

    async def change_session(self, **changes: Unpack[SessionChanges]) -> None:
        """Store changed settings of the active session; not of a new chat. Raises StoreError."""
        session = self.state.session
        if session is not None:
            session = await self.active_store.sessions.update(session.session_id, **changes)
            if self.state.is_active(session.session_id):
                self.update(session=session)
        self.publish(BranchChanged())

    async def remember(self, name: str, value: str) -> None:
        """Store what was opened or chosen last, for the next start. Raises StoreError."""
        if self.remembers:
            await self.store.settings.set(name, value)

    # --- undo ----------------------------------------------------------------------------

    def push_undo(
        self,
        what: str,
        restore: Callable[[], Awaitable[None]],
        *,
        message_id: str = "",
        store: Store | None = None,
    ) -> None:
        """Publish what was deleted. Remember how to bring it back, for as long as the `store` of
        its session is open.
        """
        step = f"Brought back {what}.", restore, message_id, store
        self._undo_steps = [*self._undo_steps[1 - MAX_UNDO_STEPS :], step]
        session_id = self.state.session_id if store is not None else ""
        self.publish(Done(f"Deleted {what}.", undoable=True, session_id=session_id))

    def forget_messages(self, store: Store) -> None:
        """Forget how to restore messages of a store that is closed."""
        self._undo_steps = [step for step in self._undo_steps if step[3] is not store]

    async def undo(self) -> None:
        """Bring back what was deleted last; `Done` says what."""
        with self.reporting():
            if not self._undo_steps:
                raise InputError(
                    "Nothing to undo.",
                    advice="`tui-chat sessions delete --undo TITLE` brings back what was deleted "
                    "before this start.",
                )
            undone, restore, message_id, _ = self._undo_steps.pop()
            await restore()
            self.publish(Done(undone, message_id=message_id))


class UseCases(Protocol):
    """An object with use cases."""

    core: WorkspaceCore


_Subject = TypeVar("_Subject", bound=UseCases)
_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")
_Otherwise = TypeVar("_Otherwise")


def reported(
    otherwise: _Otherwise,
) -> Callable[
    [Callable[Concatenate[_Subject, _Arguments], Coroutine[Any, Any, _Result]]],
    Callable[Concatenate[_Subject, _Arguments], Coroutine[Any, Any, _Result | _Otherwise]],
]:
    """Publish our own errors that a use case raises as `Failed`; it returns `otherwise` then."""

    def decorate(
        method: Callable[Concatenate[_Subject, _Arguments], Coroutine[Any, Any, _Result]],
    ) -> Callable[Concatenate[_Subject, _Arguments], Coroutine[Any, Any, _Result | _Otherwise]]:
        @wraps(method)
        async def run(
            subject: _Subject, *args: _Arguments.args, **options: _Arguments.kwargs
        ) -> _Result | _Otherwise:
            with subject.core.reporting():
                return await method(subject, *args, **options)
            return otherwise

        return run

    return decorate
