"""Draws one row of the body: the bar of its origin, the indent, the text in its colours."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from tui_chat.models.envelope import Level
from tui_chat.models.text import Origin, OriginKind
from tui_chat.ui.inspector.drawn_row import DrawnLine, Run, Spot, bar_kind, kind_shown, main_run
from tui_chat.ui.inspector.legend import LETTERS, without_colour
from tui_chat.ui.inspector.notes_list import SYMBOLS
from tui_chat.ui.inspector.payload_layout import Layout
from tui_chat.ui.inspector.payload_places import comes_from
from tui_chat.ui.widgets.acyclic_strip import AcyclicStrip

GUTTER = 2
"""The bar in the colour of the row's origin, and the mark of a note or a blank."""


@dataclass(frozen=True, slots=True)
class Lights:
    """What is marked wherever it stands."""

    origin: Origin | None = None
    """All that came from there."""
    words: re.Pattern[str] | None = None
    """All that matches."""

    def lights(self, run: Run) -> bool:
        """Whether a run came from there."""
        return self.origin is not None and comes_from(run.piece.origin, self.origin)

    def hits(self, text: str, start: int, end: int) -> list[tuple[int, int]]:
        """Return where in a part of a line the words stand."""
        if self.words is None:
            return []
        found = (hit.span() for hit in self.words.finditer(text, max(start - 200, 0), end + 200))
        return [(low, high) for low, high in found if low < end and high > start]


_Row: TypeAlias = tuple[int, int, OriginKind, bool, int | None, Level | None, Lights, int]
_KEPT_STRIPS = 200


class RowPainter:
    """Paints with the component classes `<prefix>--<kind>`, `--key`, `--mark`, `--cursor` and
    `--piece` of a widget, which it asks once for each style.
    """

    def __init__(self, widget: Widget, prefix: str) -> None:
        self._widget = widget
        self._prefix = prefix
        self._styles: dict[tuple[OriginKind, bool, bool], Style] = {}
        self._parts: dict[str, Style] = {}
        self._by_letter: bool | None = None
        """Whether letters tell the origins, since there is no colour; None: to be asked."""
        self._strips: OrderedDict[_Row, tuple[DrawnLine, Strip]] = OrderedDict()
        """The rows that were drawn last: most are drawn again as they were."""

    def forget(self) -> None:
        """Ask for all styles again: a theme or the focus changed."""
        self._styles.clear()
        self._parts.clear()
        self._by_letter = None
        self._strips.clear()

    def row(
        self,
        layout: Layout,
        spot: Spot,
        here: bool,
        piece: int | None,
        note: Level | None,
        lights: Lights,
    ) -> Strip:
        """Draw a row; `here` if the cursor is on it, `piece` to underline (None: the one that says
        most, -1: none), `note` for the mark in the gutter, `lights` for what is marked in it.
        """
        line = layout.line(spot)
        width = self._widget.size.width
        row = (id(line), spot.row, spot.owner.kind, here, piece, note, lights, width)
        kept = self._strips.get(row)
        if kept is None:
            # The line is kept with its strip, so that its id is not given to another.
            kept = line, self._paint(layout, spot, line, here, piece, note, lights)
            self._strips[row] = kept
            if len(self._strips) > _KEPT_STRIPS:
                self._strips.popitem(last=False)
        self._strips.move_to_end(row)
        return kept[1]

    def _paint(
        self,
        layout: Layout,
        spot: Spot,
        line: DrawnLine,
        here: bool,
        piece: int | None,
        note: Level | None,
        lights: Lights,
    ) -> Strip:
        start, end = line.slice(spot.row)
        runs = line.runs_in(start, end)
        main = main_run(runs, piece) if piece != -1 and len(runs) > 1 else None
        plain = self._style(OriginKind.GLUE, False, here)
        lit = [lights.lights(run) for run in runs]
        kind = bar_kind(runs, spot)
        segments = [
            Segment(self._bar(kind, any(lit)), self._style(kind, False, here)),
            Segment(" ", plain)
            if note is None
            else Segment(SYMBOLS[note], plain + self._part(f"note-{note}")),
            Segment(" " * layout.lead(spot), plain),
        ]
        hits = lights.hits(line.text, start, end)
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
            self._by_letter = without_colour(self._widget)
        if self._by_letter:
            return LETTERS[kind].upper() if is_lit else LETTERS[kind]
        return "▌" if is_lit else "▎"

    def _marked(
        self, text: str, start: int, end: int, hits: list[tuple[int, int]], style: Style
    ) -> Iterator[Segment]:
        """Yield a run, cut where hits begin and end."""
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

    def _run_style(self, run: Run, here: bool) -> Style:
        if run.marks:
            return self._style(run.piece.origin.kind, False, here) + self._part("mark")
        return self._style(kind_shown(run.piece), run.piece.is_key, here)

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
            if 0 < styles.background.a < 1:  # rich would take it as if nothing shone through
                ground = self._widget.background_colors[1] + styles.background
                known += Style(bgcolor=ground.rich_color)
            self._parts[name] = known
        return known
