"""Which lines of which messages are on the screen.

1. A place is a message, a part of it, and a line of that part. The top row's place is the
   truth; the scroll position is computed from it.
2. What is on the screen is laid out, so its heights are exact. Heights elsewhere may be
   estimates. When an estimate above the screen is corrected, the scroll position changes
   and the picture does not.
3. At the end, the viewport follows: the last line is kept on the last row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from tui_chat.ui.chat.heights import Heights
from tui_chat.ui.chat.lines import Line
from tui_chat.ui.chat.message import MessageLayout


class Place(NamedTuple):
    """A line of a conversation."""

    message: int
    part: int
    line: int


START = Place(0, 0, 0)


class Viewport:
    """A window of some rows over messages that are laid out as they come into sight."""

    def __init__(self, layout: Callable[[int], MessageLayout]) -> None:
        self._layout = layout
        self._heights = Heights()
        self._top = START
        self.rows: list[tuple[Place, Line]] = []
        """What is on the screen, from the top; fewer than `height` where it ends."""
        self.height = 0
        """Rows of the screen."""
        self.follows = True
        """Whether the end is kept in sight."""

    @property
    def total(self) -> int:
        """Lines of the conversation, partly estimated."""
        return self._heights.total

    @property
    def offset(self) -> int:
        """Lines above the screen, partly estimated."""
        if not len(self._heights):
            return 0
        place = self._top
        layout = self._layout(place.message)
        if place.part > len(layout.parts) // 2:
            above = layout.height - sum(part.height for part in layout.parts[place.part :])
        else:
            above = sum(part.height for part in layout.parts[: place.part])
        return self._heights.before(place.message) + above + place.line

    @property
    def top(self) -> Place:
        """The place of the first row."""
        return self._top

    def load(self, heights: Sequence[int], *, keep: Place | None = None) -> None:
        """Take other messages; stay at `keep`, or follow the end."""
        self._heights = Heights(heights)
        self.follows = keep is None
        self._top = keep or START

    def changed(self, message: int) -> None:
        """Take note that a message is laid out differently."""
        if message < len(self._heights):
            self._heights.set(message, self._layout(message).height)

    def scroll(self, lines: int) -> None:
        """Move by some lines, counted in lines as they are, not as they were estimated."""
        self.follows = False
        message, part, line = self._top
        line += lines
        while line < 0 and (before := self._before(message, part)):
            message, part = before
            line += len(self._exact(message, part))
        while line >= (size := len(self._exact(message, part))):
            after = self._after(message, part)
            if after is None:
                line = max(size - 1, 0)
                break
            line -= size
            message, part = after
        self._top = Place(message, part, max(line, 0))
        self.settle()

    def jump(self, offset: int) -> None:
        """Go to a scroll position far away, as near as the estimates tell."""
        self.follows = False
        message, line = self._heights.find(offset)
        parts = self._layout(message).parts if len(self._heights) else []
        part = 0
        while part < len(parts) - 1 and line >= parts[part].height:
            line -= parts[part].height
            part += 1
        if parts:
            line = min(line, max(len(self._exact(message, part)) - 1, 0))
        self._top = Place(message, part, line)
        self.settle()

    def reveal(self, message: int) -> None:
        """Put the beginning of a message on the first row, or as high as the end allows."""
        self.follows = False
        self._top = Place(message, 0, 0)
        self.settle()

    def show(self, place: Place) -> None:
        """Bring a line into sight: where it is not, a third of the screen below the top."""
        if any(shown == place for shown, _ in self.rows):
            return
        self._top = place
        self.scroll(-self.height // 3)

    def settle(self) -> None:
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
            self.follows = self._after(last.message, last.part) is None and last.line + 1 == len(
                self._exact(last.message, last.part)
            )

    def _fill(self) -> None:
        """Collect rows downward from the top."""
        self.rows = []
        message, part, line = self._top
        message = min(message, len(self._heights) - 1)
        part = min(part, len(self._layout(message).parts) - 1)
        at: tuple[int, int] | None = (message, part)
        line = min(line, max(len(self._exact(message, part)) - 1, 0))
        self._top = Place(message, part, line)
        while at and len(self.rows) < self.height:
            message, part = at
            lines = self._exact(message, part)
            for index in range(line, min(len(lines), line + self.height - len(self.rows))):
                self.rows.append((Place(message, part, index), lines[index]))
            line = 0
            at = self._after(message, part)

    def _from_end(self) -> Place:
        message = len(self._heights) - 1
        part = len(self._layout(message).parts) - 1
        need = self.height
        while True:
            size = len(self._exact(message, part))
            if size >= need:
                return Place(message, part, size - need)
            need -= size
            before = self._before(message, part)
            if before is None:
                return START
            message, part = before

    def _exact(self, message: int, part: int) -> list[Line]:
        """Return a part's lines, and correct the height that was estimated."""
        layout = self._layout(message)
        lines = layout.lines(part)
        self._heights.set(message, layout.height)
        return lines

    def _before(self, message: int, part: int) -> tuple[int, int] | None:
        if part > 0:
            return message, part - 1
        if message > 0:
            return message - 1, len(self._layout(message - 1).parts) - 1
        return None

    def _after(self, message: int, part: int) -> tuple[int, int] | None:
        if part + 1 < len(self._layout(message).parts):
            return message, part + 1
        if message + 1 < len(self._heights):
            return message + 1, 0
        return None
