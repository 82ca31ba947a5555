"""A line view of blocks that lay themselves out when they come into sight, like messages.

1. A position is a block, a part of it, and a line of that part. The position of the top row is
   the truth; the scroll offset is computed from it.
2. What is on the screen is laid out, so its height is exact. Heights elsewhere may be estimates.
   Correcting an estimate above the screen changes the scroll offset and not the picture.
3. At the end, the viewport follows: the last line stays on the last row.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from math import ceil
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar, cast

from textual import events
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

from tui_chat.ui.widgets.line_view import VIRTUAL_SIZE, LineView

if TYPE_CHECKING:
    from textual.reactive import Reactive

WHEEL_LINES = 3
"""Lines that a notch of the mouse wheel scrolls."""

_SCROLL_Y = Widget.scroll_y
_SCROLL_TARGET_Y = cast("Reactive[float]", Widget.scroll_target_y)


class Line(Protocol):
    """A line of a part."""

    @property
    def text(self) -> str:
        """Its characters."""
        ...


LineT_co = TypeVar("LineT_co", bound=Line, covariant=True)
LineT = TypeVar("LineT", bound=Line)


class BlockPart(Protocol):
    """Some lines of a block."""

    @property
    def height(self) -> int:
        """Their number; an estimate until they were looked at."""
        ...


class Block(Protocol[LineT_co]):
    """An item that lays itself out at a width, part by part."""

    @property
    def parts(self) -> Sequence[BlockPart]:
        """Its parts, from top to bottom."""
        ...

    @property
    def height(self) -> int:
        """The sum of the heights of its parts."""
        ...

    def lines(self, part: int) -> Sequence[LineT_co]:
        """Return a part's lines, and make its height exact."""
        ...


_SUMMED = 32
"""Heights that are summed together."""


