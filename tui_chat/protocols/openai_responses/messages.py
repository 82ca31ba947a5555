"""The turns as the `instructions` and `input` of a request.

1. `instructions` is sent only where a captured request had it: system turns are items otherwise.
2. `input` is a list of items; where it was captured as one string it is one again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import ChatEnvelope, Note, Turn
from tui_chat.models.json_tree import Arr, Str, Tree
from tui_chat.protocols.common.encoding import NOTHING_TO_SEND, Items, native_form
from tui_chat.protocols.common.plain_turns import openai_roles, plain_turns
from tui_chat.protocols.common.segments import run_memo, segments
from tui_chat.protocols.openai_responses.turn_content import turn_encoder

_RESPONSES = Protocol.OPENAI_RESPONSES


def encode_messages(
    envelope: ChatEnvelope, turns: Sequence[Turn], endpoint: Endpoint, *, may_be_empty: bool
) -> tuple[Items, list[Note]]:
    """Return `instructions` and `input`, and the notes.

    `may_be_empty`: the provider keeps earlier turns, so that nothing new need be sent.
    """
    facts = endpoint.facts_of(envelope.parameters.model.value)
    captured = envelope.semantics.source is _RESPONSES
    encode_segment = _segment_encoder(bool(facts.developer_role), captured)
    shape = envelope.semantics.responses.input_shape
    body: Items = []
    items: list[Tree] = []
    notes: list[Note] = []
    form = native_form(turns[0], _RESPONSES) if turns else None
    if form is not None and form.slot == "instructions":
        body.append(("instructions", Str(turns[0].text)))
        turns = turns[1:]
    for segment in segments(turns):
        segment_items, segment_notes = encode_segment(segment)
        items += segment_items
        notes += segment_notes
    if shape == "string" and len(turns) == 1 == len(items):
        body.append(("input", Str(turns[0].text)))
    elif shape != "absent" or items:
        body.append(("input", Arr(tuple(items))))
    if not items and not may_be_empty:
        notes.append(NOTHING_TO_SEND)
    return body, notes


@lru_cache(maxsize=4)
def _segment_encoder(
    developer: bool, captured: bool
) -> Callable[[Sequence[Turn]], tuple[list[Tree], list[Note]]]:
    """Return a function that encodes a segment, and remembers the result."""
    encode_plain = plain_turns(_RESPONSES, openai_roles(developer))
    encode_turn = turn_encoder(developer, captured)

    def encode_segment(turns: Sequence[Turn]) -> tuple[list[Tree], list[Note]]:
        items: list[Tree] = []
        notes: list[Note] = []
        for turn in turns:
            if (plain := encode_plain(turn)) is not None:
                items.append(plain)
                continue
            content = encode_turn(turn)
            items += content.items
            notes += content.notes
        return items, notes

    return run_memo(encode_segment)
