"""Long conversations in segments, so that a keystroke looks at one of them.

1. A segment is about a hundred turns and begins at a user turn that begins a message of its own.
   Nothing that is said of a segment depends on the turns around it, save that another user turn
   follows all but the last.
2. What was made of a segment is remembered for as long as its turns are the very same. To find
   that out costs next to nothing, since tuples compare their items by identity first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from tui_chat.model.envelope import Turn
from tui_chat.model.memo import Memo

T = TypeVar("T")

LENGTH = 100
"""Turns in a segment, about."""


class RunMemo(Generic[T]):
    """Remembers what was made of a run of turns for as long as the run is the same."""

    def __init__(self, compute: Callable[[Sequence[Turn]], T]) -> None:
        self._compute = compute
        self._found: Memo[Turn, list[tuple[tuple[Turn, ...], T]]] = Memo(lambda _: [])

    def __call__(self, run: Sequence[Turn]) -> T:
        """Return what `compute` makes of these very turns, of which there is one at least."""
        turns = tuple(run)
        found = self._found(turns[0])
        if found and found[0][0] == turns:
            return found[0][1]
        value = self._compute(turns)
        found[:] = [(turns, value)]
        return value


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
