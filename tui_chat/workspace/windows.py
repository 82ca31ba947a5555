"""What other programs do to the same conversations: another window, or a command.

1. SQLite counts the commits of other connections. While the count stays, nothing else is read.
2. After one the roles, the list of sessions and the active session are read again, and its branch
   if that changed. A reply that arrives elsewhere is read a few times a second.
3. If nothing more of it comes, the store checks whether its program still runs. If it does not, its
   replies are marked as interrupted.
4. Role files, and the files of the profile and the lorebooks in use, are read again when they
   change.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf

from tui_chat.errors import StoreError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.session import Session
from tui_chat.workspace.core import WorkspaceCore
from tui_chat.workspace.events import BranchChanged, Done
from tui_chat.workspace.roles import Roles
from tui_chat.workspace.session_list import SessionList, quoted_title
from tui_chat.workspace.sessions import Sessions
from tui_chat.workspace.settings import SessionSetup

CHECK_INTERVAL = 1.0
"""Seconds between two checks."""
FOLLOW_INTERVAL = 0.25
"""Seconds between two checks while a reply arrives elsewhere."""
QUIET = 2.0
"""Seconds without a commit after which a program that receives a reply may have ended."""
_ERROR_PAUSE = 5.0
"""Seconds until the next check if the store could not be read."""


@dataclass(eq=False)
class Windows:
    """Checks for changes by other programs, and updates the state to them."""

    core: WorkspaceCore
    _sessions: Sessions
    _list: SessionList
    _roles: Roles
    _settings: SessionSetup

    def __post_init__(self) -> None:
        self._commits: int | None = None
        """The number of commits by others that the state has; None: not known."""
        self._changed_at = -inf
        """The clock's time when a commit was last noticed."""
        self._updated = ("", 0.0)
        """The id of the active session, and its last activity when it was checked."""

    async def check(self) -> float:
        """Update the state to what other programs did since the last check; return the seconds
        until the next check is due. Costs next to nothing if they did nothing. A store that cannot
        be read is not reported here.
        """
        try:
            await self._check()
        except StoreError:
            self._commits = None
            return _ERROR_PAUSE
        return FOLLOW_INTERVAL if self._is_followed else CHECK_INTERVAL

    @property
    def _is_followed(self) -> bool:
        """True if another program receives the reply at the end of the active branch."""
        state = self.core.state
        is_streaming = bool(state.entries) and state.entries[-1].status == "streaming"
        return is_streaming and state.session_id not in state.streaming_sessions

    async def _check(self) -> None:
        core, store, now = self.core, self.core.store, self.core.clock()
        if core.session_files is not None:
            await core.session_files.check()
        self._settings.check_files()
        if await self._roles.import_changed_files():
            await self._roles.check()
        commits = await store.database.data_version()
        if commits == self._commits:
            if now - self._changed_at < QUIET or not self._awaits_others():
                return
            self._changed_at = now
            if not await store.replies.interrupt_orphans():
                return
        self._changed_at = now
        is_checked = await self._check_session()
        await self._roles.check()
        await self._list.refresh()
        self._commits = commits if is_checked else None

    def _awaits_others(self) -> bool:
        """Return True if another program receives a reply."""
        state = self.core.state
        streaming = {each.session_id for each in state.sessions if each.status == "streaming"}
        return self._is_followed or not streaming <= state.streaming_sessions

    async def _check_session(self) -> bool:
        """Update the state to changes of the active session; False if it cannot be checked now."""
        core = self.core
        session = core.state.session
        if session is None or core.state.is_temporary:
            return True
        if not core.state.is_branch_loaded:
            return False
        stored = await core.store.sessions.get(session.session_id)
        if core.state.session is not session:
            return False  # this program changed or left it meanwhile
        if stored is None:
            if await self._sessions.leave((session.session_id,)):
                sentence = f"{quoted_title(session.title)} was deleted by another program."
                core.publish(Done(sentence))
        elif session.session_id not in core.state.streaming_sessions:  # else at the reply's end
            await self._take_over(session, stored)
        return True

    async def _take_over(self, session: Session, stored: Session) -> None:
        """Show the active session as it is stored."""
        core, session_id = self.core, stored.session_id
        if session.title != stored.title:
            core.update(BranchChanged(), session=replace(session, title=stored.title))
        if _setup(session) != _setup(stored):
            core.update(session=stored)
            await self._settings.apply_session(stored, core.state.role)
            core.publish(BranchChanged())
        checked_id, updated = self._updated
        updated = updated if checked_id == session_id else session.updated
        self._updated = session_id, stored.updated
        entries = core.state.entries
        head_id = entries[-1].message.id if entries else None
        if stored.head_id != head_id or stored.updated != updated or self._is_followed:
            await self._sessions.reload_branch()


def _setup(session: Session) -> tuple[object, ...]:
    """Return what a session sets for its requests."""
    names = session.endpoint, session.model, session.preset, session.profile, session.lorebooks
    return *names, session.settings
