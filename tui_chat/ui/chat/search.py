"""A search within the shown conversation: its hits, and which one the reader is at."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate

from tui_chat.ui.chat import finding
from tui_chat.ui.chat.layouts import Layouts
from tui_chat.ui.chat.viewport import Place

Hit = tuple[Place, int]
"""The line where it begins, and the first character there."""


class Search:
    """Walks from hit to hit; lays out only messages that have one."""

    def __init__(self, layouts: Layouts) -> None:
        self.at: Hit | None = None
        """The hit that is shown."""
        self._layouts = layouts
        self._wanted: re.Pattern[str] | None = None
        self._counts: list[int] = []
        self._before: list[int] = []
        self._known: dict[tuple[int, int], tuple[object, finding.Spans]] = {}

    @property
    def is_on(self) -> bool:
        """Whether anything is being found."""
        return self._wanted is not None

    @property
    def count(self) -> int:
        """How many hits there are."""
        return sum(self._counts)

    @property
    def number(self) -> int:
        """Which hit is shown, from 1; 0 where none is."""
        if self.at is None or not self.count:
            return 0
        message = self.at[0].message
        hits = self._hits(message)
        index = hits.index(self.at) if self.at in hits else 0
        return self._before[message] + min(index + 1, self._counts[message])

    def find(self, words: Sequence[str]) -> None:
        """Find any of these from now on; nothing, where there are none."""
        self._wanted = finding.pattern(words)
        self.at = None
        self.lines_changed()
        self.entries_changed()

    def entries_changed(self) -> None:
        """Count again: the conversation is another."""
        if self._wanted is None:
            self._counts = []
            return
        self._counts = finding.counts(self._wanted, self._layouts.entries)
        self._before = [0, *accumulate(self._counts)]
        if self.at and self.at[0].message >= len(self._counts):
            self.at = None

    def lines_changed(self) -> None:
        """Forget where hits stand: something was laid out anew."""
        self._known.clear()
        if self.at is not None:
            hits = self._hits(self.at[0].message)
            self.at = hits[0] if hits else None

    def first_from(self, place: Place) -> Hit | None:
        """Go to the first hit at or below a line; where there is none, to the last above."""
        for message in range(place.message, len(self._counts)):
            if self._counts[message]:
                for hit in self._hits(message):
                    if hit[0] >= place:
                        self.at = hit
                        return hit
        self.at = (place, 0) if self.count else None
        return self.step(-1)

    def in_message(self, message: int) -> Hit | None:
        """Go to the first hit in a message, rather to one that can be seen than to a folded one."""
        hits = self._hits(message)
        seen = (hit for hit in hits if self.fold_at(hit[0]) is None)
        self.at = next(seen, hits[0] if hits else None)
        return self.at

    def go_on_from(self, place: Place) -> Hit | None:
        """Go to the first hit of a message at or below a line of it, if there is one."""
        self.at = next((hit for hit in self._hits(place.message) if hit[0] >= place), self.at)
        return self.at

    def step(self, direction: int) -> Hit | None:
        """Go to the next hit, or the one before; from the last one to the first."""
        if not self.count:
            return None
        at = self.at or (Place(0, 0, -1), 0)
        here = self._hits(at[0].message)
        rest = [h for h in here if (h > at if direction > 0 else h < at)]
        if not rest:
            walk = self._forward if direction > 0 else self._backward
            rest = next((h for m in walk(at[0].message + direction) if (h := self._hits(m))), here)
        if rest:
            self.at = rest[0] if direction > 0 else rest[-1]
        return self.at

    def marks(self, place: Place) -> list[tuple[int, int, bool]]:
        """Return which characters of a line are hits, and whether it is the one that is shown."""
        if self._wanted is None:
            return []
        found = self._spans(place.message, place.part).get(place.line, [])
        return [(start, end, self.at == (place, start)) for start, end in found]

    def _forward(self, start: int) -> Iterator[int]:
        size = len(self._counts)
        yield from (m for m in range(max(start, 0), size) if self._counts[m])
        if start > 0:
            yield from (m for m in range(min(start, size)) if self._counts[m])

    def _backward(self, start: int) -> Iterator[int]:
        size = len(self._counts)
        yield from (m for m in range(min(start, size - 1), -1, -1) if self._counts[m])
        yield from (m for m in range(size - 1, start, -1) if self._counts[m])

    def fold_at(self, place: Place) -> str | None:
        """Return the key of what is folded at a line."""
        folded = self._layouts(place.message).folded
        at = (place.part, place.line)
        return next((fold.key for fold in folded if (fold.part, fold.line) == at), None)

    def _hits(self, message: int) -> list[Hit]:
        if not 0 <= message < len(self._layouts.entries) or self._wanted is None:
            return []
        layout = self._layouts(message)
        hits: list[Hit] = [
            (Place(message, part, line), start)
            for part in range(len(layout.parts))
            for line, found in self._spans(message, part).items()
            for start, _ in found
        ]
        for fold in layout.folded:
            shown = self._spans(message, fold.part)
            seen = sum(len(shown.get(line, ())) for line in range(fold.first, fold.line + 1))
            if not shown.get(fold.line) and finding.count(self._wanted, fold.text) > seen:
                hits.append((Place(message, fold.part, fold.line), 0))
        if not hits and self._counts[message]:
            hits.append((Place(message, 0, 0), 0))
        return sorted(hits)

    def _spans(self, message: int, part: int) -> finding.Spans:
        layout = self._layouts(message)
        if part == 0:  # the head is ours, not of the message
            return {}
        column = layout.parts[part]
        known = self._known.get((message, part))
        if known is not None and known[0] is column:
            return known[1]
        if len(self._known) > 4000:
            self._known.clear()
        assert self._wanted is not None
        found = finding.spans(self._wanted, layout.lines(part))
        self._known[message, part] = column, found
        return found
