"""Selected text of a conversation: what the mouse selects there, and what is copied of it.

The rows of a selection number the lines of the conversation by message, part and line, so that no
scrolling and no growing reply changes them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual.geometry import Offset
from textual.selection import Selection

from tui_chat.ui.widgets.block_view import LinePosition
from tui_chat.ui.widgets.mouse_selection import Span, Unit, unit_in

if TYPE_CHECKING:
    from tui_chat.models.session import Entry
    from tui_chat.ui.chat.text_lines import TextLine

_LINES_OF_PART = 1 << 16
_PARTS_OF_MESSAGE = 1 << 20
_END = 1 << 62


def row_number(position: LinePosition) -> int:
    """Return the row of a line in a selection, which no scrolling changes."""
    return (position.block * _PARTS_OF_MESSAGE + position.part) * _LINES_OF_PART + position.line


def unit_at(unit: Unit, position: LinePosition, column: int, lines: Sequence[TextLine]) -> Span:
    """Return what a press selects: a character, its word, or the whole line.

    A line is what the author wrote as one, wrapped or not. `lines` are those of the part.
    """
    row = row_number(position)
    if unit != "line":
        start, end = unit_in(unit, lines[position.line].text, column)
        return Offset(start, row), Offset(end, row)
    first = last = position.line
    while first and lines[first].joint is not None:
        first -= 1
    while last + 1 < len(lines) and lines[last + 1].joint is not None:
        last += 1
    return (
        Offset(0, row - position.line + first),
        Offset(len(lines[last].text), row - position.line + last),
    )


def selected_text(
    selection: Selection,
    entries: Sequence[Entry],
    lines_of: Callable[[int], list[list[TextLine]]],
) -> str:
    """Return the selected text: whole messages as they were written, parts of them as drawn.

    `lines_of` returns the lines of each part of a message. Wrapped lines are joined again,
    without the bars and indentation of wrapped lines and of code.
    """
    start_x, start = selection.start or (0, 0)
    end_x, end = selection.end or (_END, _END)
    size = _PARTS_OF_MESSAGE * _LINES_OF_PART
    pieces: list[str] = []
    for index in range(start // size, min(end // size, len(entries) - 1) + 1):
        if (index * size, 0) >= (start, start_x) and (index + 1) * size <= end:
            pieces.append(entries[index].message.content)
            continue
        joined = ""
        for part, lines in enumerate(lines_of(index)):
            for number, line in enumerate(lines):
                if line.is_space:
                    continue
                row = row_number(LinePosition(index, part, number))
                if start <= row <= end:
                    is_wrapped = line.joint is not None and bool(joined)
                    first = start_x if row == start else 0
                    if is_wrapped or line.fill:
                        first = max(first, line.margin)
                    text = line.text[first : end_x if row == end else None]
                    text = text if line.fill else text.rstrip()
                    joined += f"{line.joint}{text}" if is_wrapped else f"\n{text}"
        pieces.append(joined.strip("\n"))
    return "\n\n".join(pieces)