class HeightSums:
    """Changeable heights of many blocks: where each begins, and which one is at a line.

    Sums are kept for groups of heights. Building them all at every change of width is one pass of
    additions; changing one height touches one sum; a lookup walks the sums and then one group.
    """

    def __init__(self, heights: Sequence[int] = ()) -> None:
        self._heights = list(heights)
        self._sums = [
            sum(self._heights[start : start + _SUMMED]) for start in range(0, len(heights), _SUMMED)
        ]
        self.total = sum(self._sums)
        """All lines."""

    def __len__(self) -> int:
        return len(self._heights)

    def set(self, index: int, height: int) -> None:
        """Change one height."""
        change = height - self._heights[index]
        self._heights[index] = height
        self._sums[index // _SUMMED] += change
        self.total += change

    def before(self, index: int) -> int:
        """Return the line at which a block begins."""
        group = index // _SUMMED
        return sum(self._sums[:group]) + sum(self._heights[group * _SUMMED : index])

    def find(self, line: int) -> tuple[int, int]:
        """Return the block at a line and the lines above it in that block; clamped."""
        line = min(max(line, 0), max(self.total - 1, 0))
        index = 0
        for size in self._sums:
            if line < size:
                break
            line -= size
            index += _SUMMED
        for size in self._heights[index : index + _SUMMED]:
            if line < size:
                return index, line
            line -= size
            index += 1
        return max(len(self._heights) - 1, 0), 0


class LinePosition(NamedTuple):
    """A line of a block."""

    block: int
    part: int
    line: int


START = LinePosition(0, 0, 0)


def share_above(lines: Sequence[Line], line: int) -> float:
    """Return the share of a part's text that is above a line, from 0 to 1."""
    return sum(len(each.text) for each in lines[:line]) / (sum(len(i.text) for i in lines) or 1)


def line_at(lines: Sequence[Line], share: float) -> int:
    """Return the line of a part with that share of its text above it, or the one before."""
    ends = list(accumulate(len(each.text) for each in lines))
    return min(bisect_right(ends, share * ends[-1] + 1e-6), len(lines) - 1) if ends else 0


class Viewport(Generic[LineT]):
    """A window of rows over blocks that are laid out when they come into sight."""

    def __init__(self, block_at: Callable[[int], Block[LineT]]) -> None:
        self._block_at = block_at
        self._heights = HeightSums()
        self._top = START
        self.rows: list[tuple[LinePosition, LineT]] = []
        """The rows on the screen, from the top; fewer than `height` at the end."""
        self.height = 0
        """Rows of the screen."""
        self.follows = True
        """True while the end is kept in sight."""
        self._kept = START, 0.0
        """The top row at the last change of width, and the share of its part's text above it."""

    @property
    def total(self) -> int:
        """The lines of all blocks, partly estimated."""
        return self._heights.total

    @property
    def offset(self) -> int:
        """The lines above the screen, partly estimated."""
        if not len(self._heights):
            return 0
        top = self._top
        shown = self._block_at(top.block)
        if top.part > len(shown.parts) // 2:
            above = shown.height - sum(part.height for part in shown.parts[top.part :])
        else:
            above = sum(part.height for part in shown.parts[: top.part])
        return self._heights.before(top.block) + above + top.line

    @property
    def top(self) -> LinePosition:
        """The position of the first row."""
        return self._top

    def load(self, heights: Sequence[int], *, keep: LinePosition | None = None) -> None:
        """Show other blocks, from `keep` on; without it, follow the end."""
        self._heights = HeightSums(heights)
        self.follows = keep is None
        self._top = keep or START

    def load_width(self, lay_out: Callable[[], Sequence[int]]) -> None:
        """Show the same text at another width, which `lay_out` sets; it returns the heights."""
        block, part, line = self._top
        is_loaded = len(self._heights) > 0
        if self._top != self._kept[0]:  # else no rounding adds up while a border moves
            is_within = is_loaded and line and not self.follows
            lines = self._block_at(block).lines(part) if is_within else ()
            self._kept = self._top, share_above(lines, line)
        heights, share = lay_out(), self._kept[1]
        line = line_at(self._block_at(block).lines(part), share) if share else 0
        keep = None if self.follows else LinePosition(block, part, line)
        self._kept = keep or START, share
        self.load(heights, keep=keep)

    def update_height(self, block: int) -> None:
        """Update the height of a block whose layout changed."""
        if block < len(self._heights):
            self._heights.set(block, self._block_at(block).height)

    def scroll(self, lines: int) -> None:
        """Scroll by lines, counted exactly: what is passed is laid out."""
        self.follows = False
        block, part, line = self._top
        line += lines
        while line < 0 and (before := self._beside(block, part, -1)):
            block, part = before
            line += len(self._exact(block, part))
        while line >= (size := len(self._exact(block, part))):
            after = self._beside(block, part, 1)
            if after is None:
                line = max(size - 1, 0)
                break
            line -= size
            block, part = after
        self._top = LinePosition(block, part, max(line, 0))
        self.lay_out()

    def jump(self, offset: int) -> None:
        """Go to a scroll offset far away, as near as the estimates allow."""
        self.follows = False
        block, line = self._heights.find(offset)
        parts = self._block_at(block).parts if len(self._heights) else ()
        part = 0
        while part < len(parts) - 1 and line >= parts[part].height:
            line -= parts[part].height
            part += 1
        if parts:
            line = min(line, max(len(self._exact(block, part)) - 1, 0))
        self._top = LinePosition(block, part, line)
        self.lay_out()

    def reveal(self, block: int) -> None:
        """Put the first line of a block on the first row, or as high as the end allows."""
        self.follows = False
        self._top = LinePosition(block, 0, 0)
        self.lay_out()

    def show(self, position: LinePosition) -> None:
        """Bring a line into sight, a third of the screen below the top if it was not."""
        if any(shown == position for shown, _ in self.rows):
            return
        self._top = position
        self.scroll(-self.height // 3)

    def lay_out(self) -> None:
        """Lay out what is on the screen."""
        self.rows = []
        if not len(self._heights) or self.height <= 0:
            self._top = START
            return
        if not self.follows:
            self._fill()
        if self.follows or len(self.rows) < self.height:
            self._top = self._from_end()
            self._fill()
            self.follows = True
        else:
            last = self.rows[-1][0]
            is_last = self._beside(last.block, last.part, 1) is None
            self.follows = is_last and last.line + 1 == len(self._exact(last.block, last.part))

    def _fill(self) -> None:
        """Collect rows downward from the top."""
        self.rows = []
        block, part, line = self._top
        block = min(block, len(self._heights) - 1)
        part = min(part, len(self._block_at(block).parts) - 1)
        place: tuple[int, int] | None = (block, part)
        line = min(line, max(len(self._exact(block, part)) - 1, 0))
        self._top = LinePosition(block, part, line)
        while place and len(self.rows) < self.height:
            block, part = place
            lines = self._exact(block, part)
            for index in range(line, min(len(lines), line + self.height - len(self.rows))):
                self.rows.append((LinePosition(block, part, index), lines[index]))
            line = 0
            place = self._beside(block, part, 1)

    def _from_end(self) -> LinePosition:
        block = len(self._heights) - 1
        part = len(self._block_at(block).parts) - 1
        need = self.height
        while True:
            size = len(self._exact(block, part))
            if size >= need:
                return LinePosition(block, part, size - need)
            need -= size
            before = self._beside(block, part, -1)
            if before is None:
                return START
            block, part = before

    def _exact(self, block: int, part: int) -> Sequence[LineT]:
        """Return a part's lines and correct its estimated height."""
        shown = self._block_at(block)
        lines = shown.lines(part)
        self._heights.set(block, shown.height)
        return lines

    def _beside(self, block: int, part: int, step: int) -> tuple[int, int] | None:
        """Return the part below (1) or above (-1) another one."""
        part += step
        if 0 <= part < len(self._block_at(block).parts):
            return block, part
        block += step
        if not 0 <= block < len(self._heights):
            return None
        return block, 0 if step > 0 else len(self._block_at(block).parts) - 1


class BlockView(LineView, Generic[LineT]):
    """A line view that scrolls over blocks, and follows their end."""

    def __init__(
        self,
        block_at: Callable[[int], Block[LineT]],
        prefix: str,
        *,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(prefix, id=id, classes=classes)
        self._viewport = Viewport(block_at)
        self._width = 0
        self._is_resizing = False
        self._bar_state = (0, 0, 0)
        """Height of the scroll bar; of its thumb and of what is above, in eighths of a cell."""

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

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the rows of a region. They have no border and fill the width, so a painted line
        is used as it is: a frame of a growing reply costs what is new in it.
        """
        filters, (_, background) = self.get_line_filters(), self.background_colors
        strips: list[Strip] = []
        for y in crop.line_range:
            strip = self.render_line(y)
            for line_filter in filters:
                strip = strip.apply_filter(line_filter, background)
            strips.append(strip)
        left, right = crop.column_span
        if left or right < self._width:
            return [strip.crop(left, right) for strip in strips]
        return strips

    def lay_out(self) -> None:
        """Lay out what is in sight, and have the rows drawn that look otherwise."""
        if self._width:
            self._viewport.lay_out()
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
        total, offset = view.total, float(view.offset)
        self.set_reactive(VIRTUAL_SIZE, Size(self._width, total))
        self.set_reactive(_SCROLL_Y, offset)
        self.set_reactive(_SCROLL_TARGET_Y, offset)
        bar, size = self.vertical_scrollbar, view.height
        # Drawing the bar costs as much as drawing the text, and it moves in eighths of a cell.
        thumb = max(1, size * size / max(total, 1))
        above = (size - thumb) * offset / max(total - size, 1)
        state = (size, ceil(thumb * 8), int(above * 8))
        if state != self._bar_state:
            self._bar_state = state
            bar.window_virtual_size, bar.window_size, bar.position = total, size, offset
        self.moved()

    def _size_updated(
        self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True
    ) -> bool:
        self._is_resizing = True  # a position clamped to the new size is no scrolling of the user
        changed = super()._size_updated(size, virtual_size, container_size, layout)
        self._is_resizing = False
        self._bar_state = (0, 0, 0)  # the bar has another size, and still the old position
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
            self._viewport.load_width(self.lay_out_width)
        self._viewport.lay_out()
        self._update_scroll_bar()
