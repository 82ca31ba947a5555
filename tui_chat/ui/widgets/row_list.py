"""The one list widget: a line view of rows under a cursor.

1. Rows are numbered from 0; each takes one line.
2. A list renders one row in `draw_line`; nothing is rendered that is not in sight.
3. Every way to move the cursor ends in `set_cursor`, which scrolls it into view and then calls
   `cursor_moved`.
4. The mouse highlights the row under it. A click arrives in `row_clicked`.

The payload view and the transcript are no lists: their cursor is on a place in a text, which
survives a new layout.
"""

from __future__ import annotations

from typing import ClassVar

from rich.cells import cell_len, chop_cells
from rich.segment import Segment
from textual import events
from textual.binding import BindingType
from textual.strip import Strip

from tui_chat.ui.widgets.line_view import LineView
from tui_chat.ui.widgets.pane_key import MOVES, pane_key


class RowList(LineView):
    """A scrolling list with a cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        pane_key("up,k", "move(-1)", MOVES, "Up"),
        pane_key("down,j", "move(1)", MOVES, "Down"),
        pane_key("pageup", "page(-1)", MOVES, "Page up"),
        pane_key("pagedown", "page(1)", MOVES, "Page down"),
        pane_key("home", "first", MOVES, "Top"),
        pane_key("end", "last", MOVES, "End"),
    ]

    def __init__(self, prefix: str, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(prefix, id=id, classes=classes)
        self.cursor = 0
        """The row under the cursor."""
        self.hovered = -1
        """The row under the mouse; -1 for none."""
        self.empty_text = ""
        """Shown from the second line on if there are no rows; styled by the component `empty`."""

    # What the list shows

    @property
    def row_count(self) -> int:
        """Number of rows."""
        raise NotImplementedError

    def row_at(self, line: int) -> int:
        """Return the row on a line; -1 for none."""
        return line if 0 <= line < self.row_count else -1

    def draw_line(self, line: int, width: int) -> Strip:
        """Render the row on a line, which may lie below the last."""
        raise NotImplementedError

    def row_after(self, row: int, step: int) -> int:
        """Return the row so many rows further; it need not exist."""
        return row + step

    def cursor_moved(self) -> None:
        """Called after the cursor was put on a row, possibly the same one."""

    def row_clicked(self, row: int, event: events.Click) -> None:
        """Called after a click on a row."""
        self.set_cursor(row)

    # Cursor and scrolling

    def set_cursor(self, row: int) -> None:
        """Put the cursor on a row, or the nearest one, and scroll it into view."""
        self.cursor = min(max(row, 0), max(self.row_count - 1, 0))
        self.scroll_to_cursor()
        self.refresh_changed()
        self.cursor_moved()

    def scroll_to_cursor(self) -> None:
        """Scroll as little as needed for the cursor's row to be in sight."""
        if self.row_count:
            self.bring_into_sight(self.cursor)

    def update_extent(self) -> None:
        """Take over the number of rows, after it changed."""
        self.set_extent(self.row_count)

    def resized(self) -> None:
        self.update_extent()
        self.scroll_to_cursor()

    # Drawing

    def draw_row(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        if self.row_count:
            return self.draw_line(self.scroll_offset.y + y, width)
        if not self.empty_text:
            return Strip.blank(width, self.palette())
        style, lines = self.palette("empty"), self.empty_text.split("\n")
        text = f" {lines[y - 1]}" if 0 < y <= len(lines) else ""
        return Strip([Segment(clipped(text, width), style)]).adjust_cell_length(width, style)

    def emphasis(self, row: int) -> str:
        """Return the style of a row's background: `cursor`, `hover` or nothing."""
        return "cursor" if row == self.cursor else "hover" if row == self.hovered else ""

    # Keys

    def action_move(self, step: int) -> None:
        self.set_cursor(self.row_after(self.cursor, step))

    def action_page(self, direction: int) -> None:
        """Move by a page, less one row that stays in sight."""
        self.action_move(direction * max(self.scrollable_content_region.height - 1, 1))

    def action_first(self) -> None:
        self.set_cursor(0)

    def action_last(self) -> None:
        self.set_cursor(self.row_count - 1)

    # Mouse

    def on_click(self, event: events.Click) -> None:
        self.line_clicked(self.line_under(event), event)

    def line_clicked(self, line: int, event: events.Click) -> None:
        """Called after a click on a line, of a row or not."""
        if (row := self.row_at(line)) >= 0:
            self.row_clicked(row, event)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        self._hover(self.row_at(self.line_under(event)))

    def on_leave(self) -> None:
        self._hover(-1)

    def _hover(self, row: int) -> None:
        if row != self.hovered:
            self.hovered = row
            self.refresh_changed()


def clipped(text: str, width: int) -> str:
    """Cut a text to a width in cells, with one ellipsis."""
    if cell_len(text) <= width:
        return text
    return f"{chop_cells(text, width - 1)[0].rstrip('…')}…" if width > 1 else "…"[: max(width, 0)]
