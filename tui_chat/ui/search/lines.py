"""Marked text, wrapped; whoever wrote it, it is safe to draw."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.cells import cell_len, chop_cells
from rich.segment import Segment
from rich.style import Style

from tui_chat.models.visible import visible

Piece = tuple[str, Style]
"""Text of one style."""


def marked(text: str, marks: Iterable[tuple[int, int]], plain: Style, mark: Style) -> list[Piece]:
    """Return a text in pieces, of which the marked ones (from, up to) look different."""
    pieces: list[Piece] = []
    at = 0
    for begin, end in marks:
        if not at <= begin < end <= len(text):
            continue
        pieces.append((visible(text[at:begin]), plain))
        pieces.append((visible(text[begin:end]), mark))
        at = end
    pieces.append((visible(text[at:]), plain))
    return [piece for piece in pieces if piece[0]]


def wrapped(pieces: Sequence[Piece], width: int, most: int | None = None) -> list[list[Segment]]:
    """Return lines of at most `width` cells, broken at spaces where there are some.

    Newlines break, too. With `most`, the last line says with an ellipsis that there is more.
    """
    lines: list[list[Segment]] = [[]]
    used = 0
    for word, style in _words(pieces):
        if word == "\n":
            lines.append([])
            used = 0
        else:
            length = cell_len(word)
            if used + cell_len(word.rstrip(" ")) > width and used:
                lines.append([])
                used = 0
            for part in chop_cells(word, max(width, 2)) if length > width else (word,):
                if used + cell_len(part.rstrip(" ")) > width:
                    lines.append([])
                    used = 0
                lines[-1].append(Segment(part, style))
                used += cell_len(part)
        if most is not None and len(lines) > most:
            kept = Segment.adjust_line_length(lines[most - 1], max(width - 1, 0), pad=False)
            return [*lines[: most - 1], [*kept, Segment("…", style)]]
    return lines


def _words(pieces: Iterable[Piece]) -> Iterable[Piece]:
    """Cut pieces behind each space, and wide text behind each character."""
    for text, style in pieces:
        begin = 0
        for at, char in enumerate(text):
            if char == "\n":
                if at > begin:
                    yield text[begin:at], style
                yield "\n", style
                begin = at + 1
            elif char in " \t" or char > "\u2e7f":
                yield text[begin : at + 1].replace("\t", "  "), style
                begin = at + 1
        if begin < len(text):
            yield text[begin:], style
