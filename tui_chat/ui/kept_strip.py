"""A line that is drawn once and kept while it is on the screen, and is gone when it is not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter
from textual.strip import Strip


class KeptStrip(Strip):
    """A strip that does not hold itself. Textual's remembers how it was divided, and where that was
    not at all, itself: such a ring stays, with all that a click on it would do, until the garbage
    collector comes to it. That was 10 MB for every hundred pages.
    """

    __slots__ = ("_filtered",)

    def __init__(self, segments: Iterable[Segment], cell_length: int | None = None) -> None:
        super().__init__(segments, cell_length)
        self._filtered: tuple[LineFilter, Color, KeptStrip | None] | None = None
        """The last filter, on what background, and what it made; None where that is the same."""

    def divide(self, cuts: Iterable[int]) -> Sequence[Strip]:
        """Divide it at these cells; it is its own only part where none is before its end."""
        width = self.cell_length
        inside = [cut for cut in cuts if cut <= width]
        return [self] if inside == [width] else super().divide(inside)

    def apply_filter(self, filter: LineFilter, background: Color) -> Strip:
        """Return what a filter makes of it, which is such a strip again."""
        known = self._filtered
        if known is None or known[0] is not filter or known[1] != background:
            segments = list(self)
            made = filter.apply(segments, background)
            strip = None if made == segments else KeptStrip(made, self.cell_length)
            known = self._filtered = filter, background, strip
        return self if known[2] is None else known[2]
