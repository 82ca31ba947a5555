"""Text with marked places, as pieces of one style each, and wrapped into lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.cells import cell_len, chop_cells
from rich.segment import Segment
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


def wrapped(pieces: Sequence[Piece], width: int, most: int | None = None) -> list[list[Segment]]:
    """Return lines of at most `width` cells, broken at line breaks and preferably at spaces.

    With `most`, later lines are cut off and the last one ends in an ellipsis.
    """
    lines: list[list[Segment]] = [[]]
    used = 0
    for word, style in _split(pieces):
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


def _split(pieces: Iterable[Piece]) -> Iterable[Piece]:
    """Split pieces after each space, and wide text after each character."""
    for text, style in pieces:
        begin = 0
        for index, char in enumerate(text):
            if char == "\n":
                if index > begin:
                    yield text[begin:index], style
                yield "\n", style
                begin = index + 1
            elif char in " \t" or char > "\u2e7f":
                yield text[begin : index + 1].replace("\t", "  "), style
                begin = index + 1
        if begin < len(text):
            yield text[begin:], style
