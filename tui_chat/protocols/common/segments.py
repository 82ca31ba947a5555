"""Long conversations in segments, so that a keystroke looks at one of them.

1. A segment is about a hundred turns and begins at a user turn that begins a message of its own.
   Nothing that is said of a segment depends on the turns around it, save that another user turn
   follows all but the last.
2. What was made of a segment is found again while its turns are the very same. To find that out
   costs next to nothing, since tuples compare their items by identity first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from tui_chat.models.envelope import Turn
from tui_chat.models.memo import Memo

T = TypeVar("T")

LENGTH = 100
"""Turns in a segment, about."""


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


def _begins(turn: Turn) -> bool:
    form = turn.semantics.wire
    return turn.role == "user" and (form is None or not form.joined)
