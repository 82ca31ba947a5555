"""A line view of blocks that lay themselves out when they come into sight, like messages.

1. A position is a block and a line of it. The position of the top row is the truth; the scroll
   offset is computed from it.
2. What is on the screen is laid out, so its height is exact. Heights elsewhere may be estimates.
   Correcting an estimate above the screen changes the scroll offset and not the picture.
3. At the end, the viewport follows: the last line stays on the last row.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple, cast

from textual import events
from textual.geometry import Size
from textual.widget import Widget

from tui_chat.ui.widgets.line_view import VIRTUAL_SIZE, LineView

if TYPE_CHECKING:
    from textual.reactive import Reactive

    from tui_chat.ui.chat.rows import Row

WHEEL_LINES = 3
"""Lines that a notch of the mouse wheel scrolls."""

_SCROLL_Y = Widget.scroll_y
_SCROLL_TARGET_Y = cast("Reactive[float]", Widget.scroll_target_y)


class LinePosition(NamedTuple):
    """A line of a block."""

    block: int
    line: int


START = LinePosition(0, 0)


class Viewport:
    """A window of rows over blocks that are laid out when they come into sight."""

    def __init__(self, rows_of: Callable[[int], Sequence[Row]]) -> None:
        """`rows_of` returns the rows of a block, which it lays out."""
        self._rows_of = rows_of
        self._heights: list[int] = []
        self.top = START
        """The position of the first row."""
        self.rows: list[tuple[LinePosition, Row]] = []
        """The rows on the screen, from the top; fewer than `height` at the end."""
        self.height = 0
        """Rows of the screen."""
        self.follows = True
        """True while the end is kept in sight."""

    @property
    def total(self) -> int:
        """The lines of all blocks, partly estimated."""
        return sum(self._heights)

    @property
    def offset(self) -> int:
        """The lines above the screen, partly estimated."""
        return sum(self._heights[: self.top.block]) + self.top.line

    def load(
        self, heights: Sequence[int], *, keep: LinePosition | None = None, follows: bool = False
    ) -> None:
        """Show other blocks, from `keep` on; without it, or if it `follows`, follow the end."""
        self._heights = list(heights)
        self.follows = follows or keep is None
        self.top = keep or START

    def resize(self, heights: Sequence[int]) -> None:
        """Show the same blocks at another width; the first line stays about where it is."""
        if self.follows:
            self.load(heights)
            return
        block, line = self.top
        before = self._heights[block] if self._heights else 0
        self.load(heights, keep=self.top)
        if heights and line:
            self.top = LinePosition(block, line * len(self._exact(block)) // max(before, 1))

    def update_height(self, block: int) -> None:
        """Update the height of a block whose layout changed."""
        if block < len(self._heights):
            self._exact(block)

    def scroll(self, lines: int) -> None:
        """Scroll by lines, counted exactly: what is passed is laid out."""
        self.follows = False
        block, line = self.top
        line += lines
        while line < 0 and block:
            block -= 1
            line += len(self._exact(block))
        while line >= (size := len(self._exact(block))):
            if block + 1 == len(self._heights):
                line = max(size - 1, 0)
                break
            line -= size
            block += 1
        self.top = LinePosition(block, max(line, 0))
        self.lay_out()

    def jump(self, offset: int) -> None:
        """Go to a scroll offset far away, as near as the estimates allow."""
        self.follows = False
        starts = [0, *accumulate(self._heights)]
        block = max(min(bisect_right(starts, offset), len(self._heights)) - 1, 0)
        self.top = LinePosition(block, 0)
        if self._heights:
            self.scroll(max(min(offset - starts[block], len(self._exact(block)) - 1), 0))

    def reveal(self, block: int) -> None:
        """Put the first line of a block on the first row, or as high as the end allows."""
        self.follows = False
        self.top = LinePosition(block, 0)
        self.lay_out()

    def show(self, position: LinePosition) -> None:
        """Bring a line into sight, a third of the screen below the top if it was not."""
        if any(shown == position for shown, _ in self.rows):
            return
        self.top = position
        self.scroll(-self.height // 3)

    def lay_out(self, *, grows: bool = False) -> None:
        """Lay out what is on the screen. If the end `grows` beyond it, a third of the rows become
        free, so that the lines above them stand still until these are full.
        """
        self.rows = []
        if not self._heights or self.height <= 0:
            self.top = START
            return
        if self.top != START or not self.follows:
            self._fill()
        is_full = len(self.rows) == self.height
        if is_full and (not self.follows or self._is_at_end):
            self.follows = self._is_at_end
            return
        if self.follows and not is_full and len(self.rows) >= self.height * 2 // 3:
            return
        self.follows = True
        self.top = self._from_end(self.height)
        if grows and self.top != START:
            self.top = self._from_end(self.height - self.height // 3)
        self._fill()

    @property
    def _is_at_end(self) -> bool:
        block, line = self.rows[-1][0]
        return block + 1 == len(self._heights) and line + 1 == len(self._exact(block))

    def _fill(self) -> None:
        """Collect rows downward from the top."""
        self.rows = []
        block, line = self.top
        block = min(block, len(self._heights) - 1)
        line = min(line, max(len(self._exact(block)) - 1, 0))
        self.top = LinePosition(block, line)
        while block < len(self._heights) and len(self.rows) < self.height:
            lines = self._exact(block)
            for index in range(line, min(len(lines), line + self.height - len(self.rows))):
                self.rows.append((LinePosition(block, index), lines[index]))
            block, line = block + 1, 0

    def _from_end(self, need: int) -> LinePosition:
        """Return the position of the row that has so many rows from it to the end."""
        for block in range(len(self._heights) - 1, -1, -1):
            size = len(self._exact(block))
            if size >= need:
                return LinePosition(block, size - need)
            need -= size
        return START

    def _exact(self, block: int) -> Sequence[Row]:
        """Return a block's lines and correct its estimated height."""
        lines = self._rows_of(block)
        self._heights[block] = len(lines)
        return lines


