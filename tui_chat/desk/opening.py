"""Opening sessions: one is shown, or a chat that was not begun."""

from __future__ import annotations

from tui_chat.desk.changes import BranchChanged, SessionsChanged, Trouble
from tui_chat.desk.composing import Composing
from tui_chat.desk.outside import Outside
from tui_chat.desk.state import State
from tui_chat.errors import InputError
from tui_chat.model.preset import Preset
from tui_chat.model.role import Role
from tui_chat.model.session import Entry, Session

TITLE_LENGTH = 60
"""A session that nobody named is called by its first words, up to so many characters."""

FIRST_ROLE = Role(
    role_id="assistant",
    name="Assistant",
    system_prompt=(
        "You are a helpful assistant. Answer in Markdown, precisely and to the point, and say so "
        "when you do not know."
    ),
)
"""The role that an empty database starts with."""


class Opening:
    """Which session is shown, and reading it."""

    def __init__(self, state: State, outside: Outside, composing: Composing) -> None:
        self._state = state
        self._outside = outside
        self._store = outside.store
        self._composing = composing

    async def start(self) -> None:
        """Open what was open last; see `Desk.start`."""
        if not await self._store.roles():
            await self._store.save_role(FIRST_ROLE)
        last = await self._store.recall("session")
        await self.list_sessions()
        if last is not None and await self._store.session(last) is not None:
            await self.open(last)
        else:
            await self.clear()

    async def open(self, session_id: str) -> None:
        """Show a session. Raises InputError where it is gone."""
        state = self._state
        session = await self._store.session(session_id)
        if session is None:
            raise InputError("This session is gone; another window may have deleted it.")
        role = await self._store.role(session.role_id) if session.role_id else None
        state.session = session
        state.role = role
        state.role_missing = bool(session.role_id) and role is None
        self._take_endpoint(session.endpoint)
        state.model = session.model
        self._take_preset(session.preset or (role.preset if role else ""))
        await self._store.remember("session", session_id)
        await self.reload()

    async def clear(self) -> None:
        """Show a chat that was not begun."""
        state = self._state
        roles = [role for role in await self._store.roles() if role.status == "enabled"]
        state.session = None
        state.role = roles[0] if roles else None
        state.role_missing = False
        state.endpoint = state.config.endpoint_named(state.config.endpoint)
        state.model = state.config.model
        self._take_preset(state.role.preset if state.role else "")
        self._show(())

    async def begin(self, draft: str) -> Session:
        """Store the session of the chat that is begun with `draft`."""
        state = self._state
        state.session = await self._store.create_session(
            title=first_words(draft),
            role_id=state.role.role_id if state.role else None,
            model=state.model,
            endpoint=state.endpoint.name,
            preset=state.preset.name,
        )
        await self._store.remember("session", state.session.session_id)
        await self._store.remember("draft", "")
        return state.session

    async def reload(self) -> None:
        """Read the shown branch again."""
        if self._state.session is None:
            return
        session_id = self._state.session.session_id
        entries = await self._store.branch(session_id)
        # Another session may have been opened meanwhile; its own reload shows it.
        if self._state.shows(session_id):
            self._show(entries)

    async def list_sessions(self) -> None:
        """Read the list of sessions again."""
        self._state.sessions = await self._store.sessions()
        self._outside.tell(SessionsChanged())

    def _show(self, entries: tuple[Entry, ...]) -> None:
        self._state.entries = entries
        self._composing.see(entries)
        self._outside.tell(BranchChanged())

    def _take_endpoint(self, name: str) -> None:
        state = self._state
        try:
            state.endpoint = state.config.endpoint_named(name or state.config.endpoint)
        except InputError as error:
            state.endpoint = state.config.endpoint_named(state.config.endpoint)
            goes_to = f"The session goes to “{state.endpoint.name}” now."
            self._outside.tell(Trouble(InputError(f"{error} {goes_to}")))

    def _take_preset(self, name: str) -> None:
        try:
            self._state.preset = self._outside.load_preset(name or "plain")
        except InputError as error:
            self._state.preset = Preset("plain")
            words = f"{error}; the session goes on without a preset"
            self._outside.tell(Trouble(InputError(words)))


def first_words(text: str) -> str:
    """Return what a session is called that begins with `text`."""
    line = " ".join(text[: 4 * TITLE_LENGTH].split())
    return line if len(line) <= TITLE_LENGTH else line[: TITLE_LENGTH - 1].rstrip() + "…"
