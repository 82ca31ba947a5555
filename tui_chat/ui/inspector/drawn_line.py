"""A line of the payload as the screen draws it: hostile characters marked, runs by piece."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from tui_chat.models.json_tree import Str, Tree
from tui_chat.models.pretty import Piece, first_line
from tui_chat.models.text import GLUE
from tui_chat.ui.inspector.hostile import pieces as visible_pieces
from tui_chat.ui.inspector.wrap import ESCAPE

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
