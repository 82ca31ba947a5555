"""The active session: its branch as it is read, and a new chat that becomes a session.

1. A new chat has an id, settings and a draft, but is stored only with its first message: one that
   was never begun leaves nothing behind.
2. `lock` is held while the active session is switched and while a message is stored in it, so that
   each waits for the other: a message never reaches a session that it was not written for.
3. Until the branch is read, `state.is_branch_loaded` is False, and nothing is composed, sent or
   added.

`sessions` says which session is the active one.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from tui_chat.context.macros.expander import Expander
from tui_chat.models.message import Message, Part
from tui_chat.models.role import FIRST_ROLE_NAME, Role
from tui_chat.models.sanitize import one_line
from tui_chat.models.session import Entry, NewSession, Session
from tui_chat.models.text import Origin, OriginKind
from tui_chat.workspace.core import WorkspaceCore
from tui_chat.workspace.events import BranchChanged
from tui_chat.workspace.request_history import RequestHistory
from tui_chat.workspace.requests import Requests
from tui_chat.workspace.roles import Roles
from tui_chat.workspace.settings import NEW_CHAT_EDITS
from tui_chat.workspace.state import ForeignReply

TITLE_LENGTH = 200
"""Maximum characters of a title; what shows it cuts it where there is less room."""

_MARKDOWN = re.compile(r"\s*(#{1,6}|[-*+>]|\d+[.)])\s+(?=\S)")
"""What a block of Markdown begins with."""

_MANY_MESSAGES = 500
"""Messages from which comparing two branches takes long enough to be felt on the event loop."""


class ActiveSession:
    """Reads the branch of the active session, and stores a new chat as a session."""

    def __init__(
        self, core: WorkspaceCore, requests: Requests, history: RequestHistory, roles: Roles
    ) -> None:
        self.core = core
        self._requests = requests
        self._history = history
        self._roles = roles
        self._loading: object = None
        """Identifies the latest load of a branch; earlier ones keep nobody waiting."""
        self._loaded = asyncio.Event()
        """Set while `state.is_branch_loaded`."""
        self._loaded.set()
        self.lock = asyncio.Lock()
        """Held while the active session is switched and while a message is stored in it. Not held
        while a branch is read. Not reentrant; the use cases of `Sessions` acquire it themselves.
        """

    @asynccontextmanager
    async def locked(self) -> AsyncGenerator[None]:
        """Hold `lock`, once the branch is loaded and its lorebooks are searched."""
        while True:
            await self.branch_loaded()
            await self._requests.search_lore()
            async with self.lock:
                if self.core.state.is_branch_loaded:
                    yield
                    return

    def switch(self, session: Session | None, session_id: str) -> None:
        """Make a session, or None for a new chat with this id, the active one, without anything of
        it or of the one before. The caller holds `lock`.
        """
        self.core.update(
            session=session,
            session_id=session_id,
            entries=(),
            last_sent={},
            request=self.core.state.request.without_session(),
        )

    # --- its branch ----------------------------------------------------------------------

    @contextmanager
    def loading_branch(self) -> Generator[None]:
        """Let whatever needs the branch wait meanwhile, unless another one is loaded by then."""
        self._loading = this = object()
        self._set_loaded(False)
        try:
            yield
        finally:
            if self._loading is this:
                self._set_loaded(True)

    def cancel_loading(self) -> None:
        """Let nobody wait for a branch that is still being read, but not shown any more."""
        self._loading = None
        self._set_loaded(True)

    def _set_loaded(self, loaded: bool) -> None:
        if loaded:
            self._loaded.set()
        else:
            self._loaded.clear()
        self.core.update(is_branch_loaded=loaded)

    async def branch_loaded(self) -> None:
        """Wait until the active branch is loaded, or could not be."""
        await self._loaded.wait()

    async def read_branch(self, session: Session) -> tuple[tuple[Entry, ...], ForeignReply | None]:
        """Return a session's branch, and its last reply if another program's request produced it.
        Entries that did not change stay the same objects.
        """
        store = self.core.store_of(session.session_id)
        entries = await store.branches.load(session.session_id)
        shown, unsaved = self.core.state.entries, self.core.state.unsaved_replies
        if unsaved:
            entries = tuple(unsaved.get(entry.message.id, entry) for entry in entries)
        if len(shown) < _MANY_MESSAGES:
            entries = _with_known(shown, entries)
        else:
            entries = await asyncio.to_thread(_with_known, shown, entries)
        return entries, await self._history.foreign_reply(store, session, entries)

    def show_branch(self, entries: tuple[Entry, ...], foreign: ForeignReply | None) -> None:
        """Make what was read the active branch."""
        request = self.core.state.request.with_foreign(foreign)
        self.core.update(BranchChanged(), entries=entries, request=request)

    async def reload_branch(self) -> None:
        """Read the active branch again."""
        core, session = self.core, self.core.state.session
        if session is None:
            return
        while True:
            shown = core.state.entries
            entries, foreign = await self.read_branch(session)
            # Nothing may be awaited from here to the update.
            if not core.state.is_active(session.session_id):
                return  # another session was opened meanwhile
            if core.state.entries is shown:
                break  # else what was shown meanwhile may be newer than what was read
        self.show_branch(entries, foreign)

    def replace_entry(self, entry: Entry) -> None:
        """Replace an entry of the active branch without reading the branch again."""
        entries = self.core.state.entries
        entries = tuple(
            entry if other.message.id == entry.message.id else other for other in entries
        )
        self.core.update(BranchChanged(), entries=entries)

    # --- a new chat ----------------------------------------------------------------------

    def show_opening(self) -> None:
        """Show the first greeting of the new chat's role, or nothing if it has none."""
        self.core.update(BranchChanged(), entries=self._greeting(0))

    def show_greeting(self, step: int) -> None:
        """Show the greeting of a new chat that is `step` after the shown one, if there is one."""
        entries = self.core.state.entries
        if entries and 0 <= entries[0].sibling + step < entries[0].siblings:
            greeting = self._greeting(entries[0].sibling + step)
            self.core.update(BranchChanged(), entries=greeting)

    def _greeting(self, number: int) -> tuple[Entry, ...]:
        """Return the opening of a new chat: a greeting of the role's character card, with its
        macros expanded. It is stored when the session is created.
        """
        core = self.core
        character = core.state.role.character if core.state.role is not None else None
        greetings = character.greetings if character is not None else ()
        if not greetings:
            return ()
        origin = Origin(OriginKind.SYSTEM, "greeting")
        expander = Expander(self._requests.inputs(""))
        text = expander.expand_text(greetings[number], origin, is_card=True)
        message = Message("assistant", text, id=core.new_id(), timestamp=core.now().timestamp())
        return (Entry(message, sibling=number, siblings=len(greetings)),)

    def new_session(self, draft: str, parts: Sequence[Part] = (), *, title: str = "") -> NewSession:
        """Return the active new chat as the session that is stored with its first message: it is
        titled by `draft` and its attachments, unless it has a `title`.

        The draft stays that of the new chat until then; see `settings_when_begun`.
        """
        state = self.core.state
        session = Session(
            session_id=state.session_id,
            title=title or session_title(state.role, draft, parts),
            role_id=state.role.role_id if state.role else None,
            model=state.model,
            endpoint=state.endpoint.name,
            preset=state.preset_name,
            profile=state.profile_name,
            lorebooks=state.lorebook_names,
            settings=state.settings,
            edits=state.edits,
        )
        if not state.entries:
            return NewSession(session, tools=self.core.new_chat_tools)
        shown = state.entries[0]
        greetings = tuple(
            (shown if number == shown.sibling else self._greeting(number)[0]).message
            for number in range(shown.siblings)
        )
        return NewSession(session, greetings, shown.message.id, self.core.new_chat_tools)

    def settings_when_begun(self) -> dict[str, str]:
        """Return the settings that are stored with the first message of the active session: it was
        open last, its role was used last, and the draft is empty.
        """
        state = self.core.state
        if state.is_temporary or not self.core.remembers:
            return {}
        by_role = self._roles.settings_after_use(state.role.role_id if state.role else "")
        return {"draft": "", NEW_CHAT_EDITS: "", "session": state.session_id, **by_role}

    def changes_when_begun(self, session: Session) -> dict[str, Any]:
        """Return the fields of the state that change once a new session is stored."""
        return {"session": session, "roles": self._roles.after_use(session.role_id or "")}


