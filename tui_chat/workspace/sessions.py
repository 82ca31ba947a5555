"""Sessions: opening one, creating one with its first message, and reading the list.

1. A new chat has an id, settings and a draft, but is stored only with its first message: one that
   was never begun leaves nothing behind.
2. `session_lock` is held while the active session is switched and while a message is stored in it,
   so that each waits for the other: a message never reaches a session that it was not written for.
3. A long branch is shown in two steps: its end at once, the whole when it is read. Until then
   `state.is_branch_loaded` is False, and nothing is composed, sent or added.
4. The list is read in two steps as well.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Generator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Unpack

from tui_chat.context.macros.expander import expanded_text
from tui_chat.errors import InputError, StoreError, TuiChatError
from tui_chat.models.message import Message
from tui_chat.models.session import Entry, Session
from tui_chat.models.text import Origin, OriginKind
from tui_chat.workspace.events import BranchChanged, BranchEndLoaded, Failed, SessionsChanged

if TYPE_CHECKING:
    from tui_chat.store import Store
    from tui_chat.store.sessions import SessionChanges
    from tui_chat.workspace.workspace import Workspace

TITLE_LENGTH = 60
"""Characters of a default title, which is the beginning of the first message."""

FIRST_SESSIONS = 200
"""Sessions that are listed before all of them are: more than fit on a screen."""

FIRST_MESSAGES = 60
"""Messages of a branch's end that are shown before all of it is read: more than fit on a screen."""

_STARTING = "starting"
"""The name of the stored setting that holds the id of the session which is being opened at the
start, until it has been on the screen."""

_MANY_MESSAGES = 500
"""Messages from which comparing two branches takes long enough to be felt on the event loop."""

TRASH_KEPT = 30 * 24 * 3600.0
"""Seconds after which deleted sessions and messages are purged."""


