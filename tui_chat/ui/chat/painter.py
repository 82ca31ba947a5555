"""Lines of runs, turned into strips of coloured cells."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tui_chat.ui.chat.lines import Line
from tui_chat.ui.widgets.acyclic_strip import AcyclicStrip
from tui_chat.ui.widgets.palette import Palette

GUTTER = 2
"""Cells at the left: the bar that tells messages apart."""
MEASURE = 108
"""Cells of text in a line at most; longer lines are hard to read."""
KEPT = 200
"""Painted lines that are kept, twice over; more than a screen has."""
_Key = tuple[int, int, str, bool]
_NEW_TEXT = " ↓ new text below "


def measure(width: int) -> int:
    """Return how wide text is laid out on a screen of `width` cells."""
    return max(min(width - GUTTER - 1, MEASURE), 8)


class Painter:
    """Draws lines in the colours of a palette, each exactly as wide as the screen."""

    def __init__(self, palette: Palette) -> None:
        self._palette = palette
        self._painted: dict[_Key, tuple[Line, Strip]] = {}
        """Each with its line, which keeps the line's id from being another's."""
        self._painted_before: dict[_Key, tuple[Line, Strip]] = {}

    def forget(self) -> None:
        """Forget what was painted: the colours have changed."""
        self._painted.clear()
        self._painted_before.clear()

    def line(self, line: Line, width: int, *, fill: str, current: bool) -> Strip:
        """Draw a line of a message, which has a fill and may be the cursor's.

        The same strip is returned for the same line as long as it stays on the screen.
        """
        key = id(line), width, fill, current
        found = self._painted.get(key)
        if found is None:
            found = self._painted_before.get(key)
            found = found or (line, self._paint(line, width, fill, current))
            if len(self._painted) >= KEPT:
                self._painted_before, self._painted = self._painted, {}
            self._painted[key] = found
        return found[1]

    def _paint(self, line: Line, width: int, fill: str, current: bool) -> Strip:
        palette = self._palette
        ground = "" if line.bare else fill
        bar = "cursor-bar" if current else "user-bar" if fill else ""
        pieces = [
            Segment("▌ ", palette(ground, bar))
            if bar and not line.bare
            else Segment(" " * GUTTER, palette(ground))
        ]
        for text, styles, link, action in line.runs:
            style = palette(ground, line.fill, *styles)
            if link:
                style += Style.from_meta({"link": link})
            elif action:
                style += Style.from_meta({"action": action})
            pieces.append(Segment(text, style))
        strip = Strip(pieces)
        if line.fill:
            filled = min(GUTTER + measure(width), width)
            strip = strip.adjust_cell_length(filled, palette(ground, line.fill))
        return AcyclicStrip(strip.adjust_cell_length(width, palette(ground)), width)

    def blank(self, width: int) -> Strip:
        """Draw nothing."""
        return Strip.blank(width, self._palette())

    def new_text(self, width: int) -> Strip:
        """Draw the mark that there is more to read below."""
        words = _NEW_TEXT if cell_len(_NEW_TEXT) <= width else "↓"
        left = (width - cell_len(words)) // 2
        style = self._palette("new-text") + Style.from_meta({"end": True})
        strip = Strip([Segment(" " * left, self._palette()), Segment(words, style)])
        return strip.adjust_cell_length(width, self._palette())

    def centred(self, lines: Sequence[Line], y: int, width: int, height: int) -> Strip:
        """Draw row `y` of a screen that has these lines in its middle."""
        top = max((height - len(lines)) // 2 - 1, 0)
        if not top <= y < top + len(lines):
            return self.blank(width)
        wide = max(sum(cell_len(piece.text) for piece in line.runs) for line in lines)
        pieces = [Segment(" " * max((width - wide) // 2, 0), self._palette())]
        pieces += [Segment(p.text, self._palette(*p.styles)) for p in lines[y - top].runs]
        return Strip(pieces).adjust_cell_length(width, self._palette())
