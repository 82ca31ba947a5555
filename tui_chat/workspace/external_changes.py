"""Changes by other programs to the same conversations: another window, or a command.

1. SQLite counts the commits of other connections. While the count stays, nothing else is read.
2. A reply at the end of the active branch that another program receives is followed as it grows:
   what came since the last check is read, and published as a reply of our own is.
3. If nothing more comes, the store checks whether that program still runs. If it does not, its
   replies are marked as interrupted.
4. What another window sets in the active session (model, preset, profile, lorebooks, settings)
   holds here too.
5. The roles and the list of sessions are read again if they may have changed; less often in a store
   so large that reading them takes long.
6. Role files, and the files of the profile and the lorebooks in use, are read again when they
   change.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

from tui_chat.errors import StoreError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.message import Message
from tui_chat.models.reply import Reply
from tui_chat.models.reply_growth import advance
from tui_chat.models.session import Entry, Session, SessionSummary
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

if TYPE_CHECKING:
    from tui_chat.store.stream_journal import JournalSnapshot

CHECK_INTERVAL = 1.0
"""Seconds between two checks."""
IDLE_INTERVAL = 3.0
"""Seconds between two checks when no other program has written for `IDLE_AFTER` seconds."""
IDLE_AFTER = 10.0
FOLLOW_INTERVAL = 0.25
"""Seconds between two checks while a reply is followed. Its receiver writes about as often."""
QUIET = 2.0
"""Seconds without a commit after which a program that receives a reply may have ended."""
_ERROR_PAUSE = 5.0
"""Seconds until the next check if the store could not be read."""
_LIST_PAUSE_FACTOR = 20
"""The list is read again at the earliest after so many times the seconds that reading it took."""


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
        self._commits: int = -1
        """The number of commits by others at the last check."""
        self._changed_at = -inf
        """The clock's time when a commit was last noticed."""
        self._is_session_checked = True
        """True if the active session was checked since then; not while its branch is loading."""
        self._list_from = -inf
        """The clock's time from which the list may be read again."""
        self._is_list_checked = True
        self._listed: tuple[SessionSummary, ...] = ()
        """The list that `_streaming` was made of."""
        self._streaming: frozenset[str] = frozenset()
        """Ids of the listed sessions in which any program receives a reply."""
        self._checked_session = ("", 0.0)
        """The id of the active session, and when it was last updated."""
        self._missing = ""
        """The id of the active session if it was not found at the last check."""
        self._arrived: JournalSnapshot | None = None
        """The published part of the followed reply."""
        self._weight = 0
        """The bytes of text that it has."""

    async def check(self) -> float:
        """Update the state to what other programs did since the last check; return the seconds
        until the next check is due. Costs next to nothing if they did nothing. A store that cannot
        be read is not reported here.
        """
        try:
            await self._check()
        except StoreError:
            return _ERROR_PAUSE
        if self.core.state.followed is not None:
            return FOLLOW_INTERVAL
        is_idle = self.core.clock() - self._changed_at >= IDLE_AFTER
        return IDLE_INTERVAL if is_idle else CHECK_INTERVAL

    async def _check(self) -> None:
        core, store, clock = self.core, self.core.store, self.core.clock
        if core.session_files is not None:
            await core.session_files.check()
        self._settings.check_files()
        if await self._roles.import_changed_files():
            await self._roles.check()
        commits, now = await store.database.data_version(), clock()
        if commits != self._commits:
            self._commits, self._changed_at = commits, now
            self._is_session_checked = self._is_list_checked = False
        if not self._is_session_checked or self._missing or self._is_reply_new():
            self._is_session_checked = await self._check_session()
        elif now - self._changed_at >= QUIET and self._awaits_others():
            self._changed_at = now
            if await store.replies.interrupt_orphans():
                self._is_list_checked = False
                self._is_session_checked = await self._check_session()
        if not self._is_list_checked and now >= self._list_from:
            began = clock()
            await self._roles.check()
            await self._catalog.refresh_if_changed()
            self._is_list_checked = True
            ended = clock()
            self._list_from = ended + _LIST_PAUSE_FACTOR * (ended - began)

    def _awaits_others(self) -> bool:
        """Return True if another program receives a reply."""
        state = self.core.state
        if state.sessions is not self._listed:
            self._listed = state.sessions
            streaming = (session for session in state.sessions if session.status == "streaming")
            self._streaming = frozenset(session.session_id for session in streaming)
        return state.followed is not None or not self._streaming <= state.streaming_sessions

    # --- the active session --------------------------------------------------------------

    def _is_reply_new(self) -> bool:
        """Return True if the active branch ends with another reply than the followed one."""
        followed, last = self.core.state.followed, self._followable()
        if followed is None or last is None:
            return followed is not last
        return followed.entry_id != last.message.id

    def _followable(self) -> Entry | None:
        """Return the reply at the end of the active branch if another program receives it."""
        state = self.core.state
        last = state.entries[-1] if state.entries else None
        if last is None or last.status != "streaming":
            return None
        return None if state.session_id in state.streaming_sessions else last

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
        checked_id, updated = self._checked_session
        updated = updated if checked_id == session_id else session.updated
        self._checked_session = session_id, stored.updated
        if stored.head_id != head_id or stored.updated != updated:
            await self._active.reload_branch()

    # --- a reply that another program receives ---------------------------------------------

    async def _follow(self) -> None:
        """Publish what arrived of the reply that ends the branch; read the branch when it ends."""
        core = self.core
        last = self._followable()
        if last is None:
            self._stop_following()
            return
        grown = core.state.followed
        if grown is None or grown.entry_id != last.message.id:
            grown, self._arrived, self._weight = PartialReply(last.message.id, Reply()), None, 0
        arrived = await core.store.replies.read_journal(last.message.id, self._arrived)
        entries = core.state.entries
        if not entries or entries[-1] is not last:
            return  # another branch is active now
        if arrived is None:
            self._stop_following()
            await self._active.reload_branch()
        elif arrived is not self._arrived:
            grown = self._later(grown, last, arrived)
            self._arrived = arrived
            core.update(ReplyGrew(grown), followed=grown)

    def _stop_following(self) -> None:
        self._arrived = None
        if self.core.state.followed is not None:
            self.core.update(followed=None)

    def _later(self, grown: PartialReply, entry: Entry, arrived: JournalSnapshot) -> PartialReply:
        """Return the progress of a reply of which more has arrived."""
        earlier = self._arrived.message if self._arrived is not None else Message("assistant")
        events = _between(earlier, arrived.message)
        reply = grown.reply
        if events is None:  # it was replaced, not continued
            events = _between(Message("assistant"), arrived.message) or []
            replaced = arrived.message.semantics.replaced
            reply = Reply(replaced=replaced, restarts=reply.restarts + 1)
            self._weight = 0
        for event in events:
            reply = advance(reply, event)
            self._weight += text_bytes(event)
        tokens = self._weight // BYTES_PER_TOKEN
        begun = entry.message.timestamp
        now = self.core.now().timestamp()
        elapsed = None if begun is None else max(0.0, now - begun)
        return PartialReply(grown.entry_id, reply, Timing(elapsed, tokens=tokens or None))


