"""Opening sessions: one is shown, or a chat that was not begun."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Generator
from contextlib import contextmanager, suppress

from tui_chat.errors import InputError, StoreError, TuiChatError
from tui_chat.models.session import Entry, Session
from tui_chat.workspace.changes import BranchChanged, NewestRead, SessionsChanged, Trouble
from tui_chat.workspace.choosing import Choosing
from tui_chat.workspace.composing import Composing
from tui_chat.workspace.outside import Outside
from tui_chat.workspace.roles import Roles
from tui_chat.workspace.state import State

TITLE_LENGTH = 60
"""A session that nobody named is called by its first words, up to so many characters."""

LISTED_AT_ONCE = 200
"""Sessions that are listed before all of them are: more than a screen holds."""

SHOWN_AT_ONCE = 60
"""Messages of a branch's end that are shown before all of it is read: more than a screen holds."""

_STARTING = "starting"
"""The name of the setting that has the session which is being shown at the start, until it could
be."""

_MANY = 500
"""Messages from which comparing them would be felt on the event loop."""

TRASH_KEPT = 30 * 24 * 3600.0
"""Seconds after which what was deleted goes for good."""


class Opening:
    """Which session is shown, and reading it."""

    def __init__(
        self,
        state: State,
        outside: Outside,
        composing: Composing,
        choosing: Choosing,
        roles: Roles,
    ) -> None:
        self._state = state
        self._outside = outside
        self._store = outside.store
        self._composing = composing
        self._choosing = choosing
        self._roles = roles
        self._listing: asyncio.Task[None] | None = None
        self._is_stale = False
        """Whether the rest of the list is to be read, once more."""
        self._reading: object = None
        """Stands for the latest opening; an earlier one that still reads keeps nobody waiting."""
        self._is_whole = asyncio.Event()
        self._is_whole.set()
        self.session_lock = asyncio.Lock()
        """Held while the active session is switched, and while a message is stored in it, so that
        each waits for the other: a message never reaches a session that it was not written for.
        Not held while a branch is read: `is_whole` is False then, and nothing is sent. Not
        reentrant; `open`, `clear` and `leave` take it themselves.
        """

    async def start(self, *, guarded: bool = False) -> None:
        """Open what was open last; see `Desk.start`."""
        await self._roles.start()
        await self._composing.start()
        last = await self._store.settings.get("session")
        has_more = await self._list_first()
        if last is None or await self._store.sessions.get(last) is None:
            await self.clear()
        elif guarded:
            await self._open_guarded(last)
        else:
            await self.open(last)
        await self._store.sessions.purge_trash(TRASH_KEPT)
        if has_more:
            self._list_all_soon()

    async def _open_guarded(self, session_id: str) -> None:
        """Show the last session, unless the program ended while it was shown at the last start;
        see `confirm_start`. Where it cannot be shown, a new chat is.
        """
        fault = ""
        if await self._store.settings.get(_STARTING) == session_id:
            fault = "tui-chat ended while it was showing the last session, so it was not opened."
        else:
            await self._store.settings.set(_STARTING, session_id)
            try:
                await self.open(session_id)
            except StoreError:
                raise  # the database is at fault, and more than this session
            except Exception as error:  # whatever is wrong with one session, the others are there
                why = str(error) if isinstance(error, TuiChatError) else type(error).__name__
                fault = f"The last session cannot be shown ({why}), so it was not opened."
        if fault:
            await self._store.settings.set("session", "")
            await self.confirm_start()
            await self.clear()
            advice = "It is in the session list; everything in it is kept, and can be exported."
            self._outside.tell(Trouble(InputError(fault, advice=advice)))

    async def confirm_start(self) -> None:
        """Note that the session which was opened at the start could be shown."""
        with suppress(StoreError):  # what comes of it: it is not opened at the next start
            await self._store.settings.set(_STARTING, "")

    async def open(self, session_id: str) -> None:
        """Show a session. Raises InputError where it is gone."""
        session = await self._store.sessions.get(session_id)
        if session is None:
            raise InputError("This session is gone; another window may have deleted it.")
        role = await self._store.roles.get(session.role_id) if session.role_id else None
        state = self._state
        with self._being_read():
            async with self.session_lock:
                is_other = not state.shows(session_id)
                state.session, state.session_id = session, session_id
                if is_other:
                    state.entries = ()  # another session's messages must not go out in its name
                    self._composing.leave()
                await self._choosing.as_session(session, role)
            if is_other:
                newest = await self._store.branches.load(session_id, last=SHOWN_AT_ONCE)
                if len(newest) == SHOWN_AT_ONCE:
                    draft = await self._store.drafts.get(session_id)
                    if state.shows(session_id):
                        self._outside.tell(NewestRead(newest, draft))
            entries = await self._read(session_id)
        # From here to the showing nothing may wait: what waited for the whole goes on then.
        if state.shows(session_id):
            self._show(entries)
        await self._store.settings.set("session", session_id)
        await self._read_now(session_id)

    @property
    def is_whole(self) -> bool:
        """Whether the shown branch is read: while it is not, nothing can be made of it."""
        return self._is_whole.is_set()

    async def whole(self) -> None:
        """Wait until the shown branch is read, wholly or in vain."""
        await self._is_whole.wait()

    @contextmanager
    def _being_read(self) -> Generator[None]:
        self._reading = this = object()
        self._is_whole.clear()
        try:
            yield
        finally:
            if self._reading is this:
                self._is_whole.set()

    async def open_at(self, session_id: str, message_id: str) -> None:
        """Show a session on the branch of a message. Raises InputError or StoreError."""
        await self.open(session_id)
        if all(entry.message.id != message_id for entry in self._state.entries):
            await self._store.branches.activate(session_id, message_id)
            await self.open(session_id)

    async def clear(self, role_id: str | None = None) -> None:
        """Show a chat that was not begun.

        `role_id` is its role's, empty for none, None for the one that was used last. Raises
        InputError where the role is disabled or gone.
        """
        async with self.session_lock:
            await self._clear(role_id)

    async def leave(self, session_ids: Collection[str]) -> bool:
        """Show a new chat if one of these sessions is the active one; return True if it was."""
        async with self.session_lock:
            session = self._state.session
            if session is None or session.session_id not in session_ids:
                return False
            await self._clear(None)
            return True

    async def _clear(self, role_id: str | None) -> None:
        state = self._state
        role = await self._roles.to_start_with(role_id)
        state.session, state.session_id = None, self._outside.new_id()
        state.entries = ()  # the previous session's messages do not belong to the new chat
        await self._choosing.as_new(role)
        self._reading = None  # what is still being read is not shown any more
        self._is_whole.set()
        self._composing.leave()
        self._show(())

    async def begin(self, draft: str) -> Session:
        """Store the session of the chat that is begun with `draft`. Hold `session_lock`.

        The draft stays that of the new chat until its message is stored; see `has_begun`.
        """
        state = self._state
        session = await self._store.sessions.create(
            session_id=state.session_id,
            title=first_words(draft) or "Files",
            role_id=state.role.role_id if state.role else None,
            model=state.model,
            endpoint=state.endpoint.name,
            preset=state.preset_name,
            profile=state.profile_name,
            lorebooks=state.lore_names,
            temperature=state.temperature,
            max_tokens=state.max_tokens,
        )
        state.session = session
        return session

    async def has_begun(self, session: Session) -> None:
        """Remember a session whose first message is stored as the one that was open last."""
        with self._outside.telling():
            await self._store.settings.set("draft", "")
            await self._store.settings.set("session", session.session_id)
            await self._roles.used(session.role_id or "")

    async def reload(self) -> None:
        """Read the shown branch again."""
        state = self._state
        if state.session is None:
            return
        session_id = state.session.session_id
        while True:
            known = state.entries
            entries = await self._read(session_id)
            if not state.shows(session_id):
                return  # another session was opened meanwhile; that shows itself
            if state.entries is known:
                break  # else what was shown meanwhile may be newer than what was read
        self._show(entries)

    async def _read(self, session_id: str) -> tuple[Entry, ...]:
        """Read a branch; entries that are shown and as they were stay the same objects."""
        entries = await self._store.branches.load(session_id)
        known = self._state.entries
        if len(known) < _MANY:
            return _kept(known, entries)
        return await asyncio.to_thread(_kept, known, entries)

    async def _read_now(self, session_id: str) -> None:
        """Take the mark from a session that somebody looks at now."""
        listed = (each for each in self._state.sessions if each.session_id == session_id)
        if any(each.unread for each in listed):
            await self._store.sessions.update(session_id, unread=False)
            await self.list_sessions()

    async def list_sessions(self) -> None:
        """Read the list of sessions again: what is seen at once now, the rest soon."""
        if await self._list_first():
            self._list_all_soon()

    async def list_again(self) -> None:
        """Read the list, and tell of it where it is another: another program changed it."""
        everything = await self._store.sessions.list()
        if everything != self._state.sessions:
            self._state.sessions = everything
            self._outside.tell(SessionsChanged())

    async def stop_listing(self) -> None:
        """Let go of the store."""
        if self._listing is not None:
            self._listing.cancel()
            await asyncio.wait((self._listing,))

    async def _list_first(self) -> bool:
        """Read the beginning of the list; return whether there may be more."""
        first = await self._store.sessions.list(LISTED_AT_ONCE)
        has_more = len(first) == LISTED_AT_ONCE
        if has_more:
            read = {summary.session_id for summary in first}
            rest = (each for each in self._state.sessions if each.session_id not in read)
            first = (*first, *rest)
        self._state.sessions = first
        self._outside.tell(SessionsChanged())
        return has_more

    def _list_all_soon(self) -> None:
        self._is_stale = True
        if self._listing is None or self._listing.done():
            self._listing = asyncio.create_task(self._list_all())

    async def _list_all(self) -> None:
        with self._outside.telling():
            while self._is_stale:
                self._is_stale = False
                everything = await self._store.sessions.list()
                if not self._is_stale:  # else something changed while it was read
                    self._state.sessions = everything
                    self._outside.tell(SessionsChanged())
                    await self._read_now(self._state.session_id)

    def replace(self, entry: Entry) -> None:
        """Show an entry of the shown branch as it is now, without reading it."""
        entries = self._state.entries
        self._show(
            tuple(entry if each.message.id == entry.message.id else each for each in entries)
        )

    def _show(self, entries: tuple[Entry, ...]) -> None:
        self._take(entries)
        self._outside.tell(BranchChanged())

    def _take(self, entries: tuple[Entry, ...]) -> None:
        self._state.entries = entries
        self._composing.see(entries)


def _kept(old: tuple[Entry, ...], new: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """Return a branch that was read again, with the old objects for the entries that are as they
    were: what was made of them is found by their identity.
    """
    by_id = {entry.message.id: entry for entry in old}
    kept: list[Entry] = []
    for entry in new:
        was = by_id.get(entry.message.id)
        kept.append(was if was is not None and was == entry else entry)
    return tuple(kept)


def first_words(text: str) -> str:
    """Return what a session is called that begins with `text`."""
    line = " ".join(text[: 4 * TITLE_LENGTH].split())
    return line if len(line) <= TITLE_LENGTH else line[: TITLE_LENGTH - 1].rstrip() + "…"
