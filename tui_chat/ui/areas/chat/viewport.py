"""Which lines of which messages are on the screen.

1. A position is a message, a part of it, and a line of that part. The position of the top row is
   the truth; the scroll offset is computed from it.
2. What is on the screen is laid out, so its height is exact. Heights elsewhere may be estimates.
   Correcting an estimate above the screen changes the scroll offset and not the picture.
3. At the end, the viewport follows: the last line stays on the last row.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tui_chat.ui.areas.chat.message_layout import MessageLayout
    from tui_chat.ui.areas.chat.text_lines import TextLine

BLOCK = 32
"""Heights that are summed together."""


class HeightSums:
    """Changeable heights of many messages: where each begins, and which one is at a line.

    Sums are kept for each block of heights. Building them all at every change of width is one
    pass of additions; changing one height touches one sum; a lookup walks the blocks' sums and
    then one block.
    """

    def __init__(self, heights: Sequence[int] = ()) -> None:
        self._heights = list(heights)
        self._sums = [sum(self._heights[at : at + BLOCK]) for at in range(0, len(heights), BLOCK)]
        self.total = sum(self._sums)
        """All lines."""

    def __len__(self) -> int:
        return len(self._heights)

    def set(self, index: int, height: int) -> None:
        """Change one height."""
        change = height - self._heights[index]
        self._heights[index] = height
        self._sums[index // BLOCK] += change
        self.total += change

    def before(self, index: int) -> int:
        """Return the line at which a message begins."""
        block = index // BLOCK
        return sum(self._sums[:block]) + sum(self._heights[block * BLOCK : index])

    def find(self, line: int) -> tuple[int, int]:
        """Return the message at a line and the lines above it in that message; clamped."""
        line = min(max(line, 0), max(self.total - 1, 0))
        index = 0
        for size in self._sums:
            if line < size:
                break
            line -= size
            index += BLOCK
        for size in self._heights[index : index + BLOCK]:
            if line < size:
                return index, line
            line -= size
            index += 1
        return max(len(self._heights) - 1, 0), 0


class LinePosition(NamedTuple):
    """A line of a conversation."""

    message: int
    part: int
    line: int


START = LinePosition(0, 0, 0)


def share_above(lines: Sequence[TextLine], line: int) -> float:
    """Return the share of a part's text that is above a line, from 0 to 1."""
    return sum(len(each.text) for each in lines[:line]) / (sum(len(i.text) for i in lines) or 1)


def line_at(lines: Sequence[TextLine], share: float) -> int:
    """Return the line of a part with that share of its text above it, or the one before."""
    ends = list(accumulate(len(each.text) for each in lines))
    return min(bisect_right(ends, share * ends[-1] + 1e-6), len(lines) - 1) if ends else 0


class Viewport:
    """A window of rows over messages that are laid out when they come into sight."""

    def __init__(self, layout: Callable[[int], MessageLayout]) -> None:
        self._layout = layout
        self._heights = HeightSums()
        self._top = START
        self.rows: list[tuple[LinePosition, TextLine]] = []
        """The rows on the screen, from the top; fewer than `height` at the end."""
        self.height = 0
        """Rows of the screen."""
        self.follows = True
        """True while the end is kept in sight."""

    @property
    def total(self) -> int:
        """The lines of the conversation, partly estimated."""
        return self._heights.total

    @property
    def offset(self) -> int:
        """The lines above the screen, partly estimated."""
        if not len(self._heights):
            return 0
        top = self._top
        layout = self._layout(top.message)
        if top.part > len(layout.parts) // 2:
            above = layout.height - sum(part.height for part in layout.parts[top.part :])
        else:
            above = sum(part.height for part in layout.parts[: top.part])
        return self._heights.before(top.message) + above + top.line

    @property
    def top(self) -> LinePosition:
        """The position of the first row."""
        return self._top

    def load(self, heights: Sequence[int], *, keep: LinePosition | None = None) -> None:
        """Show other messages, from `keep` on; without it, follow the end."""
        self._heights = HeightSums(heights)
        self.follows = keep is None
        self._top = keep or START

    def update_height(self, message: int) -> None:
        """Update the height of a message whose layout changed."""
        if message < len(self._heights):
            self._heights.set(message, self._layout(message).height)

    def scroll(self, lines: int) -> None:
        """Scroll by lines, counted exactly: what is passed is laid out."""
        self.follows = False
        message, part, line = self._top
        line += lines
        while line < 0 and (before := self._previous_part(message, part)):
            message, part = before
            line += len(self._exact(message, part))
        while line >= (size := len(self._exact(message, part))):
            after = self._next_part(message, part)
            if after is None:
                line = max(size - 1, 0)
                break
            line -= size
            message, part = after
        self._top = LinePosition(message, part, max(line, 0))
        self.lay_out()

    def jump(self, offset: int) -> None:
        """Go to a scroll offset far away, as near as the estimates allow."""
        self.follows = False
        message, line = self._heights.find(offset)
        parts = self._layout(message).parts if len(self._heights) else []
        part = 0
        while part < len(parts) - 1 and line >= parts[part].height:
            line -= parts[part].height
            part += 1
        if parts:
            line = min(line, max(len(self._exact(message, part)) - 1, 0))
        self._top = LinePosition(message, part, line)
        self.lay_out()

    def reveal(self, message: int) -> None:
        """Put the first line of a message on the first row, or as high as the end allows."""
        self.follows = False
        self._top = LinePosition(message, 0, 0)
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
            self.follows = self._next_part(
                last.message, last.part
            ) is None and last.line + 1 == len(self._exact(last.message, last.part))

    def _fill(self) -> None:
        """Collect rows downward from the top."""
        self.rows = []
        message, part, line = self._top
        message = min(message, len(self._heights) - 1)
        part = min(part, len(self._layout(message).parts) - 1)
        at: tuple[int, int] | None = (message, part)
        line = min(line, max(len(self._exact(message, part)) - 1, 0))
        self._top = LinePosition(message, part, line)
        while at and len(self.rows) < self.height:
            message, part = at
            lines = self._exact(message, part)
            for index in range(line, min(len(lines), line + self.height - len(self.rows))):
                self.rows.append((LinePosition(message, part, index), lines[index]))
            line = 0
            at = self._next_part(message, part)

    def _from_end(self) -> LinePosition:
        message = len(self._heights) - 1
        part = len(self._layout(message).parts) - 1
        need = self.height
        while True:
            size = len(self._exact(message, part))
            if size >= need:
                return LinePosition(message, part, size - need)
            need -= size
            before = self._previous_part(message, part)
            if before is None:
                return START
            message, part = before

    def _exact(self, message: int, part: int) -> list[TextLine]:
        """Return a part's lines and correct its estimated height."""
        layout = self._layout(message)
        lines = layout.lines(part)
        self._heights.set(message, layout.height)
        return lines

    def _previous_part(self, message: int, part: int) -> tuple[int, int] | None:
        if part > 0:
            return message, part - 1
        if message > 0:
            return message - 1, len(self._layout(message - 1).parts) - 1
        return None

    def _next_part(self, message: int, part: int) -> tuple[int, int] | None:
        if part + 1 < len(self._layout(message).parts):
            return message, part + 1
        if message + 1 < len(self._heights):
            return message + 1, 0
        return None
