"""The draft's turn: what is typed, the stored message in its place, or what a preset sends instead
of nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from tui_chat.context.conversation import Speakers, sent_text
from tui_chat.context.generation import empty_draft_turn
from tui_chat.context.history_costs import answered_turn
from tui_chat.context.inputs import Inputs
from tui_chat.context.macros.preset_expansion import Expander
from tui_chat.models.envelope import Level, Note, Placement, Turn
from tui_chat.models.message import Message
from tui_chat.models.text import Origin, OriginKind, Text, clean

_BLANK = re.compile(r"\{\{\?\w[\w -]{0,39}\}\}")
MAX_BLANKS = 8
"""Unfilled blanks of a draft that have a note each."""
_TYPED = Placement("draft", rule="Your draft follows the history.")


def draft_turn(
    inputs: Inputs, speakers: Speakers, expander: Expander, notes: list[Note]
) -> Turn | None:
    """Return the turn that ends the conversation; None without one."""
    policies = inputs.preset.policies
    if not inputs.has_draft:
        return empty_draft_turn(inputs.preset, expander) if inputs.chat.kind == "normal" else None
    message = inputs.answered
    if message is not None:
        turn = answered_turn(message, speakers)
    else:
        message = Message("user", clean(inputs.draft), "draft")
        origin = Origin(OriginKind.DRAFT, "draft")
        notes += _blank_notes(inputs.draft, origin)
        text = Text.of(message.content, origin)
        name = speakers.field(message)
        turn = Turn("user", text, origin, _TYPED, name=name, parts=inputs.draft_parts)
    if policies.expand_history or inputs.scripts:
        text = sent_text(message, inputs, 0, speakers, expander, turn.origin)
        if text.plain != turn.text.plain:
            turn = replace(turn, text=text)
    return turn


def _blank_notes(draft: str, origin: Origin) -> Iterator[Note]:
    for blank in sorted(set(_BLANK.findall(draft)))[:MAX_BLANKS]:
        sentence = f"The draft has “{blank}”, as an unfilled blank of a snippet looks."
        yield Note(Level.WARNING, "unfilled-blank", sentence, origin)
