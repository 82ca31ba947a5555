"""The one list widget: rows under a cursor, of which only the visible lines are rendered.

1. Rows are numbered from 0. Each takes `ROW_HEIGHT` lines, unless a list overrides `line_count`,
   `lines_of` and `row_at`, which map rows to lines and back.
2. A list renders one line in `draw_line`; nothing is rendered that is not in sight.
3. Every way to move the cursor ends in `set_cursor`, which scrolls it into view and then calls
   `cursor_moved`.
4. The mouse highlights the row under it. A click arrives in `row_clicked`.

The payload view and the transcript are not lists in this sense: their cursor is on a place in a
text, which survives a new layout.
"""

from __future__ import annotations

from typing import ClassVar

from rich.cells import cell_len, chop_cells
from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar
from textual.strip import Strip

from tui_chat.ui.widgets.component_styles import ComponentStyles, LazyComponents
from tui_chat.ui.widgets.thin_scroll import thin_scroll_bar, thin_scroll_css


class RowList(ScrollView, LazyComponents, can_focus=True, inherit_bindings=False):  # pyright: ignore[reportIncompatibleMethodOverride]  so in Textual
    """A scrolling list with a cursor.

    `palette` resolves the component classes `<prefix>--<name>` that the list declares.
    """

    ROW_HEIGHT: ClassVar[int] = 1
    """Lines of a row; also what a page is counted in."""
    EMPTY_INDENT: ClassVar[str] = "  "
    """What stands before each line of `empty_text`."""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home", "first", "Top", show=False),
        Binding("end", "last", "End", show=False),
    ]
    DEFAULT_CSS = thin_scroll_css("RowList")

    def __init__(self, prefix: str, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.cursor = 0
        """The row under the cursor."""
        self.hovered = -1
        """The row under the mouse; -1 for none."""
        self.empty_text = ""
        """Shown from the second line on if there are no rows; styled by the component `empty`."""
        self.palette = ComponentStyles(self, prefix)

    @property
    def vertical_scrollbar(self) -> ScrollBar:
        """The scroll bar."""
        return thin_scroll_bar(self)

    # What the list shows

    @property
    def row_count(self) -> int:
        """Number of rows."""
        raise NotImplementedError

    @property
    def line_count(self) -> int:
        """Number of lines of all rows."""
        return self.row_count * self.ROW_HEIGHT

    def lines_of(self, row: int) -> tuple[int, int]:
        """Return the first line of a row, and how many lines must be in sight with it."""
        return row * self.ROW_HEIGHT, self.ROW_HEIGHT

    def row_at(self, line: int) -> int:
        """Return the row that a line belongs to; -1 for none."""
        row = line // self.ROW_HEIGHT
        return row if 0 <= row < self.row_count else -1

    def draw_line(self, line: int, width: int) -> Strip:
        """Render a line; `line` may lie below the last."""
        raise NotImplementedError

    def row_after(self, row: int, step: int) -> int:
        """Return the row so many rows further; it need not exist."""
        return row + step

    def cursor_moved(self) -> None:
        """Called after the cursor was put on a row, possibly the same one."""

    def row_clicked(self, row: int, event: events.Click) -> None:
        """Called after a click on a row."""
        del event
        self.set_cursor(row)

    # Cursor and scrolling

    def set_cursor(self, row: int) -> None:
        """Put the cursor on a row, or the nearest one, and scroll it into view."""
        self.cursor = min(max(row, 0), max(self.row_count - 1, 0))
        self.scroll_to_cursor()
        self.refresh()
        self.cursor_moved()

    def scroll_to_cursor(self) -> None:
        """Scroll as little as needed for all lines of the cursor's row to be in sight."""
        height = self.scrollable_content_region.height
        if height <= 0 or not self.line_count:
            return
        top, (first, count) = self.scroll_offset.y, self.lines_of(self.cursor)
        if first < top:
            self.scroll_to(y=first, animate=False, force=True)
        elif first + count > top + height:
            self.scroll_to(y=first + count - height, animate=False, force=True)

    def update_extent(self) -> None:
        """Take over the number of lines, after it or the width changed."""
        self.virtual_size = Size(self.scrollable_content_region.width, self.line_count)

    def on_resize(self) -> None:
        """Keep the cursor in sight."""
        self.resized()

    def resized(self) -> None:
        """Called after the size changed. A hook, as Textual calls `on_resize` of every base too."""
        self.update_extent()
        self.scroll_to_cursor()

    # Rendering

    def notify_style_update(self) -> None:
        """Forget the styles of the old theme or focus."""
        super().notify_style_update()
        self.palette.clear()

    def render_line(self, y: int) -> Strip:
        """Render a line of the screen."""
        width = self.scrollable_content_region.width
        if self.line_count:
            return self.draw_line(self.scroll_offset.y + y, width)
        if not self.empty_text:
            return Strip.blank(width, self.palette())
        style, lines = self.palette("empty"), self.empty_text.split("\n")
        text = f"{self.EMPTY_INDENT}{lines[y - 1]}" if 0 < y <= len(lines) else ""
        return Strip([Segment(clipped(text, width), style)]).adjust_cell_length(width, style)

    def emphasis(self, row: int) -> str:
        """Return the style of a row's background: `cursor`, `hover` or nothing."""
        return "cursor" if row == self.cursor else "hover" if row == self.hovered else ""

    # Keys

    def action_move(self, step: int) -> None:
        """Move the cursor by rows."""
        self.set_cursor(self.row_after(self.cursor, step))

    def action_page(self, direction: int) -> None:
        """Move by a page, less one row that stays in sight."""
        rows = self.scrollable_content_region.height // self.ROW_HEIGHT - 1
        self.action_move(direction * max(rows, 1))

    def action_first(self) -> None:
        """Go to the first row."""
        self.set_cursor(0)

    def action_last(self) -> None:
        """Go to the last row."""
        self.set_cursor(self.row_count - 1)

    # Mouse

    def line_under(self, event: events.MouseEvent) -> int:
        """Return the line under the mouse; it need not exist."""
        return event.get_content_offset_capture(self).y + self.scroll_offset.y

    def on_click(self, event: events.Click) -> None:
        """Pass a click on."""
        self.line_clicked(self.line_under(event), event)

    def line_clicked(self, line: int, event: events.Click) -> None:
        """Called after a click on a line, of a row or not."""
        if (row := self.row_at(line)) >= 0:
            self.row_clicked(row, event)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Highlight the row under the mouse."""
        self._hover(self.row_at(self.line_under(event)))

    def on_leave(self) -> None:
        """Clear the highlight."""
        self._hover(-1)

    def _hover(self, row: int) -> None:
        if row != self.hovered:
            self.hovered = row
            self.refresh()


def clipped(text: str, width: int) -> str:
    """Cut a text to a width in cells, with one ellipsis."""
    if cell_len(text) <= width:
        return text
    return f"{chop_cells(text, width - 1)[0].rstrip('…')}…" if width > 1 else "…"[: max(width, 0)]
