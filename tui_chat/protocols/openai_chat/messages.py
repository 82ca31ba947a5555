"""The turns as the `messages` of a request.

1. Each turn is one message, whatever role stands beside it.
2. What a tool result cannot hold follows in a user message, after all results of the same turn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Note, Turn
from tui_chat.models.json_tree import Tree
from tui_chat.protocols.common.plain_turns import openai_roles, plain_turns
from tui_chat.protocols.common.segments import run_memo, segments
from tui_chat.protocols.openai_chat.turn_content import turn_encoder

_CHAT = Protocol.OPENAI_CHAT


def encode_messages(turns: Sequence[Turn], *, developer: bool) -> tuple[list[Tree], list[Note]]:
    """Return `messages` and the notes. `developer`: system turns are called `developer`."""
    encode_segment = _segment_encoder(developer)
    messages: list[Tree] = []
    notes: list[Note] = []
    for segment in segments(turns):
        segment_messages, segment_notes = encode_segment(segment)
        messages += segment_messages
        notes += segment_notes
    return messages, notes


@lru_cache(maxsize=2)
def _segment_encoder(developer: bool) -> Callable[[Sequence[Turn]], tuple[list[Tree], list[Note]]]:
    """Return a function that encodes a segment, and remembers the result."""
    encode_plain, encode_turn = (
        plain_turns(_CHAT, openai_roles(developer)),
        turn_encoder(developer),
    )

    def encode_segment(turns: Sequence[Turn]) -> tuple[list[Tree], list[Note]]:
        messages: list[Tree] = []
        notes: list[Note] = []
        follow_ups: list[Tree] = []
        for turn in turns:
            if follow_ups and turn.role != "tool":
                messages += follow_ups
                follow_ups = []
            if (plain := encode_plain(turn)) is not None:
                messages.append(plain)
                continue
            message = encode_turn(turn)
            messages.append(message.tree)
            notes += message.notes
            if message.follows is not None:
                follow_ups.append(message.follows)
        return messages + follow_ups, notes

    return run_memo(encode_segment)
