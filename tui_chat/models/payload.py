"""A rendered request body: the exact bytes that are sent, and the lines in which it is read.

1. Both come from one tree and one escaping, so one cannot say what the other does not.
2. A region maps a run of characters on a line, and the same characters in the body, to their
   origin.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256

from tui_chat.models.json_tree import Tree, written
from tui_chat.models.pretty import COLON, Lines, Piece


@dataclass(frozen=True, slots=True)
class Region:
    """A run of characters of one origin, in both forms of the payload."""

    line: int
    """From 0."""
    column: int
    """From 0, in characters, indent included."""
    byte: int
    """Offset of the same characters in the body."""
    piece: Piece


class Payload:
    """A rendered request body. Made by `render`; compare by `body`."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    @cached_property
    def body(self) -> bytes:
        """The exact bytes that are sent."""
        return b"".join(written(self.tree))

    @cached_property
    def sha256(self) -> str:
        """Hex digest of the body."""
        return sha256(self.body).hexdigest()

    @property
    def lines(self) -> Lines:
        """The pretty text, line by line; lines are made when they are asked for."""
        return Lines(self.tree)

    @property
    def text(self) -> str:
        """The whole pretty text. Costs its length; the screen uses `lines`."""
        return "\n".join(line.text for line in self.lines)

    def regions(self) -> Iterator[Region]:
        """Walk all regions in reading order. Costs the payload's length."""
        byte = 0
        for number, line in enumerate(self.lines):
            column = 2 * line.indent
            for piece in line.pieces:
                blank = 1 if piece is COLON else 0
                yield Region(number, column, byte, piece)
                column += len(piece.text)
                byte += len(piece.text.encode()) - blank


def render(tree: Tree) -> Payload:
    """Render a tree: pure, and cheap until its parts are asked for."""
    return Payload(tree)
