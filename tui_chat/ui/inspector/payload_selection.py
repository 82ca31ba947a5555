"""Selected text of a laid-out body: what the mouse selects, and what is copied of it.

The rows of a selection are rows of the layout, its columns characters of a row's text.
"""

from __future__ import annotations

import re

from textual.geometry import Offset
from textual.selection import Selection

from tui_chat.ui.inspector.payload_layout import PayloadLayout
from tui_chat.ui.inspector.row_wrapping import ESCAPE
from tui_chat.ui.widgets.mouse_selection import Span, Unit, column_at, unit_in

_WORDS = re.compile(rf"{ESCAPE.pattern}|[\w'’\-]+|[^\w\s\\]+|\s+")
"""An escape is no part of the word behind it."""


def unit_at(layout: PayloadLayout, unit: Unit, row: int, x: int) -> Span:
    """Return what a press on a row selects, `x` cells behind the gutter: a character, its word, or
    the line, wrapped or not.
    """
    spot, line = layout.seen(row)
    if unit == "line":
        last = len(line.breaks)
        start, end = line.slice(last)
        return Offset(0, row - spot.row), Offset(end - start, row - spot.row + last)
    start, end = line.slice(spot.row)
    text = line.text[start:end]
    column = column_at(text, x - layout.lead(spot))
    first, after = unit_in(unit, text, column, _WORDS)
    return Offset(first, row), Offset(after, row)


def selected_text(layout: PayloadLayout, selection: Selection) -> str:
    """Return the selected text as it is drawn; lines that were wrapped are one again."""
    first = selection.start or Offset(0, 0)
    last = selection.end or Offset(len(layout.payload.body), layout.rows - 1)
    pieces: list[str] = []
    for row in range(first.y, min(last.y, layout.rows - 1) + 1):
        spot, line = layout.seen(row)
        start, end = line.slice(spot.row)
        end = min(end, start + last.x) if row == last.y else end
        start += first.x if row == first.y else 0
        indent = "" if row == first.y else "\n" + " " * layout.lead(spot)
        pieces += "" if spot.row else indent, line.text[start:end]
    return "".join(pieces)
