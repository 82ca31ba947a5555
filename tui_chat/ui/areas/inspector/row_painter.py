"""Draws a row of the body: the bar of its origin, the mark of a note, the coloured text."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator
from typing import TypeAlias

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.envelope import Level
from tui_chat.models.text import Origin, OriginKind
from tui_chat.ui.areas.inspector.drawn_row import (
    BodyRow,
    DrawnLine,
    DrawnRun,
    bar_kind,
    display_kind,
    main_run,
)
from tui_chat.ui.areas.inspector.notes_list import SYMBOLS
from tui_chat.ui.areas.inspector.origins import LETTERS, is_colourless
from tui_chat.ui.areas.inspector.payload_layout import PayloadLayout
from tui_chat.ui.areas.inspector.payload_places import comes_from
from tui_chat.ui.widgets.acyclic_strip import AcyclicStrip

GUTTER = 2
"""Cells for the bar in the colour of the origin, and the symbol of a note."""


@dataclass(frozen=True, slots=True)
class Highlights:
    """What is highlighted in the whole body."""

    origin: Origin | None = None
    """All text of this origin."""
    words: re.Pattern[str] | None = None
    """All matches."""

    def includes(self, run: DrawnRun) -> bool:
        """Return True if a run is of the highlighted origin."""
        return self.origin is not None and comes_from(run.piece.origin, self.origin)

    def hits(self, text: str, start: int, end: int) -> list[tuple[int, int]]:
        """Return the spans of the highlighted words in a part of a line."""
        if self.words is None:
            return []
        found = (hit.span() for hit in self.words.finditer(text, max(start - 200, 0), end + 200))
        return [(low, high) for low, high in found if low < end and high > start]


_Row: TypeAlias = tuple[int, int, OriginKind, bool, int | None, Level | None, Highlights, int]
_KEPT_STRIPS = 200


class RowPainter:
    """Draws with the component classes `<prefix>--<kind>`, `--key`, `--mark`, `--cursor` and
    `--piece` of a widget; each style is resolved once.
    """

    def __init__(self, widget: Widget, prefix: str) -> None:
        self._widget = widget
        self._prefix = prefix
        self._styles: dict[tuple[OriginKind, bool, bool], Style] = {}
        self._parts: dict[str, Style] = {}
        self._by_letter: bool | None = None
        """True if letters stand for colours; None if not known yet."""
        self._strips: OrderedDict[_Row, tuple[DrawnLine, Strip]] = OrderedDict()
        """The rows drawn last; most are drawn again unchanged."""

    def forget(self) -> None:
        """Forget all styles, because the theme or the focus changed."""
        self._styles.clear()
        self._parts.clear()
        self._by_letter = None
        self._strips.clear()

    def row(
        self,
        layout: PayloadLayout,
        spot: BodyRow,
        here: bool,
        piece: int | None,
        note: Level | None,
        highlights: Highlights,
    ) -> Strip:
        """Draw a row. `here` is True under the cursor; `piece` is the index of the piece to
        underline (None for the main one, -1 for none); `note` is the level of its note.
        """
        line = layout.line(spot)
        width = self._widget.size.width
        row = (id(line), spot.row, spot.owner.kind, here, piece, note, highlights, width)
        kept = self._strips.get(row)
        if kept is None:
            # The line is kept with its strip, so that its id is not reused.
            kept = line, self._paint(layout, spot, line, here, piece, note, highlights)
            self._strips[row] = kept
            if len(self._strips) > _KEPT_STRIPS:
                self._strips.popitem(last=False)
        self._strips.move_to_end(row)
        return kept[1]

    def _paint(
        self,
        layout: PayloadLayout,
        spot: BodyRow,
        line: DrawnLine,
        here: bool,
        piece: int | None,
        note: Level | None,
        highlights: Highlights,
    ) -> Strip:
        start, end = line.slice(spot.row)
        runs = line.runs_in(start, end)
        main = main_run(runs, piece) if piece != -1 and len(runs) > 1 else None
        plain = self._style(OriginKind.GLUE, False, here)
        lit = [highlights.includes(run) for run in runs]
        kind = bar_kind(runs, spot)
        segments = [
            Segment(self._bar(kind, any(lit)), self._style(kind, False, here)),
            Segment(" ", plain)
            if note is None
            else Segment(SYMBOLS[note], plain + self._part(f"note-{note}")),
            Segment(" " * layout.lead(spot), plain),
        ]
        hits = highlights.hits(line.text, start, end)
        for run, is_lit in zip(runs, lit, strict=True):
            style = self._run_style(run, here)
            if main is not None and run.piece is main.piece:
                style += self._part("piece")
            if is_lit:
                style += self._part("lit")
            segments += self._marked(
                line.text, max(run.start, start), min(run.end, end), hits, style
            )
        width = self._widget.size.width
        return AcyclicStrip(Strip(segments).adjust_cell_length(width, plain), width)

    def _bar(self, kind: OriginKind, is_lit: bool) -> str:
        if self._by_letter is None:
            self._by_letter = is_colourless(self._widget)
        if self._by_letter:
            return LETTERS[kind].upper() if is_lit else LETTERS[kind]
        return "▌" if is_lit else "▎"

    def _marked(
        self, text: str, start: int, end: int, hits: list[tuple[int, int]], style: Style
    ) -> Iterator[Segment]:
        """Yield a run, divided where hits begin and end."""
        at = start
        for low, high in hits:
            low, high = max(low, at), min(high, end)
            if low < high:
                if at < low:
                    yield Segment(text[at:low], style)
                yield Segment(text[low:high], style + self._part("hit"))
                at = high
        if at < end:
            yield Segment(text[at:end], style)

    def _run_style(self, run: DrawnRun, here: bool) -> Style:
        if run.marks:
            return self._style(run.piece.origin.kind, False, here) + self._part("mark")
        return self._style(display_kind(run.piece), run.piece.is_key, here)

    def _style(self, kind: OriginKind, key: bool, here: bool) -> Style:
        known = self._styles.get((kind, key, here))
        if known is None:
            known = self._widget.rich_style + self._part("key" if key else kind)
            if here:
                known += self._part("cursor")
            self._styles[(kind, key, here)] = known
        return known

    def _part(self, name: str) -> Style:
        known = self._parts.get(name)
        if known is None:
            styles = self._widget.get_component_styles(f"{self._prefix}--{name}")
            known = styles.partial_rich_style
            if 0 < styles.background.a < 1:  # Rich ignores translucency
                ground = self._widget.background_colors[1] + styles.background
                known += Style(bgcolor=ground.rich_color)
            self._parts[name] = known
        return known
