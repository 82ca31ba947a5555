"""Selected text of a conversation, as it is copied.

The rows of a selection number the rows of the conversation by message and row, so that no
scrolling and no growing reply changes them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual.selection import Selection

from tui_chat.ui.widgets.block_view import LinePosition

if TYPE_CHECKING:
    from tui_chat.models.session import Entry
    from tui_chat.ui.chat.rows import Row

_ROWS_OF_MESSAGE = 1 << 30
_END = 1 << 62


def row_number(position: LinePosition) -> int:
    """Return the row of a selection, which no scrolling changes."""
    return position.block * _ROWS_OF_MESSAGE + position.line


def selected_text(
    selection: Selection,
    entries: Sequence[Entry],
    rows_of: Callable[[int], Sequence[Row]],
) -> str:
    """Return the selected text: whole messages as they were written, parts of them as drawn.

    `rows_of` returns the rows of a message. Wrapped rows are joined again, without the bars and
    indentation of wrapped rows and of code.
    """
    start_x, start = selection.start or (0, 0)
    end_x, end = selection.end or (_END, _END)
    size = _ROWS_OF_MESSAGE
    pieces: list[str] = []
    for index in range(start // size, min(end // size, len(entries) - 1) + 1):
        if (index * size, 0) >= (start, start_x) and (index + 1) * size <= end:
            pieces.append(entries[index].message.content)
            continue
        joined = ""
        for number, row in enumerate(rows_of(index)):
            at = row_number(LinePosition(index, number))
            if start <= at <= end:
                is_wrapped = row.joint is not None and bool(joined)
                first = start_x if at == start else 0
                if is_wrapped or row.ground:
                    first = max(first, row.margin)
                text = row.text[first : end_x if at == end else None]
                text = text if row.ground else text.rstrip()
                joined += f"{row.joint}{text}" if is_wrapped else f"\n{text}"
        pieces.append(joined.strip("\n"))
    return "\n\n".join(pieces)
