"""What other programs do to the same conversations: another window, or a command beside this one.

1. SQLite counts the commits of others. While the count stays, nothing else is read.
2. A reply at the end of the shown branch that another program receives is followed as it grows:
   what came since the last look is read, and told as a reply of our own is.
3. Where nothing more comes, it is asked whether that program still runs. If it does not, its
   replies end as they are.
4. The list is read again where it may be another one; in a store so large that reading it takes
   long, less often.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

from tui_chat.errors import StoreError
from tui_chat.models.message import Message
from tui_chat.models.reply import (
    ReasoningDelta,
    Reply,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
    advance,
)
from tui_chat.models.session import Entry, Session, SessionSummary
from tui_chat.models.timing import BYTES_PER_TOKEN, Timing, weight
from tui_chat.send import PartialReply
from tui_chat.workspace.changes import BranchChanged, Done, ReplyGrew
from tui_chat.workspace.opening import Opening
from tui_chat.workspace.outside import Outside
from tui_chat.workspace.replies import Replies
from tui_chat.workspace.state import State

if TYPE_CHECKING:
    from tui_chat.store.stream_journal import JournalSnapshot

LOOK_EVERY = 1.0
"""Seconds between two looks."""
FOLLOW_EVERY = 0.25
"""Seconds between two looks while a reply is followed. Its receiver writes about as often."""
QUIET = 2.0
"""Seconds without a commit after which a program that receives a reply may be gone."""
_PAUSE = 5.0
"""Seconds until the next look where the store could not be read."""
_LISTING_SHARE = 20
"""The list is not read again before so many times the time has passed that reading it took."""


class Elsewhere:
    """Looks what others did, and takes it in."""

    def __init__(self, state: State, outside: Outside, opening: Opening, replies: Replies) -> None:
        self._state = state
        self._outside = outside
        self._store = outside.store
        self._opening = opening
        self._replies = replies
        self._commits = -1
        """Of others, as they were counted at the last look."""
        self._since = -inf
        """When the last of them was seen."""
        self._is_seen = True
        """Whether the shown session was looked at since then; it is not while it is being read."""
        self._list_from = -inf
        """When the list may be read again."""
        self._is_listed = True
        self._listed: tuple[SessionSummary, ...] = ()
        """The list in which replies were looked for."""
        self._arriving: frozenset[str] = frozenset()
        """Ids of its sessions in which a reply arrives, anywhere."""
        self._seen = ("", 0.0)
        """The shown session, and when something was said in it last."""
        self._gone = ""
        """Id of the shown session where it was not found at the last look."""
        self._arrived: JournalSnapshot | None = None
        """What was told of the followed reply."""
        self._weight = 0
        """How many bytes of text that was."""

    async def look(self) -> float:
        """Take in what other programs did since the last look; return the seconds until the next
        one is due. What goes wrong here is told by whoever reads or writes next.
        """
        try:
            await self._look()
        except StoreError:
            return _PAUSE
        return FOLLOW_EVERY if self._state.followed is not None else LOOK_EVERY

    async def _look(self) -> None:
        commits, now = await self._store.database.data_version(), self._outside.clock()
        if commits != self._commits:
            self._commits, self._since = commits, now
            self._is_seen = self._is_listed = False
        if not self._is_seen or self._gone or self._is_new_here():
            self._is_seen = await self._see_shown()
        elif now - self._since >= QUIET and self._awaits_others():
            self._since = now
            if await self._store.replies.interrupt_orphans():
                self._is_listed = False
                self._is_seen = await self._see_shown()
        if not self._is_listed and now >= self._list_from:
            began = self._outside.clock()
            await self._opening.list_again()
            self._is_listed = True
            ended = self._outside.clock()
            self._list_from = ended + _LISTING_SHARE * (ended - began)

    def _awaits_others(self) -> bool:
        """Whether a reply arrives that is not ours."""
        sessions = self._state.sessions
        if sessions is not self._listed:
            self._listed = sessions
            self._arriving = frozenset(s.session_id for s in sessions if s.status == "streaming")
        return self._state.followed is not None or not self._arriving <= self._replies.running

    # The shown session

    def _is_new_here(self) -> bool:
        """Whether another reply is at the end of what is shown than the one that is followed."""
        followed, last = self._state.followed, self._followable
        if followed is None or last is None:
            return followed is not last
        return followed.entry_id != last.message.id

    @property
    def _followable(self) -> Entry | None:
        """The reply at the end of what is shown, where it arrives and is not ours."""
        state = self._state
        last = state.entries[-1] if state.entries else None
        if last is None or last.status != "streaming" or state.session_id in self._replies.running:
            return None
        return last

    async def _see_shown(self) -> bool:
        """Take in what became of the shown session; return False where it could not be told."""
        session = self._state.session
        if session is None:
            return True
        if not self._opening.is_whole:
            return False
        stored = await self._store.sessions.get(session.session_id)
        if self._state.session is not session:
            return False  # it was changed or left meanwhile, by us
        if stored is None:
            await self._see_gone(session)
            return True
        self._gone = ""
        await self._see_branch(session, stored)
        await self._follow()
        return True

    async def _see_gone(self, session: Session) -> None:
        """Leave a session that others deleted; at the second look, since we may be about to."""
        if self._gone != session.session_id:
            self._gone = session.session_id
            return
        self._gone = ""
        if await self._opening.leave((session.session_id,)):
            self._outside.tell(Done(f"“{session.title}” was deleted by another program."))

    async def _see_branch(self, session: Session, stored: Session) -> None:
        state, session_id = self._state, stored.session_id
        if session_id in self._replies.running:
            return  # the branch is read again when that reply has ended
        seen = state.entries[-1].message.id if state.entries else None
        if session.title != stored.title:
            state.session = replace(session, title=stored.title)
            self._outside.tell(BranchChanged())
        said = self._seen[1] if self._seen[0] == session_id else session.updated
        if stored.head_id != seen or stored.updated != said:
            self._seen = session_id, stored.updated
            await self._opening.reload()
        else:
            self._seen = session_id, stored.updated

    # A reply that others receive

    async def _follow(self) -> None:
        """Tell what has come of the reply at the end of the shown branch; read the branch again
        when it has ended.
        """
        state = self._state
        last = self._followable
        if last is None:
            state.followed = self._arrived = None
            return
        grown = state.followed
        if grown is None or grown.entry_id != last.message.id:
            grown, self._arrived, self._weight = PartialReply(last.message.id, Reply()), None, 0
        arrived = await self._store.replies.read_journal(last.message.id, self._arrived)
        if not state.entries or state.entries[-1] is not last:
            return  # another branch is shown now
        if arrived is None:
            state.followed = self._arrived = None
            await self._opening.reload()
        elif arrived is not self._arrived:
            state.followed = self._later(grown, last, arrived)
            self._arrived = arrived
            self._outside.tell(ReplyGrew(state.followed))

    def _later(self, grown: PartialReply, entry: Entry, arrived: JournalSnapshot) -> PartialReply:
        """Return how the reply gets on, now that so much of it has arrived."""
        known = self._arrived.message if self._arrived is not None else Message("assistant")
        events = _between(known, arrived.message)
        reply = grown.reply
        if events is None:  # it is not a longer one
            events, reply = _between(Message("assistant"), arrived.message) or [], Reply()
            self._weight = 0
        for event in events:
            reply = advance(reply, event)
            self._weight += weight(event)
        tokens = self._weight // BYTES_PER_TOKEN
        begun = entry.message.timestamp
        elapsed = None if begun is None else max(0.0, self._outside.now().timestamp() - begun)
        return PartialReply(grown.entry_id, reply, Timing(elapsed, tokens=tokens or None))


def _between(old: Message, new: Message) -> list[StreamEvent] | None:
    """Return what leads from one state of a reply to a later one; None where it does not go on
    from there.
    """
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
