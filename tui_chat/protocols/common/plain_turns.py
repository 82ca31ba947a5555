"""Turns that are nothing but somebody's words. Most are, so they take a short way.

1. A plain turn is a message of its own whatever stands beside it, in the words of its text and
   with no note. What it looks like is made when it is looked at.
2. Every encoder says the same of it the long way; `tests/protocols/test_short_way.py` holds that.
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

Said = Mapping[MessageRole, Frame]
"""What is said around a text, by who says it; who is not named always takes the long way."""


def plain_turns(protocol: Protocol, said: Said) -> Memo[Turn, Later | None]:
    """Return the function that gives the message of a plain turn, None for any other turn."""

    def message(turn: Turn) -> Later | None:
        frame = said.get(turn.role)
        if frame is None or not is_plain(turn, protocol):
            return None
        return Later(frame, turn.text, turn.origin)

    return Memo(message)


def role_and_content(role: str) -> Frame:
    """Return the frame of a message of role and content alone."""
    named = ("role", constant(role))
    return Frame(lambda text, _: (named, ("content", Str(text))))


def openai_roles(developer: bool) -> Said:
    """Return what OpenAI wants around a text."""
    system = "developer" if developer else "system"
    return {
        "system": role_and_content(system),
        "user": role_and_content("user"),
        "assistant": role_and_content("assistant"),
    }


def is_plain(turn: Turn, protocol: Protocol) -> bool:
    """Whether a turn is nothing but somebody's words in a protocol."""
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
    """Whether semantics add nothing to a message's words in a protocol. How it was written counts
    only in the protocol that it was written in.
    """
    form = semantics.wire
    if form is not None and (form.extras or form.protocol is protocol):
        return False
    said = semantics.reasoning or semantics.refusal or semantics.layout
    return not said and semantics.failed is None
