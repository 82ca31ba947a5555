"""What is on the screen, held against what was: only the rows that differ need be drawn.

A terminal far away is sent what is new, then, and not the whole conversation for each word.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from tui_chat.ui.chat.lines import Line
from tui_chat.ui.chat.viewport import Place


class Sight(NamedTuple):
    """What is on the screen."""

    current: int | None
    """The message that is marked as the cursor's."""
    is_marked: bool
    """Whether the last row says that there is new text below."""
    rows: list[tuple[Place, Line]]
    height: int

    def changed(self, before: Sight) -> Iterator[tuple[int, int]]:
        """Return the rows that are not as they were: the first of each run, and how many."""
        rows, last = range(self.height), self.height - 1
        if (self.current, self.height) != (before.current, before.height):
            yield 0, self.height
            return
        changed = set(range(*sorted((len(before.rows), len(self.rows)))))
        both = enumerate(zip(before.rows, self.rows, strict=False))
        for y, ((was_at, was), (at, line)) in both:
            if was_at != at or (was is not line and was != line):  # hits and selections are placed
                changed.add(y)
        if self.is_marked or before.is_marked:
            changed.discard(last)  # it is the mark's
        if self.is_marked != before.is_marked:
            changed.add(last)
        for is_changed, run in groupby(rows, key=changed.__contains__):
            if is_changed:
                found = list(run)
                yield found[0], len(found)
