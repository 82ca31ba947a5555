"""Which rule placed what is under the cursor."""

from __future__ import annotations

from tui_chat.model.envelope import Turn
from tui_chat.model.text import Origin, OriginKind
from tui_chat.ui.inspector.looking import Under


def rule_of(under: Under, turns: tuple[Turn, ...]) -> str:
    """Return the rule that placed the turn a piece belongs to; empty where there is none."""
    around: Origin | None = under.origin
    while around is not None:
        if around.kind is not OriginKind.GLUE and (turn := _turn_of(around, turns)):
            return turn.placement.rule
        around = around.within
    turn = _turn_of(under.owner, turns)
    return turn.placement.rule if turn is not None else ""


def _turn_of(origin: Origin, turns: tuple[Turn, ...]) -> Turn | None:
    """Find a turn by its origin, newest first, by identity before equality."""
    for turn in reversed(turns):
        if turn.origin is origin:
            return turn
    for turn in reversed(turns):
        if turn.origin.kind is origin.kind and turn.origin == origin:
            return turn
    return None
