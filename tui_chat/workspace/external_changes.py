"""Changes by other programs to the same conversations: another window, or a command.

1. SQLite counts the commits of other connections. While the count stays, nothing else is read.
2. What another window sets in the active session (model, preset, profile, lorebooks, settings)
   holds here too. If it changed the branch, the branch is read again, and so are the roles and the
   list of sessions, which are published if they are others.
3. What has arrived of a reply that another program receives at the end of the active branch is read
   a few times a second, and published as a reply of our own is.
4. If nothing more comes, the store checks whether that program still runs. If it does not, its
   replies are marked as interrupted.
5. Role files, and the files of the profile and the lorebooks in use, are read again when they
   change.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf

from tui_chat.errors import StoreError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.message import Message
from tui_chat.models.reply import Reply
from tui_chat.models.reply_growth import advance
from tui_chat.models.session import Entry, Session
from tui_chat.models.stream_events import (
    ReasoningDelta,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
    text_bytes,
)
from tui_chat.models.usage import BYTES_PER_TOKEN, Timing
from tui_chat.send import PartialReply
from tui_chat.workspace.active_session import ActiveSession, quoted_title
from tui_chat.workspace.core import WorkspaceCore
from tui_chat.workspace.events import BranchChanged, Done, ReplyGrew
from tui_chat.workspace.roles import Roles
from tui_chat.workspace.session_catalog import SessionCatalog
from tui_chat.workspace.sessions import Sessions
from tui_chat.workspace.settings import SessionSetup

CHECK_INTERVAL = 1.0
"""Seconds between two checks."""
IDLE_INTERVAL = 3.0
"""Seconds between two checks when no other program has written for `IDLE_AFTER` seconds."""
IDLE_AFTER = 10.0
FOLLOW_INTERVAL = 0.25
"""Seconds between two checks while a reply arrives elsewhere; its receiver writes as often."""
QUIET = 2.0
"""Seconds without a commit after which a program that receives a reply may have ended."""
_ERROR_PAUSE = 5.0
"""Seconds until the next check if the store could not be read."""


@dataclass(eq=False)
class ExternalChanges:
    """Checks for changes by other programs, and updates the state to them."""

    core: WorkspaceCore
    _active: ActiveSession
    _sessions: Sessions
    _catalog: SessionCatalog
    _roles: Roles
    _settings: SessionSetup

    def __post_init__(self) -> None:
        self._commits: int | None = None
        """The number of commits by others that the state has; None: not known."""
        self._changed_at = -inf
        """The clock's time when a commit was last noticed."""
        self._missing = ""
        """The id of the active session if it was not found at the last check."""
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
        if self.core.state.followed is not None:
            return FOLLOW_INTERVAL
        is_idle = self.core.clock() - self._changed_at >= IDLE_AFTER
        return IDLE_INTERVAL if is_idle else CHECK_INTERVAL

    async def _check(self) -> None:
        core, store, now = self.core, self.core.store, self.core.clock()
        if core.session_files is not None:
            await core.session_files.check()
        self._settings.check_files()
        if await self._roles.import_changed_files():
            await self._roles.check()
        commits = await store.database.data_version()
        is_changed = commits != self._commits
        if is_changed:
            self._changed_at = now
        elif now - self._changed_at >= QUIET and self._awaits_others():
            self._changed_at = now
            is_changed = await store.replies.interrupt_orphans()
        if is_changed or self._missing or self._foreign_end() is not core.state.followed:
            is_checked = await self._check_session()
            if is_changed:
                await self._roles.check()
                await self._catalog.refresh_if_changed()
            self._commits = commits if is_checked else None

    def _awaits_others(self) -> bool:
        """Return True if another program receives a reply."""
        state = self.core.state
        streaming = {each.session_id for each in state.sessions if each.status == "streaming"}
        return state.followed is not None or not streaming <= state.streaming_sessions

    # --- the active session --------------------------------------------------------------

    def _foreign_end(self) -> Entry | PartialReply | None:
        """Return the reply at the end of the active branch if another program receives it: its
        progress if that is in the state.
        """
        state = self.core.state
        last = state.entries[-1] if state.entries else None
        if last is None or last.status != "streaming":
            return None
        if state.session_id in state.streaming_sessions:
            return None
        followed = state.followed
        is_known = followed is not None and followed.entry_id == last.message.id
        return followed if is_known else last

    async def _check_session(self) -> bool:
        """Update the state to changes of the active session; False if it cannot be checked now."""
        core = self.core
        session = core.state.session
        if session is None:
            return True
        if not core.state.is_branch_loaded:
            return False
        stored = await core.store_of(session.session_id).sessions.get(session.session_id)
        if core.state.session is not session:
            return False  # this program changed or left it meanwhile
        if stored is None:
            await self._leave_missing(session)
            return True
        self._missing = ""
        await self._check_branch(session, stored)
        await self._follow()
        return True

    async def _leave_missing(self, session: Session) -> None:
        """Leave a deleted session, at the second check: this program may be about to do so."""
        if self._missing != session.session_id:
            self._missing = session.session_id
            return
        self._missing = ""
        if await self._sessions.leave((session.session_id,)):
            sentence = f"{quoted_title(session.title)} was deleted by another program."
            self.core.publish(Done(sentence))

    async def _check_branch(self, session: Session, stored: Session) -> None:
        core, session_id = self.core, stored.session_id
        state = core.state
        if session_id in state.streaming_sessions:
            return  # the branch is read again when that reply has ended
        head_id = state.entries[-1].message.id if state.entries else None
        if session.title != stored.title:
            core.update(BranchChanged(), session=replace(session, title=stored.title))
        if _setup(session) != _setup(stored):
            core.update(session=stored)
            await self._settings.apply_session(stored, core.state.role)
            core.publish(BranchChanged())
        checked_id, updated = self._updated
        updated = updated if checked_id == session_id else session.updated
        self._updated = session_id, stored.updated
        if stored.head_id != head_id or stored.updated != updated:
            await self._active.reload_branch()

    async def _follow(self) -> None:
        """Publish what arrived of a reply that another program receives at the end of the branch;
        read the branch when it ends.
        """
        core = self.core
        foreign, last = self._foreign_end(), core.state.entries[-1:]
        if foreign is None:
            if core.state.followed is not None:
                core.update(followed=None)
            return
        arrived = await core.store.replies.read_journal(last[0].message.id)
        if core.state.entries[-1:] != last:
            return  # another branch is active now
        if arrived is None:
            core.update(followed=None)
            await self._active.reload_branch()
            return
        grown = self._grown(last[0], arrived)
        if core.state.followed is None or core.state.followed.reply != grown.reply:
            core.update(ReplyGrew(grown), followed=grown)

    def _grown(self, entry: Entry, arrived: Message) -> PartialReply:
        """Return the progress of a reply of which this message has arrived."""
        reply, size = Reply(), 0
        for event in _events(arrived):
            reply, size = advance(reply, event), size + text_bytes(event)
        begun = entry.message.timestamp
        elapsed = None if begun is None else max(0.0, self.core.now().timestamp() - begun)
        tokens = size // BYTES_PER_TOKEN or None
        return PartialReply(entry.message.id, reply, Timing(elapsed, tokens=tokens))


def _events(message: Message) -> list[StreamEvent]:
    """Return the events that make a reply of what has arrived of one."""
    events: list[StreamEvent] = [
        ReasoningDelta(index, block.text, kind=block.kind)
        for index, block in enumerate(message.semantics.reasoning)
    ]
    if message.content:
        events.append(TextDelta(message.content))
    events += [
        ToolCallDelta(index, call.id, call.name, call.arguments)
        for index, call in enumerate(message.tool_calls)
    ]
    return events


def _setup(session: Session) -> tuple[object, ...]:
    """Return what a session sets for its requests."""
    names = session.endpoint, session.model, session.preset, session.profile, session.lorebooks
    return *names, session.settings
