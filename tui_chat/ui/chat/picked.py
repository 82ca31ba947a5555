"""What the mouse has selected in the transcript.

Lines move as heights are corrected and replies grow, so a selection is not kept in lines of
the screen: its rows are numbered by message and line within it. Textual only compares them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Offset
from textual.selection import Selection
from textual.strip import Strip

from tui_chat.model.session import Entry
from tui_chat.ui.chat.lines import Line
from tui_chat.ui.chat.viewport import Place

_LINES = 1 << 16
_PARTS = 1 << 20
_END = 1 << 62


def row_of(place: Place) -> int:
    """Return the row's number, which no scrolling changes."""
    return (place.message * _PARTS + place.part) * _LINES + place.line


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
    """Return the selected text: messages selected whole as they were written, others as drawn."""
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
                    text = line.text[: end_x if row == end else None]
                    text = text[start_x if row == start else 0 :].rstrip()
                    made += f" {text.lstrip()}" if line.soft and made else f"\n{text}"
        pieces.append(made.strip("\n"))
    return "\n\n".join(pieces)


def _point(point: Offset | None, gutter: int) -> tuple[int, int] | None:
    return None if point is None else (point.y, max(point.x - gutter, 0))
