"""The draft's turn: what is typed, or the stored message in its place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from tui_chat.context.history import answered_turn
from tui_chat.context.inputs import Inputs
from tui_chat.models.envelope import Level, Note
from tui_chat.models.text import Origin, OriginKind, Text, clean
from tui_chat.models.turn import Placement, Turn, text_turn

_BLANK = re.compile(r"\{\{\?\w[\w -]{0,39}\}\}")
MAX_BLANKS = 8
"""Unfilled blanks of a draft that have a note each."""
_TYPED = Placement("draft", rule="Your draft follows the history.")


def draft_turn(inputs: Inputs, notes: list[Note]) -> Turn | None:
    """Return the turn that ends the conversation; None without one."""
    if not inputs.has_draft:
        return None
    if inputs.answered is not None:
        return answered_turn(inputs.answered)
    origin = Origin(OriginKind.DRAFT, "draft")
    notes += _blank_notes(inputs.draft, origin)
    text = Text.of(clean(inputs.draft), origin)
    turn = text_turn("user", text, origin, _TYPED)
    return replace(turn, blocks=turn.blocks + inputs.draft_parts) if inputs.draft_parts else turn


def _blank_notes(draft: str, origin: Origin) -> Iterator[Note]:
    for blank in sorted(set(_BLANK.findall(draft)))[:MAX_BLANKS]:
        sentence = f"The draft has “{blank}”, as an unfilled blank of a snippet looks."
        yield Note(Level.WARNING, "unfilled-blank", sentence, origin)
