"""Long conversations in segments, so that a keystroke looks at one of them.

1. A segment is about a hundred turns and begins at a user turn that begins a message of its own.
   Nothing that is said of a segment depends on the turns around it, save that another user turn
   follows all but the last.
2. What was made of a segment is found again while its turns are the very same. To find that out
   costs next to nothing, since tuples compare their items by identity first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar
from weakref import WeakSet

from tui_chat.models.envelope import Turn

T = TypeVar("T")

LENGTH = 100
"""Turns in a segment, about."""


class RunMemo(Generic[T]):
    """Remembers what was made of runs of turns: of the last few hundred, since what is made of a
    run may refer to it, and would keep it for ever.
    """

    def __init__(self, compute: Callable[[Sequence[Turn]], T], size: int = 400) -> None:
        self._compute = compute
        self._size = size
        self._found: dict[int, tuple[tuple[Turn, ...], T]] = {}
        """By the identity of the first turn; oldest first."""
        _memos.add(self)

    def __call__(self, run: Sequence[Turn]) -> T:
        """Return what `compute` makes of these very turns, of which there is one at least."""
        turns = tuple(run)
        found = self._found.get(id(turns[0]))
        if found is not None and found[0] == turns:
            return found[1]
        value = self._compute(turns)
        self._found[id(turns[0])] = (turns, value)
        if len(self._found) > self._size:
            self._found = dict(list(self._found.items())[self._size // 2 :])
        return value

    def forget(self) -> None:
        """Remember nothing."""
        self._found = {}


_memos: WeakSet[RunMemo[Any]] = WeakSet()


def forget_runs() -> None:
    """Let go of all that was made of runs: the conversation is another, and none of it will be
    asked for again. A long one weighs as much as five times its text.
    """
    for memo in tuple(_memos):
        memo.forget()


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