def _between(old: Message, new: Message) -> list[StreamEvent] | None:
    """Return the events between two states of a reply; None if one does not continue the other."""
    events: list[StreamEvent] = []
    blocks, calls = new.semantics.reasoning, new.tool_calls
    thoughts = [block.text for block in old.semantics.reasoning]
    arguments = [call.arguments for call in old.tool_calls]
    if len(thoughts) > len(blocks) or len(arguments) > len(calls):
        return None
    for index, block in enumerate(blocks):
        before = thoughts[index] if index < len(thoughts) else ""
        if not block.text.startswith(before):
            return None
        if index >= len(thoughts) or block.text != before:
            events.append(ReasoningDelta(index, block.text[len(before) :], kind=block.kind))
    if not new.content.startswith(old.content):
        return None
    if new.content != old.content:
        events.append(TextDelta(new.content[len(old.content) :]))
    for index, call in enumerate(calls):
        before = arguments[index] if index < len(arguments) else ""
        if not call.arguments.startswith(before):
            return None
        if index >= len(arguments) or call.arguments != before:
            more = call.arguments[len(before) :]
            events.append(ToolCallDelta(index, call.id, call.name, more))
    return events


def _setup(session: Session) -> tuple[object, ...]:
    """Return what a session sets for its requests."""
    names = session.endpoint, session.model, session.preset, session.profile, session.lorebooks
    return *names, session.settings
