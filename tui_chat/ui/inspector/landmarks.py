"""Rows of a layout that one comes back to: the draft, what was at the top, the notes' places."""

from __future__ import annotations

from collections.abc import Sequence

from tui_chat.model.envelope import Note
from tui_chat.model.text import OriginKind
from tui_chat.ui.inspector.layout import Layout
from tui_chat.ui.inspector.place import Place

MOST_NOTES = 200
"""Notes that are marked at their lines."""


def home_row(layout: Layout) -> int:
    """Return the row of the draft's end; without one, of the newest message; else the last."""
    for kind in (OriginKind.DRAFT, OriginKind.HISTORY):
        row = layout.last_row(kind)
        if row is not None:
            return row
    return layout.rows - 1


def place_at(layout: Layout, row: int) -> Place | None:
    """Return what a row begins with, so that it is found in a later layout; None outside."""
    if not 0 <= row < layout.rows:
        return None
    spot = layout.spot(row)
    if spot.place.part != "leaf":
        return spot.place
    offset = layout.line(spot).slice(spot.row)[0]
    return Place(spot.place.steps, "leaf", offset)


def note_rows(layout: Layout, notes: Sequence[Note]) -> dict[int, Note]:
    """Return the notes that have a place in the body, the worst of each row."""
    rows: dict[int, Note] = {}
    for note in notes[:MOST_NOTES]:
        row = layout.row_at(note.place) if note.place else None
        if row is not None:
            rows.setdefault(row, note)
    return rows
