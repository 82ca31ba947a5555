"""Paints laid-out lines: `TextLine`s become Textual strips in the theme's colours.

Two frames of the transcript are compared, so that only the rows that differ are drawn: a slow
terminal then receives the new words of a growing reply and not the whole screen for each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tui_chat.ui.areas.chat.text_lines import TextLine, width_of
from tui_chat.ui.widgets.acyclic_strip import AcyclicStrip

if TYPE_CHECKING:
    from tui_chat.ui.areas.chat.text_lines import TextLine
    from tui_chat.ui.areas.chat.viewport import LinePosition
    from tui_chat.ui.widgets.component_styles import ComponentStyles

GUTTER = 2
"""Cells to the left of the text, for the bar that marks user messages and the cursor."""
TEXT_WIDTH = 108
"""Maximum cells of text in a line; longer lines are hard to read."""
CACHE_SIZE = 200
"""Painted lines in one generation of the cache; more than a screen has."""
_CacheKey = tuple[int, int, str, bool]
_NEW_TEXT = " ↓ new text below "


class TranscriptFrame(NamedTuple):
    """The rows on the screen and what is drawn over them."""

    current: int | None
    """The message that has the cursor's bar."""
    is_marked: bool
    """True if the last row is the mark of new text below."""
    rows: list[tuple[LinePosition, TextLine]]
    height: int

    def changed_rows(self, before: TranscriptFrame) -> Iterator[tuple[int, int]]:
        """Yield the rows that differ from an earlier frame, as pairs of first row and count."""
        if (self.current, self.height) != (before.current, before.height):
            yield 0, self.height
            return
        changed = set(range(*sorted((len(before.rows), len(self.rows)))))
        pairs = enumerate(zip(before.rows, self.rows, strict=False))
        for y, ((old_position, old), (position, line)) in pairs:
            # Equal lines at other positions differ too: hits and selections are drawn by position.
            if old_position != position or (old is not line and old != line):
                changed.add(y)
        last = self.height - 1
        if self.is_marked or before.is_marked:
            changed.discard(last)  # the mark covers it
        if self.is_marked != before.is_marked:
            changed.add(last)
        for is_changed, group in groupby(range(self.height), key=changed.__contains__):
            if is_changed:
                rows = list(group)
                yield rows[0], len(rows)


def text_width(screen_width: int) -> int:
    """Return the width in cells at which text is laid out on a screen."""
    return max(min(screen_width - GUTTER - 1, TEXT_WIDTH), 8)


class LinePainter:
    """Paints lines in the colours of a palette, each as wide as the screen.

    Painted lines are cached in two generations: when the newer one is full, the older is dropped.
    """

    def __init__(self, palette: ComponentStyles) -> None:
        self._palette = palette
        self._cache: dict[_CacheKey, tuple[TextLine, Strip]] = {}
        """Keys contain the line's id; the value holds the line so that its id is not reused."""
        self._older: dict[_CacheKey, tuple[TextLine, Strip]] = {}

    def clear(self) -> None:
        """Drop the cache after a change of colours."""
        self._cache.clear()
        self._older.clear()

    def line(self, line: TextLine, width: int, *, fill: str, current: bool) -> Strip:
        """Paint a line of a message.

        `fill` is the style of the message's background, and `current` draws the cursor's bar. A
        line on the screen gets the same strip each time.
        """
        key = id(line), width, fill, current
        painted = self._cache.get(key)
        if painted is None:
            painted = self._older.get(key) or (line, self._paint(line, width, fill, current))
            if len(self._cache) >= CACHE_SIZE:
                self._older, self._cache = self._cache, {}
            self._cache[key] = painted
        return painted[1]

    def _paint(self, line: TextLine, width: int, fill: str, current: bool) -> Strip:
        palette = self._palette
        background = "" if line.bare else fill
        bar = "cursor-bar" if current else "user-bar" if fill else ""
        segments = [
            Segment("▌ ", palette(background, bar))
            if bar and not line.bare
            else Segment(" " * GUTTER, palette(background))
        ]
        for text, styles, link, action in line.runs:
            style = palette(background, line.fill, *styles)
            if link:
                style += Style.from_meta({"link": link})
            elif action:
                style += Style.from_meta({"action": action})
            segments.append(Segment(text, style))
        strip = Strip(segments)
        if line.fill:
            filled = min(GUTTER + text_width(width), width)
            strip = strip.adjust_cell_length(filled, palette(background, line.fill))
        return AcyclicStrip(strip.adjust_cell_length(width, palette(background)), width)

    def blank(self, width: int) -> Strip:
        """Paint an empty row."""
        return Strip.blank(width, self._palette())

    def new_text_mark(self, width: int) -> Strip:
        """Paint the row that says that a reply goes on below the screen."""
        words = _NEW_TEXT if cell_len(_NEW_TEXT) <= width else "↓"
        left = (width - cell_len(words)) // 2
        style = self._palette("new-text") + Style.from_meta({"end": True})
        strip = Strip([Segment(" " * left, self._palette()), Segment(words, style)])
        return strip.adjust_cell_length(width, self._palette())

    def centered(self, lines: Sequence[TextLine], y: int, width: int, height: int) -> Strip:
        """Paint row `y` of a screen that shows only these lines, in its middle."""
        top = max((height - len(lines)) // 2 - 1, 0)
        if not top <= y < top + len(lines):
            return self.blank(width)
        widest = max(width_of(line.runs) for line in lines)
        segments = [Segment(" " * max((width - widest) // 2, 0), self._palette())]
        segments += [Segment(run.text, self._palette(*run.styles)) for run in lines[y - top].runs]
        return Strip(segments).adjust_cell_length(width, self._palette())
