"""Draws a row of the body: the bar of its origin, the mark of a note, the colored text."""

from __future__ import annotations

from collections.abc import Iterator

from rich.segment import Segment
from textual.strip import Strip

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.envelope import Level
from tui_chat.models.text import Origin, OriginKind
from tui_chat.ui.inspector.drawn_row import (
    BodyRow,
    DrawnLine,
    DrawnRun,
    bar_kind,
    display_kind,
)
from tui_chat.ui.inspector.lines import SYMBOLS
from tui_chat.ui.inspector.origins import LETTERS
from tui_chat.ui.inspector.payload_layout import PayloadLayout
from tui_chat.ui.inspector.payload_places import (
    comes_from,
    find_rows,
    origin_rows,
    search_pattern,
)
from tui_chat.ui.widgets.component_styles import ComponentStyles

GUTTER = 3
"""Cells for a blank, the bar in the color of the origin, and the symbol of a note."""


@dataclass(frozen=True, slots=True)
class Highlights:
    """The highlights of the whole body."""

    origin: Origin | None = None
    """All text of this origin."""
    words: str = ""
    """All matches of these words."""

    def includes(self, run: DrawnRun) -> bool:
        """Return True if a run is of the highlighted origin."""
        return self.origin is not None and comes_from(run.piece.origin, self.origin)

    def hits(self, text: str, start: int, end: int) -> list[tuple[int, int]]:
        """Return the spans of the highlighted words in a part of a line."""
        if not self.words:
            return []
        hits = search_pattern(self.words).finditer(text, max(start - 200, 0), end + 200)
        return [hit.span() for hit in hits if hit.start() < end and hit.end() > start]

    def rows(self, layout: PayloadLayout) -> list[int]:
        """Return the rows on which something highlighted begins."""
        if self.words:
            return find_rows(layout, self.words)
        return [] if self.origin is None else origin_rows(layout, self.origin)


@dataclass(frozen=True, slots=True)
class RowLook:
    """The look of a row besides its text."""

    width: int
    lead: int
    """Cells before the text."""
    fold_mark: str
    """The mark in these cells; empty for none."""
    is_current: bool
    """True under the cursor."""
    note: Level | None
    """The level of its note."""
    highlights: Highlights
    by_letter: bool
    """True if letters stand for colors."""


def paint_row(spot: BodyRow, line: DrawnLine, look: RowLook, palette: ComponentStyles) -> Strip:
    """Draw a row. `palette` has the styles `<kind>`, `key`, `mark`, `cursor`, `lit`, `hit` and
    `note-<level>`.
    """
    start, end = line.slice(spot.row)
    runs = line.runs_in(start, end)
    lit = [look.highlights.includes(run) for run in runs]
    kind, ground = bar_kind(runs, spot), "cursor" if look.is_current else ""
    bar = "▌" if any(lit) or look.is_current else "▎"
    if look.by_letter:
        bar = LETTERS[kind].upper() if any(lit) else LETTERS[kind]
    plain = palette(OriginKind.GLUE, ground)
    segments = [
        Segment(" ", palette(OriginKind.GLUE)),
        Segment(bar, palette(kind, ground)),
        Segment(" ", plain)
        if look.note is None
        else Segment(SYMBOLS[look.note], palette(OriginKind.GLUE, ground, f"note-{look.note}")),
        Segment(_lead(look), plain),
    ]
    hits = look.highlights.hits(line.text, start, end)
    for run, is_lit in zip(runs, lit, strict=True):
        names = (
            "key" if run.piece.is_key and not run.marks else _color(run),
            "" if is_lit else ground,  # what is lit has its own ground
            "mark" if run.marks else "",
            "lit" if is_lit else "",
        )
        for low, high, is_hit in _divided(max(run.start, start), min(run.end, end), hits):
            style = palette(*names, "hit" if is_hit else "")
            segments.append(Segment(line.text[low:high], style))
    return Strip(segments).adjust_cell_length(look.width, plain)


def _lead(look: RowLook) -> str:
    if not look.fold_mark or not look.lead:
        return " " * look.lead
    return f"{look.fold_mark} ".rjust(look.lead) if look.lead > 1 else look.fold_mark


def _color(run: DrawnRun) -> OriginKind:
    return run.piece.origin.kind if run.marks else display_kind(run.piece)


def _divided(start: int, end: int, hits: list[tuple[int, int]]) -> Iterator[tuple[int, int, bool]]:
    """Yield the parts of a run, divided where hits begin and end, and whether each is a hit."""
    at = start
    for low, high in hits:
        low, high = max(low, at), min(high, end)
        if low < high:
            if at < low:
                yield at, low, False
            yield low, high, True
            at = high
    if at < end:
        yield at, end, False
