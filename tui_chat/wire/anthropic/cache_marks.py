"""Anthropic takes four cache marks in a request. Of more, the last four count: each covers all
that stands before it, so the later ones save the most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from tui_chat.model.envelope import Turn
from tui_chat.wire.tool_pairing import variant

MOST = 4


def few_marks(turns: Sequence[Turn]) -> Sequence[Turn]:
    """Return the turns with no more marks than may be sent."""
    marked = [index for index, turn in enumerate(turns) if _marks(turn)]
    if sum(_marks(turns[index]) for index in marked) <= MOST:
        return turns
    fewer, left = list(turns), MOST
    for index in reversed(marked):
        count = _marks(turns[index])
        if count > left:
            fewer[index] = variant(turns[index], ("marks", left), partial(_keep, count=left))
        left = max(left - count, 0)
    return fewer


def _marks(turn: Turn) -> int:
    layout = turn.semantics.layout
    return 0 if layout is None else sum(1 for piece in layout.pieces if piece.cache)


def _keep(turn: Turn, count: int) -> Turn:
    """Return a turn with its last `count` marks."""
    layout = turn.semantics.layout
    assert layout is not None
    pieces = list(layout.pieces)
    for index in range(len(pieces) - 1, -1, -1):
        if pieces[index].cache:
            if count == 0:
                pieces[index] = replace(pieces[index], cache="")
            count = max(count - 1, 0)
    semantics = replace(turn.semantics, layout=replace(layout, pieces=tuple(pieces)))
    return replace(turn, semantics=semantics)
