"""A rendered line that is freed as soon as it leaves the screen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter
from textual.strip import Strip


class AcyclicStrip(Strip):
    """A strip without a reference to itself.

    Textual's strip caches its divisions; where the only part is the whole, it caches itself. Such
    a cycle stays, with everything its click metadata refers to, until the garbage collector runs:
    10 MB for every hundred pages scrolled.
    """

    __slots__ = ("_filtered",)

    def __init__(self, segments: Iterable[Segment], cell_length: int | None = None) -> None:
        super().__init__(segments, cell_length)
        self._filtered: tuple[LineFilter, Color, AcyclicStrip | None] | None = None
        """The last filter, its background and its result; None if it changed nothing."""

    def divide(self, cuts: Iterable[int]) -> Sequence[Strip]:
        """Divide the strip at these cells; without a cut inside, return it alone and uncached."""
        width = self.cell_length
        inside = [cut for cut in cuts if cut <= width]
        return [self] if inside == [width] else super().divide(inside)

    def apply_filter(self, filter: LineFilter, background: Color) -> Strip:
        """Return the filtered strip, which has no cycle either."""
        cached = self._filtered
        if cached is None or cached[0] is not filter or cached[1] != background:
            segments = list(self)
            filtered = filter.apply(segments, background)
            strip = None if filtered == segments else AcyclicStrip(filtered, self.cell_length)
            cached = self._filtered = filter, background, strip
        return self if cached[2] is None else cached[2]
