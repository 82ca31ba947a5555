"""The places of a payload's pieces, on their lines and in the body."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tui_chat.models.payload import COLON, LinePiece, Payload


class Region(NamedTuple):
    """A run of characters of one origin, in both forms of a payload."""

    line: int
    column: int
    """In characters, indent included."""
    byte: int
    """Offset of the same characters in the body."""
    piece: LinePiece


def regions(payload: Payload) -> Iterator[Region]:
    """Yield all regions in reading order."""
    byte = 0
    for number, line in enumerate(payload.lines):
        column = 2 * line.indent
        for piece in line.pieces:
            blank = 1 if piece is COLON else 0
            yield Region(number, column, byte, piece)
            column += len(piece.text)
            byte += len(piece.text.encode()) - blank
