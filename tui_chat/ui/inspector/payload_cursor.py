"""The cursor in a laid-out body: a row; until the user moves it, that of the draft."""

from __future__ import annotations

from tui_chat.models.text import Origin
from tui_chat.ui.inspector.drawn_row import (
    BodyPosition,
    CursorTarget,
    run_at,
    target_at,
)
from tui_chat.ui.inspector.payload_layout import PayloadLayout
from tui_chat.ui.inspector.payload_places import draft_row, position_at


class BodyCursor:
    """A place in a body, found again in each new layout."""

    def __init__(self) -> None:
        self.row = 0
        self._place: BodyPosition | None = None

    @property
    def is_on_draft(self) -> bool:
        """True if the user has not moved it, or has returned to the draft."""
        return self._place is None

    def return_to_draft(self) -> None:
        """Stay on the draft from the next layout on."""
        self._place = None

    def follow(self, layout: PayloadLayout) -> None:
        """Go to where its place is in another layout."""
        self.row = draft_row(layout) if self._place is None else layout.row_of(self._place)

    def put(self, layout: PayloadLayout, row: int) -> None:
        """Put it on a row, or the nearest one."""
        self.row = max(0, min(row, layout.rows - 1))
        self._place = position_at(layout, self.row)

    def target(self, layout: PayloadLayout) -> CursorTarget | None:
        """Return what is under it."""
        return target_at(*layout.seen(min(self.row, layout.rows - 1)), None)

    def source(self, layout: PayloadLayout) -> Origin | None:
        """Return the origin under it."""
        target = self.target(layout)
        return target.origin if target is not None else None


def target_under(layout: PayloadLayout, row: int, x: int) -> CursorTarget | None:
    """Return what is at a column of a row, counted from behind the gutter."""
    spot, line = layout.seen(row)
    return target_at(spot, line, run_at(spot, line, x - layout.lead(spot)))
