r"""Finding regular expressions (`/dragons?/i`) in a time that is bounded.

Why not `re`: it tries one way after the other, and for `/(a+)+$/` there are two to the power of
the text's length. A lorebook comes from strangers and is asked with every keystroke.

1. All ways are followed at once, a character at a time, as a set of places in the pattern; a
   set met before with a character met before leads where it led before. The time for a text
   is its length times the pattern's size at worst, and mostly its length alone.
2. Only whether a pattern occurs is told: not where, nor what its groups hold.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tui_chat.context.pattern_syntax import (
    LINE_ENDS,
    BadPattern,
    Border,
    Character,
    Choice,
    Item,
    Repeat,
    Sequence,
    Test,
    is_word,
    read_pattern,
)

LARGEST = 500
"""Places that a pattern may have, each repetition counted out."""
_MOST_STEPS = 8192
"""Steps that are remembered; then it is begun anew."""


@dataclass(slots=True)
class _Place:
    """A place in a pattern, and where one may go from there."""

    test: Test | None = None
    """What the next character has to pass; None: goes on without one."""
    border: str = ""
    """Goes on only where this border is; empty: anywhere."""
    onward: list[int] = field(default_factory=list[int])


class Pattern:
    """A pattern ready to be looked for. Raises BadPattern for one that cannot be used."""

    def __init__(self, source: str, flags: str = "") -> None:
        self._multiline = "m" in flags
        self._places = [_Place()]
        self._end = self._lay(read_pattern(source, flags), 0)
        self._steps: dict[tuple[frozenset[int], str, str], frozenset[int] | None] = {}

    def occurs_in(self, text: str) -> bool:
        """Whether the pattern matches anywhere in the text."""
        places, before = frozenset((0,)), ""
        for after in text:
            step = (places, before, after)
            if step in self._steps:
                following = self._steps[step]
            else:
                if len(self._steps) >= _MOST_STEPS:
                    self._steps = {}
                following = self._steps[step] = self._step(places, before, after)
            if following is None:
                return True
            places, before = following, after
        return self._end in self._spread(places, before, "")

    def _step(self, places: frozenset[int], before: str, after: str) -> frozenset[int] | None:
        """Return the places behind the character `after`; None if the end was reached."""
        spread = self._spread(places, before, after)
        if self._end in spread:
            return None
        following = {0}  # a match may begin anywhere
        for number in spread:
            place = self._places[number]
            if place.test is not None and place.test(after):
                following.update(place.onward)
        return frozenset(following)

    def _spread(self, places: Iterable[int], before: str, after: str) -> set[int]:
        """Return the places, and all that are reached from them without a character."""
        found: set[int] = set()
        waiting = list(places)
        while waiting:
            number = waiting.pop()
            if number in found:
                continue
            found.add(number)
            place = self._places[number]
            if place.test is None and self._is_border(place.border, before, after):
                waiting += place.onward
        return found

    def _is_border(self, kind: str, before: str, after: str) -> bool:
        match kind:
            case "":
                return True
            case "^":
                return not before or (self._multiline and before in LINE_ENDS)
            case "$":
                return not after or (self._multiline and after in LINE_ENDS)
            case _:
                return (is_word(before) is not is_word(after)) is (kind == "b")

    def _place(self, test: Test | None = None, border: str = "") -> int:
        if len(self._places) >= LARGEST:
            raise BadPattern("is too large")
        self._places.append(_Place(test, border))
        return len(self._places) - 1

    def _link(self, start: int, end: int) -> int:
        self._places[start].onward.append(end)
        return end

    def _lay(self, item: Item, start: int) -> int:
        """Lay out the places of an item behind `start`; return the place behind it."""
        match item:
            case Character(test):
                return self._link(self._link(start, self._place(test)), self._place())
            case Border(kind):
                return self._link(self._link(start, self._place(border=kind)), self._place())
            case Sequence(items):
                for each in items:
                    start = self._lay(each, start)
                return start
            case Choice(ways):
                end = self._place()
                for way in ways:
                    self._link(self._lay(way, self._link(start, self._place())), end)
                return end
            case Repeat(inner, least, most):
                for _ in range(least):
                    start = self._lay(inner, start)
                end = self._link(start, self._place())
                if most is None:
                    return self._link(self._lay(inner, end), end)
                for _ in range(most - least):
                    start = self._lay(inner, start)
                    self._link(start, end)
                return end
