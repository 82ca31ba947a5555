"""Selecting text with the mouse: by drag, by word with a double click, by line with a triple click.

Textual selects rows of the screen, but a conversation scrolls and grows under the mouse. So the
gesture is handled here, and its result is a Textual `Selection` whose rows are not rows of the
screen: `row_number` numbers the lines of the conversation by message, part and line. Textual
keeps the selection and only compares rows. A column is a character of the drawn line, counted
with the gutter but without what is to the left of the reading column.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Offset
from textual.selection import Selection
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from tui_chat.ui.areas.chat.line_painter import GUTTER
from tui_chat.ui.widgets.block_view import LinePosition, Viewport

if TYPE_CHECKING:
    from tui_chat.models.session import Entry
    from tui_chat.ui.areas.chat.branch_layout import BranchLayout
    from tui_chat.ui.areas.chat.text_lines import TextLine

CLICK_CHAIN = 0.5
"""Seconds within which another press at the same place counts as a double or triple click."""
SCROLL_INTERVAL = 1 / 30
"""Seconds between two steps of scrolling while the mouse is dragged beyond an edge."""
SCROLL_LINES = 6
"""Maximum lines of such a step."""

_LINES_OF_PART = 1 << 16
_PARTS_OF_MESSAGE = 1 << 20
_END = 1 << 62
_WORD = re.compile(r"[\w'’\-]+|[^\w\s]+|\s+")

Unit = Literal["character", "word", "line"]
"""The units that a single, double and triple click select by."""
Span = tuple[Offset, Offset]
"""First and last place of a unit."""


class MouseSelection:
    """The gesture that selects text in a transcript: press, drag, release."""

    def __init__(
        self,
        widget: Widget,
        viewport: Viewport[TextLine],
        layouts: BranchLayout,
        scroll: Callable[[int], None],
    ) -> None:
        self._widget, self._viewport, self._layouts = widget, viewport, layouts
        self._scroll = scroll
        self.left = 0
        """Cells to the left of the reading column."""
        self._unit: Unit = "character"
        self._clicks = 0
        self._pressed_at = Offset(-1, -1)
        self._pressed_when = 0.0
        self._anchor: Span | None = None
        """The selection of the press; None while no button is down."""
        self._selected: Selection | None = None
        self._pointer = Offset(0, 0)
        self._edge_timer: Timer | None = None

    @property
    def has_selected(self) -> bool:
        """True if the last press, or the drag that followed, selected something."""
        return self._selected is not None

    def press(self, event: events.MouseDown) -> None:
        """Start a selection at the mouse."""
        offset = event.get_content_offset_capture(self._widget)
        self._selected = None
        if event.button != 1 or not 0 <= offset.y < len(self._viewport.rows):
            return
        again = offset == self._pressed_at and event.time - self._pressed_when < CLICK_CHAIN
        self._clicks = self._clicks % 3 + 1 if again else 1
        self._pressed_at, self._pressed_when = offset, event.time
        self._unit = ("character", "word", "line")[self._clicks - 1]
        self._anchor = self._unit_under(offset)
        if self._unit != "character":
            self._select_to(offset)
        self._widget.capture_mouse()

    def drag(self, event: events.MouseMove) -> None:
        """Extend the selection to the mouse; beyond an edge, scroll until the mouse is back."""
        if self._anchor is None:
            return
        offset = event.get_content_offset_capture(self._widget)
        if offset == self._pointer or (self._selected is None and offset == self._pressed_at):
            return
        self._select_to(offset)
        beyond = offset.y < 0 or offset.y >= self._viewport.height
        if beyond and self._edge_timer is None:
            self._edge_timer = self._widget.set_interval(SCROLL_INTERVAL, self._scroll_at_edge)
        elif not beyond:
            self._stop_scrolling()

    def release(self) -> None:
        """End the gesture; the selection stays."""
        if self._anchor is None:
            return
        self._anchor = None
        self._stop_scrolling()
        self._widget.release_mouse()
        if self._selected is not None:
            # Textual clears the selections when press and release are at one place.
            self._widget.screen.selections = {self._widget: self._selected}

    def scrolled(self) -> None:
        """Extend the selection to the line that came under the mouse."""
        if self._anchor is not None and self._selected is not None:
            self._select_to(self._pointer)

    def _unit_under(self, offset: Offset) -> Span:
        rows = self._viewport.rows
        y = min(max(offset.y, 0), len(rows) - 1)
        position, line = rows[y]
        lines = self._layouts(position.block).lines(position.part)
        column = column_at(line, offset.x - self.left)
        if offset.y > y:
            column = GUTTER + len(line.text)
        elif offset.y < 0:
            column = GUTTER
        return unit_at(self._unit, position, column, lines)

    def _select_to(self, offset: Offset) -> None:
        assert self._anchor is not None
        self._pointer = offset
        # Selected from the first end of both units to the last, in whichever direction.
        ends = sorted((*self._anchor, *self._unit_under(offset)), key=lambda end: (end.y, end.x))
        self._selected = Selection(ends[0], ends[-1])
        self._widget.screen.selections = {self._widget: self._selected}

    def _scroll_at_edge(self) -> None:
        y, height = self._pointer.y, self._viewport.height
        beyond = y if y < 0 else y - height + 1
        self._scroll(max(min(beyond, SCROLL_LINES), -SCROLL_LINES))

    def _stop_scrolling(self) -> None:
        if self._edge_timer is not None:
            self._edge_timer.stop()
            self._edge_timer = None


def row_number(position: LinePosition) -> int:
    """Return the row of a line in a selection, which no scrolling changes."""
    return (position.block * _PARTS_OF_MESSAGE + position.part) * _LINES_OF_PART + position.line


def column_at(line: TextLine, cell: int) -> int:
    """Return the column at a cell of a drawn line."""
    text = line.text
    # Measured from the line's beginning: joined characters are narrower than each alone.
    for index in range(len(text)):
        if GUTTER + cell_len(text[: index + 1]) > cell:
            return GUTTER + index
    return GUTTER + len(text)


def unit_at(unit: Unit, position: LinePosition, column: int, lines: Sequence[TextLine]) -> Span:
    """Return what a press selects: a character, its word, or the whole line.

    A line is what the author wrote as one, wrapped or not. `lines` are those of the part.
    """
    row = row_number(position)
    text, index = lines[position.line].text, column - GUTTER
    if unit == "character":
        end = index + 1
        while end < len(text) and cell_len(text[: end + 1]) == cell_len(text[:end]):
            end += 1
        return Offset(column, row), Offset(min(end, len(text)) + GUTTER, row)
    if unit == "word":
        for word in _WORD.finditer(text):
            if word.start() <= index < word.end():
                return Offset(word.start() + GUTTER, row), Offset(word.end() + GUTTER, row)
        return Offset(column, row), Offset(column, row)
    first = last = position.line
    while first and lines[first].joint is not None:
        first -= 1
    while last + 1 < len(lines) and lines[last + 1].joint is not None:
        last += 1
    return (
        Offset(GUTTER, row - position.line + first),
        Offset(GUTTER + len(lines[last].text), row - position.line + last),
    )


def highlight(strip: Strip, span: tuple[int, int], background: Style, left: int = 0) -> Strip:
    """Draw the columns of the span on another background; an end of -1 is the text's end. `left` is
    the number of cells to the left of the reading column.
    """
    text = strip.text[left:]
    start, end = span
    first = left + max(cell_len(text[:start]), GUTTER)
    last = max(left + cell_len(text.rstrip() if end == -1 else text[:end]), first)
    before, inside, after = strip.crop(0, first), strip.crop(first, last), strip.crop(last)
    lit = [Segment(text, style + background if style else background) for text, style, _ in inside]
    return Strip.join([before, Strip(lit), after])


def selected_text(
    selection: Selection,
    entries: Sequence[Entry],
    lines_of: Callable[[int], list[list[TextLine]]],
) -> str:
    """Return the selected text: whole messages as they were written, parts of them as drawn.

    `lines_of` returns the lines of each part of a message. Wrapped lines are joined again,
    without the bars and indentation of wrapped lines and of code.
    """
    start, start_x = _without_gutter(selection.start) or (0, 0)
    end, end_x = _without_gutter(selection.end) or (_END, _END)
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


def _without_gutter(point: Offset | None) -> tuple[int, int] | None:
    """Return the row and the character of a line."""
    return None if point is None else (point.y, max(point.x - GUTTER, 0))