class Sessions:
    """The active session and the list of sessions."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._listing: asyncio.Task[None] | None = None
        self._is_list_stale = False
        """True if the whole list is to be read once more."""
        self._loading: object = None
        """Identifies the latest load of a branch; earlier ones keep nobody waiting."""
        self._loaded = asyncio.Event()
        """Set while `state.is_branch_loaded`."""
        self._loaded.set()
        self.session_lock = asyncio.Lock()
        """Held while the active session is switched and while a message is stored in it. Not held
        while a branch is read. Not reentrant; `open`, `new` and `leave` acquire it themselves.
        """

    # --- opening -------------------------------------------------------------------------

    async def open_last(self, *, guarded: bool) -> None:
        """Open the session that was open last, else a new chat; see `Workspace.start`."""
        store = self._workspace.store
        last = await store.settings.get("session")
        has_more = await self._list_first()
        if last is None or await store.sessions.get(last) is None:
            await self._start_new_chat()
        elif guarded:
            await self._open_guarded(last)
        else:
            await self.activate(last)
        await store.sessions.purge_trash(TRASH_KEPT)
        if has_more:
            self._list_all_soon()

    async def _open_guarded(self, session_id: str) -> None:
        """Open a session, or a new chat if the session cannot be shown or if the program ended
        while it was shown at the last start.
        """
        store = self._workspace.store
        fault = ""
        if await store.settings.get(_STARTING) == session_id:
            fault = "tui-chat ended while it was showing the last session, so it was not opened."
        else:
            await store.settings.set(_STARTING, session_id)
            try:
                await self.activate(session_id)
            except StoreError:
                raise  # the database is at fault, and more than this session
            except Exception as error:  # whatever is wrong with one session, the others are there
                why = str(error) if isinstance(error, TuiChatError) else type(error).__name__
                fault = f"The last session cannot be shown ({why}), so it was not opened."
        if fault:
            await store.settings.set("session", "")
            await self.confirm_start()
            await self._start_new_chat()
            advice = "It is in the session list; everything in it is kept, and can be exported."
            self._workspace.publish(Failed(InputError(fault, advice=advice)))

    async def confirm_start(self) -> None:
        """Note that the session which was opened at the start has been shown."""
        with suppress(StoreError):  # the consequence: it is not opened at the next start
            await self._workspace.store.settings.set(_STARTING, "")

    async def open(self, session_id: str) -> None:
        """Make a session the active one."""
        with self._workspace.reporting():
            await self.activate(session_id)

    async def open_at(self, session_id: str, message_id: str) -> None:
        """Open a session on the branch of a message, such as one that was searched for."""
        with self._workspace.reporting():
            await self.activate(session_id)
            if all(entry.message.id != message_id for entry in self._workspace.state.entries):
                await self._workspace.store.branches.activate(session_id, message_id)
                await self.activate(session_id)

    async def new(self, role_id: str | None = None) -> None:
        """Open a new chat with a role; empty for none, None for the role that was used last."""
        with self._workspace.reporting():
            await self._start_new_chat(role_id)
            await self._workspace.remember("session", "")

    async def activate(self, session_id: str) -> None:
        """Make a session the active one. Raises InputError if it is gone, and StoreError."""
        workspace = self._workspace
        store = workspace.store_of(session_id)
        if workspace.session_files is not None:
            await workspace.session_files.read(session_id)
        session = await store.sessions.get(session_id)
        if session is None:
            raise InputError("This session is gone; another window may have deleted it.")
        role = await workspace.store.roles.get(session.role_id) if session.role_id else None
        with self._loading_branch():
            async with self.session_lock:
                is_other = not workspace.state.is_active(session_id)
                if is_other:  # another session's messages must not be sent in its name
                    workspace.requests.release_conversation()
                    workspace.tools.stop_temporary()
                    workspace.update(session=session, session_id=session_id, entries=())
                    await workspace.temporary.end()
                else:
                    workspace.update(session=session)
                await workspace.settings.apply_session(session, role)
            if is_other:
                newest = await store.branches.load(session_id, last=FIRST_MESSAGES)
                if len(newest) == FIRST_MESSAGES:
                    draft = await store.drafts.get(session_id)
                    if workspace.state.is_active(session_id):
                        workspace.publish(BranchEndLoaded(newest, draft))
            entries = await self._read_branch(session_id)
            foreign = await workspace.request_history.foreign_reply(store, session, entries)
        # Nothing may be awaited from here to the update: tasks that wait for the branch go on then.
        if workspace.state.is_active(session_id):
            workspace.live_request.set_foreign(foreign)
            workspace.update(BranchChanged(), entries=entries)
        if store is workspace.store:
            await workspace.remember("session", session_id)
        await self._mark_read(session_id)

    @contextmanager
    def _loading_branch(self) -> Generator[None]:
        self._loading = this = object()
        self._set_loaded(False)
        try:
            yield
        finally:
            if self._loading is this:
                self._set_loaded(True)

    def _set_loaded(self, loaded: bool) -> None:
        if loaded:
            self._loaded.set()
        else:
            self._loaded.clear()
        self._workspace.update(is_branch_loaded=loaded)

    async def branch_loaded(self) -> None:
        """Wait until the active branch is loaded, or could not be."""
        await self._loaded.wait()

    async def leave(self, session_ids: Collection[str]) -> bool:
        """Open a new chat if one of these sessions is the active one; return True if it was."""
        async with self.session_lock:
            session = self._workspace.state.session
            if session is None or session.session_id not in session_ids:
                return False
            await self.switch_to_new_chat(None)
            return True

    async def _start_new_chat(self, role_id: str | None = None) -> None:
        """Open a new chat; see `new`."""
        async with self.session_lock:
            await self.switch_to_new_chat(role_id)

    async def switch_to_new_chat(self, role_id: str | None) -> None:
        """Open a new chat; see `new`. The caller holds `session_lock`. Raises InputError if the
        role is disabled or gone.
        """
        workspace = self._workspace
        role = await workspace.roles.to_start_with(role_id)
        # The previous session's messages do not belong to the new chat.
        workspace.tools.stop_temporary()
        workspace.update(session=None, session_id=workspace.new_id(), entries=())
        await workspace.temporary.end()
        await workspace.settings.apply_new_chat(role)
        self._loading = None  # a branch that is still being read is not shown any more
        self._set_loaded(True)
        workspace.requests.release_conversation()
        self.show_opening()

    def show_opening(self) -> None:
        """Show the first greeting of the new chat's role, or nothing if it has none."""
        self._workspace.update(BranchChanged(), entries=self._greeting(0))

    def _greeting(self, number: int) -> tuple[Entry, ...]:
        """Return the opening of a new chat: a greeting of the role's character card, with its
        macros expanded. It is stored when the session is created.
        """
        workspace = self._workspace
        character = workspace.state.role.character if workspace.state.role is not None else None
        greetings = character.greetings if character is not None else ()
        if not greetings:
            return ()
        origin = Origin(OriginKind.SYSTEM, "greeting")
        text = expanded_text(greetings[number], workspace.requests.inputs(""), origin)
        message = Message(
            "assistant", text, id=workspace.new_id(), timestamp=workspace.now().timestamp()
        )
        return (Entry(message, sibling=number, siblings=len(greetings)),)

    def show_greeting(self, step: int) -> None:
        """Show the greeting of a new chat that is `step` after the shown one, if there is one."""
        entries = self._workspace.state.entries
        if entries and 0 <= entries[0].sibling + step < entries[0].siblings:
            found = self._greeting(entries[0].sibling + step)
            self._workspace.update(BranchChanged(), entries=found)

    # --- the active session --------------------------------------------------------------

    async def create(self, draft: str) -> Session:
        """Store the session of the active new chat, which begins with `draft`. The caller holds
        `session_lock`.

        The draft stays that of the new chat until its message is stored; see `confirm_created`.
        """
        session = await self.create_in(self._workspace.store, default_title(draft) or "Files")
        self._workspace.update(session=session)
        return session

    async def create_in(self, store: Store, title: str) -> Session:
        """Add the session of the active new chat to a store."""
        state = self._workspace.state
        session = await store.sessions.create(
            session_id=state.session_id,
            title=title,
            role_id=state.role.role_id if state.role else None,
            model=state.model,
            endpoint=state.endpoint.name,
            preset=state.preset_name,
            profile=state.profile_name,
            lorebooks=state.lorebook_names,
            settings=state.settings,
        )
        if state.entries:
            shown = state.entries[0]
            for number in range(shown.siblings):
                greeting = shown if number == shown.sibling else self._greeting(number)[0]
                await store.messages.add(session.session_id, greeting.message, None)
            await store.branches.activate(session.session_id, shown.message.id)
        return session

    async def confirm_created(self, session: Session) -> None:
        """Note that the first message of a session is stored: the session was open last, and the
        new chat's draft is empty.
        """
        workspace = self._workspace
        if session.session_id == workspace.state.temporary_id:
            return
        with workspace.reporting():
            await workspace.remember("draft", "")
            await workspace.remember("session", session.session_id)
            await workspace.roles.mark_used(session.role_id or "")

    async def save_settings(self, **changes: Unpack[SessionChanges]) -> None:
        """Store changed settings of the active session, unless it is a new chat. Raises
        StoreError.
        """
        workspace = self._workspace
        session = workspace.state.session
        if session is not None:
            session = await workspace.active_store.sessions.update(session.session_id, **changes)
            if workspace.state.is_active(session.session_id):
                workspace.update(session=session)
        workspace.publish(BranchChanged())

    async def reload_branch(self) -> None:
        """Read the active branch again."""
        workspace = self._workspace
        if workspace.state.session is None:
            return
        session = workspace.state.session
        session_id = session.session_id
        while True:
            known = workspace.state.entries
            entries = await self._read_branch(session_id)
            store = workspace.store_of(session_id)
            foreign = await workspace.request_history.foreign_reply(store, session, entries)
            # Nothing may be awaited from here to the update.
            if not workspace.state.is_active(session_id):
                return  # another session was opened meanwhile
            if workspace.state.entries is known:
                break  # else what was shown meanwhile may be newer than what was read
        workspace.live_request.set_foreign(foreign)
        workspace.update(BranchChanged(), entries=entries)

    async def _read_branch(self, session_id: str) -> tuple[Entry, ...]:
        """Read a branch; entries that did not change stay the same objects."""
        entries = await self._workspace.store_of(session_id).branches.load(session_id)
        known = self._workspace.state.entries
        if len(known) < _MANY_MESSAGES:
            return _with_known(known, entries)
        return await asyncio.to_thread(_with_known, known, entries)

    def replace_entry(self, entry: Entry) -> None:
        """Replace an entry of the active branch without reading the branch again."""
        entries = self._workspace.state.entries
        entries = tuple(entry if each.message.id == entry.message.id else each for each in entries)
        self._workspace.update(BranchChanged(), entries=entries)

    # --- the list ------------------------------------------------------------------------

    async def refresh_list(self) -> None:
        """Read the list of sessions again: the first of them now, the rest soon."""
        if await self._list_first():
            self._list_all_soon()

    async def refresh_list_if_changed(self) -> None:
        """Read the list of sessions, and publish it if another program changed it."""
        sessions = await self._workspace.store.sessions.list()
        if sessions != self._workspace.state.sessions:
            self._workspace.update(SessionsChanged(), sessions=sessions)

    async def stop_listing(self) -> None:
        """Stop reading the list, so that the store can be closed."""
        if self._listing is not None:
            self._listing.cancel()
            await asyncio.wait((self._listing,))

    async def _list_first(self) -> bool:
        """Read the first sessions of the list; return True if there may be more."""
        first = await self._workspace.store.sessions.list(FIRST_SESSIONS)
        has_more = len(first) == FIRST_SESSIONS
        if has_more:
            read = {summary.session_id for summary in first}
            known = self._workspace.state.sessions
            first = (*first, *(each for each in known if each.session_id not in read))
        self._workspace.update(SessionsChanged(), sessions=first)
        return has_more

    def _list_all_soon(self) -> None:
        self._is_list_stale = True
        if self._listing is None or self._listing.done():
            self._listing = asyncio.create_task(self._list_all())

    async def _list_all(self) -> None:
        workspace = self._workspace
        with workspace.reporting():
            while self._is_list_stale:
                self._is_list_stale = False
                sessions = await workspace.store.sessions.list()
                if not self._is_list_stale:  # else something changed while it was read
                    workspace.update(SessionsChanged(), sessions=sessions)
                    await self._mark_read(workspace.state.session_id)

    async def _mark_read(self, session_id: str) -> None:
        """Mark a session as read if it is listed as unread."""
        sessions = self._workspace.state.sessions
        if self._workspace.remembers and any(
            each.unread for each in sessions if each.session_id == session_id
        ):
            await self._workspace.store.sessions.update(session_id, unread=False)
            await self.refresh_list()


def _with_known(old: tuple[Entry, ...], new: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """Return a branch that was read again, with the old objects for entries that did not change:
    memos find what was made of them by their identity.
    """
    by_id = {entry.message.id: entry for entry in old}
    kept: list[Entry] = []
    for entry in new:
        known = by_id.get(entry.message.id)
        kept.append(known if known is not None and known == entry else entry)
    return tuple(kept)


def default_title(text: str) -> str:
    """Return the title of a session that begins with `text`."""
    line = " ".join(text[: 4 * TITLE_LENGTH].split())
    return line if len(line) <= TITLE_LENGTH else line[: TITLE_LENGTH - 1].rstrip() + "…"
