"""The cursor in a laid-out body: a row and a piece on it; until the user moves it, the draft."""

from __future__ import annotations

from tui_chat.models.json_tree import Arr, Obj
from tui_chat.models.request_edit import json_pointer
from tui_chat.models.text import Origin
from tui_chat.ui.inspector.drawn_row import (
    BodyPosition,
    CursorTarget,
    DrawnRun,
    main_run,
    run_at,
    target_at,
)
from tui_chat.ui.inspector.payload_layout import PayloadLayout
from tui_chat.ui.inspector.payload_places import draft_row, position_at

MESSAGE_DEPTH = 2
"""The depth of messages in a body."""


class BodyCursor:
    """A place in a body, found again in each new layout."""

    def __init__(self) -> None:
        self.row = 0
        self.piece: int | None = None
        """Index of the piece under the cursor; None for the main one of the row."""
        self._place: BodyPosition | None = None

    @property
    def is_on_draft(self) -> bool:
        """True if the user has not moved it, or has returned to the draft."""
        return self._place is None

    def return_to_draft(self) -> None:
        """Stay on the draft from the next layout on."""
        self._place = self.piece = None

    def follow(self, layout: PayloadLayout) -> None:
        """Go to where its place is in another layout."""
        self.row = draft_row(layout) if self._place is None else layout.row_of(self._place)

    def put(self, layout: PayloadLayout, row: int, piece: int | None = None) -> None:
        """Put it on a row, or the nearest one."""
        self.row, self.piece = max(0, min(row, layout.rows - 1)), piece
        self._place = position_at(layout, self.row)

    def runs(self, layout: PayloadLayout) -> tuple[list[DrawnRun], DrawnRun | None]:
        """Return the runs of its row, and the one it is on."""
        spot, line = layout.seen(self.row)
        runs = line.runs_in(*line.slice(spot.row))
        return runs, main_run(runs, self.piece)

    def target(self, layout: PayloadLayout) -> CursorTarget | None:
        """Return what is under it."""
        return target_at(*layout.seen(min(self.row, layout.rows - 1)), None, self.piece)

    def source(self, layout: PayloadLayout) -> Origin | None:
        """Return the origin under it."""
        _, run = self.runs(layout)
        return run.piece.origin if run is not None else None

    def next_piece(self, layout: PayloadLayout, step: int) -> int | None:
        """Return the index of the next piece of the row that has another origin."""
        runs, here = self.runs(layout)
        if here is None:
            return None
        order = range(runs.index(here) + step, len(runs) if step > 0 else -1, step)
        return next((i for i in order if runs[i].piece.origin != here.piece.origin), None)

    def next_item(self, layout: PayloadLayout, step: int) -> int | None:
        """Return the row of the next message, or of the next key of the body."""
        steps, root = layout.spot(self.row).place.steps, layout.payload.tree
        if len(steps) >= MESSAGE_DEPTH and steps[1].key is None:
            array = steps[0].child
            index = steps[1].index + step
            if isinstance(array, Arr) and 0 <= index < len(array.items):
                return layout.row_at(json_pointer((steps[0].key or "", index)))
        if (
            isinstance(root, Obj)
            and steps
            and 0 <= (place := steps[0].index + step) < len(root.items)
        ):
            key, value = root.items[place]
            if isinstance(value, Arr) and value.items:
                index = 0 if step > 0 else len(value.items) - 1
                return layout.row_at(json_pointer((key, index)))
            return layout.row_at(json_pointer((key,)))
        return None


def target_under(layout: PayloadLayout, row: int, x: int) -> CursorTarget | None:
    """Return what is at a column of a row, counted from behind the gutter."""
    spot, line = layout.seen(row)
    return target_at(spot, line, run_at(spot, line, x - layout.lead(spot)), None)
