"""Text with marked places, as pieces of one style each."""

from __future__ import annotations

from collections.abc import Iterable

from rich.style import Style

from tui_chat.models.sanitize import sanitize

Piece = tuple[str, Style]
"""Text of one style."""


def marked(text: str, marks: Iterable[tuple[int, int]], plain: Style, mark: Style) -> list[Piece]:
    """Return a text in pieces; those in `marks` (start, end) have the style `mark`."""
    pieces: list[Piece] = []
    end_before = 0
    for begin, end in marks:
        if not end_before <= begin < end <= len(text):
            continue
        pieces.append((sanitize(text[end_before:begin]), plain))
        pieces.append((sanitize(text[begin:end]), mark))
        end_before = end
    pieces.append((sanitize(text[end_before:]), plain))
    return [piece for piece in pieces if piece[0]]
