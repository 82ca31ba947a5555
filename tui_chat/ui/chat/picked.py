"""What the mouse has selected in the transcript.

Lines move as heights are corrected and replies grow, so a selection is not kept in lines of
the screen: its rows are numbered by message and line within it. Textual keeps the selection
and only compares rows; a column is a character of the drawn line, the gutter included.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Literal

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Offset
from textual.selection import Selection
from textual.strip import Strip

from tui_chat.models.session import Entry
from tui_chat.ui.chat.lines import Line
from tui_chat.ui.chat.viewport import Place

_LINES = 1 << 16
_PARTS = 1 << 20
_END = 1 << 62
_WORD = re.compile(r"[\w'’\-]+|[^\w\s]+|\s+")

Unit = Literal["character", "word", "line"]
"""What one, two and three presses of the button select by."""


def row_of(place: Place) -> int:
    """Return the row's number, which no scrolling changes."""
    return (place.message * _PARTS + place.part) * _LINES + place.line


def column_of(line: Line, cell: int, gutter: int) -> int:
    """Return the character that is at a cell of a drawn line."""
    text = line.text
    # Measured from the line's beginning: joined characters are narrower than each alone.
    for index in range(len(text)):
        if gutter + cell_len(text[: index + 1]) > cell:
            return gutter + index
    return gutter + len(text)


def unit_at(
    unit: Unit, place: Place, column: int, lines: Sequence[Line], gutter: int
) -> tuple[Offset, Offset]:
    """Return what a press selects: a character, the word it is of, or the whole line.

    A line is what its author wrote as one: lines it was wrapped to belong to it. `lines` are
    those of the place's part.
    """
    row = row_of(place)
    text, at = lines[place.line].text, column - gutter
    if unit == "character":
        end = at + 1
        while end < len(text) and cell_len(text[: end + 1]) == cell_len(text[:end]):
            end += 1
        return Offset(column, row), Offset(min(end, len(text)) + gutter, row)
    if unit == "word":
        for word in _WORD.finditer(text):
            if word.start() <= at < word.end():
                return Offset(word.start() + gutter, row), Offset(word.end() + gutter, row)
        return Offset(column, row), Offset(column, row)
    first = last = place.line
    while first and lines[first].joint is not None:
        first -= 1
    while last + 1 < len(lines) and lines[last + 1].joint is not None:
        last += 1
    return (
        Offset(gutter, row - place.line + first),
        Offset(gutter + len(lines[last].text), row - place.line + last),
    )


def between(one: tuple[Offset, Offset], other: tuple[Offset, Offset]) -> Selection:
    """Return what reaches from one unit to another, whichever is first."""
    ends = sorted((*one, *other), key=lambda offset: (offset.y, offset.x))
    return Selection(ends[0], ends[-1])


def marked(strip: Strip, span: tuple[int, int], ground: Style, gutter: int) -> Strip:
    """Draw the characters of the span on another ground; an end of -1 is the text's end."""
    text = strip.text
    start, end = span
    left = max(cell_len(text[:start]), gutter)
    right = max(cell_len(text.rstrip() if end == -1 else text[:end]), left)
    before, inside, after = strip.crop(0, left), strip.crop(left, right), strip.crop(right)
    chosen = [Segment(words, ink + ground if ink else ground) for words, ink, _ in inside]
    return Strip.join([before, Strip(chosen), after])


def text_of(
    selection: Selection,
    entries: Sequence[Entry],
    lines_of: Callable[[int], list[list[Line]]],
    gutter: int,
) -> str:
    """Return the selected text: messages selected whole as they were written, others as drawn.

    What was wrapped is put together again, and bars and indentation of wrapped lines and of
    code are left out.
    """
    start, start_x = _point(selection.start, gutter) or (0, 0)
    end, end_x = _point(selection.end, gutter) or (_END, _END)
    size = _PARTS * _LINES
    pieces: list[str] = []
    for index in range(start // size, min(end // size, len(entries) - 1) + 1):
        if (index * size, 0) >= (start, start_x) and (index + 1) * size <= end:
            pieces.append(entries[index].message.content)
            continue
        made = ""
        for part, lines in enumerate(lines_of(index)):
            for number, line in enumerate(lines):
                row = row_of(Place(index, part, number))
                if start <= row <= end:
                    goes_on = line.joint is not None and bool(made)
                    from_ = start_x if row == start else 0
                    if goes_on or line.fill:
                        from_ = max(from_, line.margin)
                    text = line.text[from_ : end_x if row == end else None]
                    text = text if line.fill else text.rstrip()
                    made += f"{line.joint}{text}" if goes_on else f"\n{text}"
        pieces.append(made.strip("\n"))
    return "\n\n".join(pieces)


def _point(point: Offset | None, gutter: int) -> tuple[int, int] | None:
    return None if point is None else (point.y, max(point.x - gutter, 0))
