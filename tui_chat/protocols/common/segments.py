"""Encode long conversations in segments, so that a keystroke encodes one of them.

1. A segment has about a hundred turns and begins at a user turn that begins a message of its own.
   Its encoding does not depend on the turns around it, except that another user turn follows all
   segments but the last.
2. The encoding of a segment is kept while its turns are the same objects. The check is cheap,
   since tuples compare their items by identity first.
3. Without this a keystroke in a conversation of 10,000 messages takes 5 to 9 ms instead of 1 to
   1.7 ms (processor time, by protocol), which misses the limit of 5 ms.

Turns that are only text: their messages are built on demand.

1. A plain turn is a message of its own whatever its neighbors are, has the turn's text as its only
   content, and has no notes.
2. The encoders give the same result; `tests/protocols/test_plain_turns.py` checks that.
3. A keystroke takes the same time without this. The first composition of a conversation takes two
   to three times as long: 110 ms against 260 to 360 ms for 10,000 messages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Note, Turn
from tui_chat.models.json_tree import Frame, Later, Str, Tree
from tui_chat.models.memo import Memo
from tui_chat.models.message import MessageRole
from tui_chat.models.semantics import NO_MESSAGE_SEMANTICS, MessageSemantics
from tui_chat.protocols.common.encoding import constant

Frames = Mapping[MessageRole, Frame]
"""The message around a text, by role. A turn of a missing role is never plain."""
T = TypeVar("T")

LENGTH = 100
"""Least number of turns in a segment."""


def plain_turns(protocol: Protocol, frames: Frames) -> Memo[Turn, Later | None]:
    """Return the function that gives the message of a plain turn, None for any other turn."""

    def message(turn: Turn) -> Later | None:
        frame = frames.get(turn.role)
        if frame is None or not is_plain(turn, protocol):
            return None
        return Later(frame, turn.text, turn.origin)

    return Memo(message)


def role_and_content(role: str) -> Frame:
    """Return the frame of a message of role and content alone."""
    named = ("role", constant(role))
    return Frame(lambda text, _: (named, ("content", Str(text))))


def openai_roles(developer: bool) -> Frames:
    """Return the frames of OpenAI's messages. `developer` is the role of system turns, if true."""
    system = "developer" if developer else "system"
    return {
        "system": role_and_content(system),
        "user": role_and_content("user"),
        "assistant": role_and_content("assistant"),
    }


def is_plain(turn: Turn, protocol: Protocol) -> bool:
    """Return True if a turn is only text in a protocol."""
    plain = turn.text.plain
    return not (
        turn.role == "tool"
        or turn.tool_calls
        or turn.parts
        or turn.name
        or turn.tool_call_id
        or not plain
        or plain.isspace()
        or (turn.cache_mark is not None and protocol is Protocol.ANTHROPIC)
        or not (turn.semantics is NO_MESSAGE_SEMANTICS or _adds_nothing(turn.semantics, protocol))
    )


def _adds_nothing(semantics: MessageSemantics, protocol: Protocol) -> bool:
    """Return True if semantics add nothing to the text in a protocol.

    How a message was written counts only in the protocol that it was written in.
    """
    form = semantics.wire
    if form is not None and (form.extras or form.protocol is protocol):
        return False
    more = (
        semantics.reasoning
        or semantics.refusal
        or semantics.layout
        or semantics.references.citations
    )
    return not more and semantics.failed is None


def run_memo(
    compute: Callable[[Sequence[Turn]], T], size: int = 400
) -> Callable[[Sequence[Turn]], T]:
    """Return a function that remembers what `compute` made of runs of turns: of the last `size`,
    since what is made of a run may refer to it. A run has one turn at least.
    """

    def of_first(_: Turn, run: tuple[Turn, ...]) -> T:
        return compute(run)

    memo = Memo(of_first, recent=size)

    def of_run(run: Sequence[Turn]) -> T:
        return memo(run[0], tuple(run))

    return of_run


def segments(turns: Sequence[Turn]) -> list[tuple[Turn, ...]]:
    """Cut a conversation into segments. The first one may begin with any turn."""
    whole = tuple(turns)
    cut: list[tuple[Turn, ...]] = []
    start, end, count = 0, LENGTH, len(whole)
    while end < count:
        if _begins(whole[end]):
            cut.append(whole[start:end])
            start = end
            end += LENGTH
        else:
            end += 1
    if start < count:
        cut.append(whole[start:])
    return cut


Encoding = tuple[list[Tree], list[Note]]
"""Messages, or items, and their notes."""


def encode_segments(
    encode_segment: Callable[[Sequence[Turn]], Encoding], turns: Sequence[Turn]
) -> Encoding:
    """Return the encodings of all segments of a conversation, joined."""
    messages: list[Tree] = []
    notes: list[Note] = []
    for segment in segments(turns):
        segment_messages, segment_notes = encode_segment(segment)
        messages += segment_messages
        notes += segment_notes
    return messages, notes


def _begins(turn: Turn) -> bool:
    form = turn.semantics.wire
    return turn.role == "user" and (form is None or not form.joined)
