"""Rows of a layout that one comes back to: the draft, what was at the top, the notes' places."""

from __future__ import annotations

from collections.abc import Sequence

from tui_chat.model.envelope import Note
from tui_chat.model.text import OriginKind
from tui_chat.ui.inspector.layout import Layout
from tui_chat.ui.inspector.place import Place, Spot


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


class NotePlaces:
    """Notes by their places. Found for the rows that are looked at; nothing is laid out anew when
    the rows move.
    """

    def __init__(self, notes: Sequence[Note] = ()) -> None:
        self.notes = notes
        self._at: dict[str, Note] = {}
        self._within: dict[str, Note] = {}
        """For each container the first note that is about something in it."""
        for note in notes:
            self._at.setdefault(note.place, note)
            around = note.place
            while around:
                self._within.setdefault(around, note)
                around = around.rpartition("/")[0]

    def at(self, spot: Spot) -> Note | None:
        """Return the worst note about what begins on a row, folded parts of it included."""
        if not self._within or spot.row or spot.place.part == "close":
            return None
        return (self._within if spot.folded else self._at).get(spot.place.pointer)
