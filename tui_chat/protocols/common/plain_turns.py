"""Turns that are only text: their messages are built on demand.

1. A plain turn is a message of its own whatever its neighbours are, has the turn's text as its only
   content, and has no notes.
2. The encoders give the same result; `tests/protocols/test_plain_turns.py` checks that.
3. A keystroke takes the same time without this. The first composition of a conversation takes two
   to three times as long: 110 ms against 260 to 360 ms for 10,000 messages.
"""

from __future__ import annotations

from collections.abc import Mapping

from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Turn
from tui_chat.models.json_tree import Frame, Later, Str
from tui_chat.models.memo import Memo
from tui_chat.models.message import MessageRole
from tui_chat.models.semantics import NO_MESSAGE_SEMANTICS, MessageSemantics
from tui_chat.protocols.common.encoding import constant

Frames = Mapping[MessageRole, Frame]
"""The message around a text, by role. A turn of a missing role is never plain."""


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
