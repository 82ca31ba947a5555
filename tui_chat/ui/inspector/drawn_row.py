"""A row of the body: where it is in the payload, its drawn line, and what is under the cursor.

Hostile characters of a line are escaped; a run is a stretch of one piece that is drawn alike.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from typing import Literal

from rich.cells import cell_len

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.media import format_size
from tui_chat.models.payload import Arr, LinePiece, Obj, Str, Tree, first_line
from tui_chat.models.request_edit import json_pointer
from tui_chat.models.sanitize import character_name, exact_runs
from tui_chat.models.text import GLUE, Origin, OriginKind

Part = Literal["open", "close", "leaf"]

SYSTEM_KEYS = ("system", "systemInstruction", "system_instruction", "instructions")
"""Keys of a body that hold the system prompt apart from the messages."""


@dataclass(frozen=True, slots=True)
class PathStep:
    """A step from a container to one of its children."""

    index: int
    key: str | None
    child: Tree


@dataclass(frozen=True, slots=True)
class BodyPosition:
    """A character of the laid-out body, by the nodes around it; survives a new layout."""

    steps: tuple[PathStep, ...]
    part: Part = "leaf"
    offset: int = 0
    """Characters from the start of the drawn line."""

    @property
    def pointer(self) -> str:
        """The JSON pointer of its node."""
        return json_pointer(tuple(s.index if s.key is None else s.key for s in self.steps))


@dataclass(frozen=True, slots=True)
class BodyRow:
    """A row of a layout."""

    place: BodyPosition
    """The position of its first character."""
    line: int
    """Index of its line."""
    row: int
    """Index of the row in its line."""
    depth: int
    node: Tree
    """The child that the line shows; for opening and closing rows the container."""
    owner: Origin
    """Origin of the innermost container around it that is not of the protocol."""
    last: bool
    """True if no comma follows the node."""
    folded: int = 0
    """Number of lines folded behind it."""

    @property
    def hidden(self) -> str:
        """What is folded behind it, in words."""
        data = data_in(self.node) if self.folded else ""
        return f"{format_size(len(data))} of data, all sent" if data else f"{self.folded:,} lines"


_DATA_KEYS = (None, "data", "url", "image_url", "file_data")
"""Keys of what may be base64; None for elements."""
_DATA = re.compile(r"(?:data:[^,]{0,200},)?[A-Za-z0-9+/]{200}")
_LEAST_DATA = 1_000
"""Characters of base64 that are worth a fold."""
_FIRST = 8
"""Children that are looked at: a long conversation is an array, too."""


def data_in(node: Tree) -> str:
    """Return the base64 of a file among the first children of a node; empty for none."""
    children: Iterable[tuple[str | None, Tree]] = ()
    if isinstance(node, Obj):
        children = node.items[:_FIRST]
    elif isinstance(node, Arr):
        children = ((None, child) for child in node.items[:_FIRST])
    for key, child in children:
        text = child.text.plain if key in _DATA_KEYS and isinstance(child, Str) else ""
        if len(text) >= _LEAST_DATA and _DATA.match(text):
            return text
    return ""


SHOWN = 200_000
"""Characters laid out of a string; its end says how many more are sent."""


def drawn_pieces(node: Tree, key: str | None, last: bool) -> tuple[LinePiece, ...]:
    """Return the pieces of a node's first line as drawn: of a very long string only the beginning,
    because laying out 70 MB takes a minute.
    """
    if not isinstance(node, Str) or len(node.text) <= SHOWN:
        return first_line(node, key, last)
    more = len(node.text) - SHOWN
    words = f" ⋯ {more:,} more characters are sent and not shown here"
    return (*first_line(Str(node.text[:SHOWN]), key, last), LinePiece(words, GLUE))


@dataclass(frozen=True, slots=True)
class DrawnRun:
    """Characters of one piece that are drawn alike."""

    start: int
    """Characters from the start of the drawn line."""
    end: int
    piece: LinePiece
    marks: bool
    """True for escapes that stand for hostile characters."""


class DrawnLine:
    """A line as drawn, before it is cut into rows."""

    __slots__ = ("breaks", "depth", "head", "runs", "starts", "text")

    def __init__(self, pieces: tuple[LinePiece, ...], depth: int) -> None:
        runs: list[DrawnRun] = []
        texts: list[str] = []
        start = 0
        self.head = 0
        for piece in pieces:
            for text, marks in exact_runs(piece.text):
                texts.append(text)
                runs.append(DrawnRun(start, start + len(text), piece, marks))
                start += len(text)
            if piece.text == ": " and runs[0].piece.is_key and not self.head:
                self.head = start
        self.text = "".join(texts)
        """Without indent."""
        self.runs = runs
        self.starts = [run.start for run in runs]
        self.depth = depth
        self.breaks: list[int] = []
        """The starts of its second and later rows; set by the layout."""

    def slice(self, row: int) -> tuple[int, int]:
        """Return the start and end of a row."""
        start = self.breaks[row - 1] if row else 0
        return start, self.breaks[row] if row < len(self.breaks) else len(self.text)

    def runs_in(self, start: int, end: int) -> list[DrawnRun]:
        """Return the runs that overlap a slice."""
        first = max(bisect_right(self.starts, start) - 1, 0)
        last = first
        while last < len(self.runs) and self.runs[last].start < end:
            last += 1
        return self.runs[first:last]


@dataclass(frozen=True, slots=True)
class CursorTarget:
    """The piece under the cursor or the mouse."""

    origin: Origin
    owner: Origin
    """Origin of the message it is in."""
    pointer: str
    """The JSON pointer of its node."""
    line: int
    """Number of the line, from 1."""
    hidden: str = ""
    """Name of the first hidden character on the row; empty for none."""


def target_at(spot: BodyRow, line: DrawnLine, run: DrawnRun | None) -> CursorTarget | None:
    """Return what a run shows; without a run, what the cursor on the row is on."""
    start, end = line.slice(spot.row)
    runs = line.runs_in(start, end)
    run = run or main_run(runs)
    if run is None:
        return None
    marks = run if run.marks else next((other for other in runs if other.marks), None)
    hidden = character_name(line.text[max(marks.start, start) : marks.end]) if marks else ""
    return CursorTarget(run.piece.origin, spot.owner, spot.place.pointer, spot.line + 1, hidden)


def main_run(runs: list[DrawnRun]) -> DrawnRun | None:
    """Return the run the cursor is on: the first that is not of the protocol."""
    written = (run for run in runs if display_kind(run.piece) is not OriginKind.GLUE)
    return next(written, runs[0] if runs else None)


def run_at(spot: BodyRow, line: DrawnLine, x: int) -> DrawnRun | None:
    """Return the run at a column, counted from the indent; None beside the text."""
    start, end = line.slice(spot.row)
    if x < 0:
        return None
    for run in line.runs_in(start, end):
        x -= cell_len(line.text[max(run.start, start) : min(run.end, end)])
        if x < 0:
            return run
    return None


def display_kind(piece: LinePiece) -> OriginKind:
    """Return the kind that colors a piece: keys and brackets are the protocol's, whoever's object
    it is.
    """
    if piece.is_key or (piece.start is None and piece.text in _PUNCTUATION):
        return OriginKind.GLUE
    return piece.origin.kind


_PUNCTUATION = frozenset(("{", "}", "[", "]", "{}", "[]"))


def bar_kind(runs: list[DrawnRun], spot: BodyRow) -> OriginKind:
    """Return the kind that colors a row's bar: that of its text, else of its message."""
    for run in runs:
        kind = display_kind(run.piece)
        if kind is not OriginKind.GLUE:
            return kind
    return spot.owner.kind
