"""What is under the cursor or the mouse: of a drawn row, the run, and what to tell of it."""

from __future__ import annotations

from dataclasses import dataclass

from rich.cells import cell_len

from tui_chat.models.pretty import Piece
from tui_chat.models.text import Origin, OriginKind
from tui_chat.ui.inspector.drawn_line import DrawnLine, Run
from tui_chat.ui.inspector.hostile import name_of
from tui_chat.ui.inspector.place import Spot


@dataclass(frozen=True, slots=True)
class Under:
    """What is under the cursor or the mouse."""

    origin: Origin
    owner: Origin
    """Of the innermost object around it that somebody made: its message."""
    pointer: str
    """The JSON pointer of its node."""
    line: int
    """Number of the pretty line, from 1."""
    hidden: str = ""
    """The name of the first hidden character on the row, empty where there is none."""


def under(spot: Spot, line: DrawnLine, run: Run | None, chosen: int | None) -> Under | None:
    """Tell of a run on a row; of None, what the cursor would be on."""
    start, end = line.slice(spot.row)
    runs = line.runs_in(start, end)
    run = run or main_run(runs, chosen)
    if run is None:
        return None
    marks = run if run.marks else next((other for other in runs if other.marks), None)
    hidden = name_of(line.text[max(marks.start, start) : marks.end]) if marks else ""
    return Under(run.piece.origin, spot.owner, spot.place.pointer, spot.line + 1, hidden)


def main_run(runs: list[Run], chosen: int | None) -> Run | None:
    """Return the run the cursor is on: the chosen one, else the first that somebody wrote."""
    if chosen is not None and chosen < len(runs):
        return runs[chosen]
    written = (run for run in runs if kind_shown(run.piece) is not OriginKind.GLUE)
    return next(written, runs[0] if runs else None)


def run_at(spot: Spot, line: DrawnLine, x: int) -> Run | None:
    """Return the run under a column, counted behind the indent; None beside the text."""
    start, end = line.slice(spot.row)
    if x < 0:
        return None
    for run in line.runs_in(start, end):
        x -= cell_len(line.text[max(run.start, start) : min(run.end, end)])
        if x < 0:
            return run
    return None


def kind_shown(piece: Piece) -> OriginKind:
    """Return the kind a piece is coloured as: keys and brackets stand back whatever
    they belong to.
    """
    if piece.is_key or (piece.start is None and piece.text in _PUNCTUATION):
        return OriginKind.GLUE
    return piece.origin.kind


_PUNCTUATION = frozenset(("{", "}", "[", "]", "{}", "[]"))


def bar_kind(runs: list[Run], spot: Spot) -> OriginKind:
    """Return the kind of a row's bar: of its text, else of the message around it."""
    for run in runs:
        kind = kind_shown(run.piece)
        if kind is not OriginKind.GLUE:
            return kind
    return spot.owner.kind