class BlockView(LineView):
    """A line view that scrolls over blocks, and follows their end."""

    def __init__(self, rows_of: Callable[[int], Sequence[Row]], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._viewport = Viewport(rows_of)
        self._width = 0
        self._is_resizing = False

    @property
    def follows(self) -> bool:
        """True while the end is in sight, and kept there."""
        return self._viewport.follows

    def lay_out_width(self) -> Sequence[int]:
        """Lay the blocks out at another width, and return their heights."""
        raise NotImplementedError

    def moved(self) -> None:
        """Called after other lines may have come into sight."""

    # Drawing

    def lay_out(self, *, grows: bool = False) -> None:
        """Lay out what is in sight, and have the rows drawn that look otherwise."""
        if self._width:
            self._viewport.lay_out(grows=grows)
            self._update_scroll_bar()
            self.refresh_changed()

    # Scrolling

    def scroll_by(self, lines: int) -> None:
        """Scroll by lines, up if they are negative."""
        if self._viewport.total:
            self._viewport.scroll(lines)
            self.scrolled()

    def scrolled(self) -> None:
        """Draw what came into sight."""
        self._update_scroll_bar()
        self.refresh_changed()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Follow the scroll bar, and whatever else changes the scroll position."""
        delta = round(new_value) - round(old_value)
        if delta and self._viewport.total and not self._is_resizing:
            if abs(delta) <= 3 * self._viewport.height:
                self._viewport.scroll(delta)
            else:
                self._viewport.jump(round(new_value))
            self.scrolled()
        super().watch_scroll_y(old_value, self.scroll_y)

    def _on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._scroll_by_wheel(event, WHEEL_LINES)

    def _on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._scroll_by_wheel(event, -WHEEL_LINES)

    def _scroll_by_wheel(self, event: events.MouseEvent, lines: int) -> None:
        # In place of Textual's handlers, which scroll to an offset that may be an estimate.
        event.prevent_default()
        event.stop()
        self.scroll_by(lines)

    def _update_scroll_bar(self) -> None:
        # `set_reactive` sets the position without its watcher, which would scroll and lay out.
        view = self._viewport
        offset = float(view.offset)
        total = max(view.total, view.offset + view.height)  # the end may have free rows
        self.set_reactive(VIRTUAL_SIZE, Size(self._width, total))
        self.set_reactive(_SCROLL_Y, offset)
        self.set_reactive(_SCROLL_TARGET_Y, offset)
        bar = self.vertical_scrollbar
        bar.window_virtual_size, bar.window_size, bar.position = total, view.height, offset
        self.moved()

    def _size_updated(
        self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True
    ) -> bool:
        self._is_resizing = True  # a position clamped to the new size is no scrolling of the user
        changed = super()._size_updated(size, virtual_size, container_size, layout)
        self._is_resizing = False
        if self._viewport.total and round(self.scroll_y) != self._viewport.offset:
            self._update_scroll_bar()
        return changed

    def resized(self) -> None:
        """Lay out for another size; the first line stays in sight."""
        size = self.scrollable_content_region.size
        if size == (self._width, self._viewport.height):
            return
        self._viewport.height = size.height
        if size.width != self._width:
            self._width = size.width
            self._viewport.resize(self.lay_out_width())
        self._viewport.lay_out()
        self._update_scroll_bar()
