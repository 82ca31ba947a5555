"""A line of the payload as the screen draws it: hostile characters marked, runs by piece."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import Literal

from rich.cells import cell_len

from tui_chat.models.json_tree import Str, Tree
from tui_chat.models.pretty import Piece, first_line
from tui_chat.models.text import GLUE, Origin, OriginKind
from tui_chat.ui.inspector.hostile import name_of
from tui_chat.ui.inspector.hostile import pieces as visible_pieces
from tui_chat.ui.inspector.row_wrapping import ESCAPE

Part = Literal["open", "close", "leaf"]


@dataclass(frozen=True, slots=True)
class Step:
    """A way down from a container to one of its children."""

    index: int
    key: str | None
    child: Tree


@dataclass(frozen=True, slots=True)
class Place:
    """A character of the pretty text, by the nodes around it."""

    steps: tuple[Step, ...]
    part: Part = "leaf"
    offset: int = 0
    """In characters of the line as drawn."""

    @property
    def pointer(self) -> str:
        """The node it is in, as a JSON pointer."""
        names = (str(s.index) if s.key is None else _escaped(s.key) for s in self.steps)
        return "".join(f"/{name}" for name in names)


@dataclass(frozen=True, slots=True)
class Spot:
    """What a row shows."""

    place: Place
    """Its first character."""
    line: int
    """The number of the pretty line, from 0."""
    row: int
    """Which of the line's rows it is, from 0."""
    depth: int
    node: Tree
    """The child the line belongs to; for opening and closing rows the container."""
    owner: Origin
    """Of the innermost container around it that somebody made."""
    last: bool
    """Whether no comma follows the node."""
    folded: int = 0
    """How many lines are folded away behind it."""


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


SHOWN = 200_000
"""Characters of a string that are laid out; how many more are sent is said at its end."""


def opening_line(node: Tree, key: str | None, last: bool) -> tuple[Piece, ...]:
    """Return the pieces of a node's first line as they are drawn: of a very long string only its
    beginning, since laying out 70 MB takes a minute.
    """
    if not isinstance(node, Str) or len(node.text) <= SHOWN:
        return first_line(node, key, last)
    more = len(node.text) - SHOWN
    words = f" ⋯ {more:,} more characters are sent and not shown here"
    return (*first_line(Str(node.text[:SHOWN]), key, last), Piece(words, GLUE))


@dataclass(frozen=True, slots=True)
class Run:
    """Characters of one piece that are drawn alike."""

    start: int
    """In characters of the drawn line."""
    end: int
    piece: Piece
    marks: bool
    """Whether they are marks that stand for characters one must not draw."""


class DrawnLine:
    """The line as drawn, before it is cut into rows."""

    __slots__ = ("breaks", "depth", "head", "runs", "starts", "text")

    def __init__(self, pieces: tuple[Piece, ...], depth: int) -> None:
        runs: list[Run] = []
        texts: list[str] = []
        at = 0
        self.head = 0
        for piece in pieces:
            for text, marks in visible_pieces(piece.text):
                texts.append(text)
                runs.append(Run(at, at + len(text), piece, marks))
                at += len(text)
            if piece.text == ": " and runs[0].piece.is_key and not self.head:
                self.head = at
        self.text = "".join(texts)
        """Without indent."""
        self.runs = runs
        self.starts = [run.start for run in runs]
        self.depth = depth
        self.breaks: list[int] = []
        """Where its second and later rows begin; filled in by the layout."""

    def slice(self, row: int) -> tuple[int, int]:
        """Return the characters a row holds, from and to."""
        start = self.breaks[row - 1] if row else 0
        return start, self.breaks[row] if row < len(self.breaks) else len(self.text)

    def runs_in(self, start: int, end: int) -> list[Run]:
        """Return the runs that reach into a slice."""
        first = max(bisect_right(self.starts, start) - 1, 0)
        last = first
        while last < len(self.runs) and self.runs[last].start < end:
            last += 1
        return self.runs[first:last]

    def source_offset(self, run: Run, at: int) -> int | None:
        """Return which character of the origin's own text stands at `at`; None where the
        characters are not quoted from there.
        """
        if run.piece.start is None:
            return None
        first = next(other.start for other in self.runs if other.piece is run.piece)
        # An escape or a mark stands for one character.
        return run.piece.start + len(ESCAPE.sub("x", self.text[first:at]))


@dataclass(frozen=True, slots=True)
class CursorTarget:
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


def under(spot: Spot, line: DrawnLine, run: Run | None, chosen: int | None) -> CursorTarget | None:
    """Tell of a run on a row; of None, what the cursor would be on."""
    start, end = line.slice(spot.row)
    runs = line.runs_in(start, end)
    run = run or main_run(runs, chosen)
    if run is None:
        return None
    marks = run if run.marks else next((other for other in runs if other.marks), None)
    hidden = name_of(line.text[max(marks.start, start) : marks.end]) if marks else ""
    return CursorTarget(run.piece.origin, spot.owner, spot.place.pointer, spot.line + 1, hidden)


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