def _with_known(old: tuple[Entry, ...], new: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """Return a branch that was read again, with the old objects for entries that did not change:
    memos find what was made of them by their identity.
    """
    by_id = {entry.message.id: entry for entry in old}
    kept: list[Entry] = []
    for entry in new:
        previous_entry = by_id.get(entry.message.id)
        kept.append(
            previous_entry if previous_entry is not None and previous_entry == entry else entry
        )
    return tuple(kept)


def session_title(role: Role | None, text: str, parts: Sequence[Part] = ()) -> str:
    """Return the title of a session that begins with a role and a message: the role's name, unless
    that is the first role, which nobody chose, and the message's first words.
    """
    words = _first_words(text, parts)
    if role is None or role.name == FIRST_ROLE_NAME:
        return words or "Files"
    return default_title(": ".join(filter(None, (role.name, words))))


def _first_words(text: str, parts: Sequence[Part]) -> str:
    """Return the first words of a message, of Markdown the first line without its mark, else the
    names of its attachments; empty without both.
    """
    first = next((line for line in text[: 4 * TITLE_LENGTH].splitlines() if line.strip()), "")
    mark = _MARKDOWN.match(first)
    if title := default_title(first[mark.end() :] if mark else text):
        return title
    return default_title(", ".join(one_line(part.name) for part in parts if part.name))


def default_title(text: str) -> str:
    """Return a title that is the beginning of a text."""
    line = " ".join(text[: 4 * TITLE_LENGTH].split())
    return line if len(line) <= TITLE_LENGTH else line[: TITLE_LENGTH - 1].rstrip() + "…"


def quoted_title(title: str) -> str:
    """Return a title in quotation marks for a sentence, which has room for less than all of it."""
    line = one_line(title)
    return f"“{line if len(line) <= 60 else line[:59].rstrip() + '…'}”"
