"""Draws one row of the body: the bar of its origin, the indent, the text in its colours."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from tui_chat.model.text import OriginKind
from tui_chat.ui.inspector.drawn_line import Run
from tui_chat.ui.inspector.layout import Layout
from tui_chat.ui.inspector.looking import bar_kind, kind_shown, main_run

GUTTER = 2
"""The bar in the colour of the row's origin, and a blank."""


class RowPainter:
    """Paints with the component classes `<prefix>--<kind>`, `--key`, `--mark`, `--cursor` and
    `--piece` of a widget, which it asks once for each style.
    """

    def __init__(self, widget: Widget, prefix: str) -> None:
        self._widget = widget
        self._prefix = prefix
        self._styles: dict[tuple[OriginKind, bool, bool], Style] = {}

    def forget(self) -> None:
        """Ask for all styles again: a theme or the focus changed."""
        self._styles.clear()

    def row(self, layout: Layout, row: int, here: bool, pointed: bool, chosen: int | None) -> Strip:
        """Draw a row; `here` if the cursor is on it, `pointed` to underline the chosen piece."""
        spot = layout.spot(row)
        line = layout.line(spot)
        start, end = line.slice(spot.row)
        runs = line.runs_in(start, end)
        main = main_run(runs, chosen) if pointed and len(runs) > 1 else None
        plain = self._style(OriginKind.GLUE, False, here)
        segments = [
            Segment("▎ ", self._style(bar_kind(runs, spot), False, here)),
            Segment(" " * layout.lead(spot), plain),
        ]
        for run in runs:
            style = self._run_style(run, here)
            if main is not None and run.piece is main.piece:
                style += self._part("piece")
            segments.append(Segment(line.text[max(run.start, start) : min(run.end, end)], style))
        return Strip(segments).adjust_cell_length(self._widget.size.width, plain)

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
        return self._widget.get_component_rich_style(f"{self._prefix}--{name}", partial=True)
