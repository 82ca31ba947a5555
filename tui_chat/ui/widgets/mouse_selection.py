"""Selecting text by dragging the mouse.

Textual selects rows of the screen, but a line view scrolls, and its lines change, under the mouse.
So the gesture is handled here, and its result is a Textual `Selection` whose rows are lines of the
view, as the view numbers them. Textual keeps the selection and only compares rows. A column is a
character of a line's text, whatever is drawn to its left.
"""

from __future__ import annotations

from collections.abc import Callable

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Offset
from textual.selection import Selection
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

SCROLL_INTERVAL = 1 / 30
"""Seconds between two steps of scrolling while the mouse is dragged beyond an edge."""
SCROLL_LINES = 6
"""Maximum lines of such a step."""

Span = tuple[Offset, Offset]
"""The places before and after a character."""


class MouseSelection:
    """The gesture that selects text in a line view: press, drag, release."""

    def __init__(
        self,
        widget: Widget,
        character_under: Callable[[Offset], Span | None],
        scroll: Callable[[int], None],
    ) -> None:
        """`character_under` returns the character under the mouse, or beyond an edge the nearest
        one; None if there is no text.
        """
        self._widget, self._character_under, self._scroll = widget, character_under, scroll
        self._pressed_at = Offset(-1, -1)
        self._anchor: Span | None = None
        """The character of the press; None while no button is down."""
        self._selected: Selection | None = None
        self._pointer = Offset(0, 0)
        self._edge_timer: Timer | None = None

    @property
    def has_selected(self) -> bool:
        """True if the drag after the last press selected something."""
        return self._selected is not None

    @property
    def text(self) -> str:
        """The selected text of the widget; empty if nothing is selected."""
        selection = self._widget.text_selection
        result = self._widget.get_selection(selection) if selection is not None else None
        return result[0].rstrip("\n") if result is not None else ""

    def clear(self) -> None:
        """End the selection, because what it was made of changed."""
        self._anchor = None
        if self._widget.text_selection is not None:
            self._widget.screen.clear_selection()

    def press(self, event: events.MouseDown) -> None:
        """Start a selection at the mouse."""
        self._pressed_at = offset = event.get_content_offset_capture(self._widget)
        self._selected = None
        self._anchor = self._character_under(offset) if event.button == 1 else None
        if self._anchor is not None:
            self._widget.capture_mouse()

    def drag(self, event: events.MouseMove) -> None:
        """Extend the selection to the mouse; beyond an edge, scroll until the mouse is back."""
        if self._anchor is None:
            return
        offset = event.get_content_offset_capture(self._widget)
        if offset == self._pointer or (self._selected is None and offset == self._pressed_at):
            return
        self._select_to(offset)
        beyond = offset.y < 0 or offset.y >= self._widget.size.height
        if beyond and self._edge_timer is None:
            self._edge_timer = self._widget.set_interval(SCROLL_INTERVAL, self._scroll_at_edge)
        elif not beyond:
            self._stop_scrolling()

    def release(self) -> None:
        """End the gesture; the selection stays."""
        self._stop_scrolling()
        self._widget.release_mouse()
        if self._anchor is not None and self._selected is not None:
            # Textual clears the selections when press and release are at one place.
            self._widget.screen.selections = {self._widget: self._selected}
        self._anchor = None

    def scrolled(self) -> None:
        """Extend the selection to the line that came under the mouse."""
        if self._anchor is not None and self._selected is not None:
            self._select_to(self._pointer)

    def _select_to(self, offset: Offset) -> None:
        self._pointer = offset
        character = self._character_under(offset)
        if self._anchor is None or character is None:
            return
        # Selected from the first end of both characters to the last, in whichever direction.
        ends = sorted((*self._anchor, *character), key=lambda end: (end.y, end.x))
        self._selected = Selection(ends[0], ends[-1])
        self._widget.screen.selections = {self._widget: self._selected}

    def _scroll_at_edge(self) -> None:
        if self._anchor is None:
            self._stop_scrolling()
            return
        y, height = self._pointer.y, self._widget.size.height
        beyond = y if y < 0 else y - height + 1
        self._scroll(max(min(beyond, SCROLL_LINES), -SCROLL_LINES))

    def _stop_scrolling(self) -> None:
        if self._edge_timer is not None:
            self._edge_timer.stop()
            self._edge_timer = None

    def highlight(self, strip: Strip, row: int, left: int) -> Strip:
        """Draw what is selected of a row, whose text begins at the cell `left` of its strip."""
        selection = self._widget.text_selection
        span = selection.get_span(row) if selection is not None else None
        if span is None:
            return strip
        color = self._widget.screen.get_component_rich_style("screen--selection").bgcolor
        return highlight(strip, span, Style(bgcolor=color), left)


def column_at(text: str, cell: int) -> int:
    """Return the character at a cell of a text."""
    # Measured from the beginning: joined characters are narrower than each alone.
    for index in range(len(text)):
        if cell_len(text[: index + 1]) > cell:
            return index
    return len(text)


def character_at(text: str, index: int, row: int) -> Span:
    """Return the places before and after the character at an index of the text of a row."""
    end = index + 1
    while end < len(text) and cell_len(text[: end + 1]) == cell_len(text[:end]):
        end += 1
    return Offset(index, row), Offset(min(end, len(text)), row)


def highlight(strip: Strip, span: tuple[int, int], background: Style, left: int) -> Strip:
    """Draw the characters of a span of a text on another background; an end of -1 is the text's
    end. `left` is the cell at which the text begins.
    """
    text = strip.crop(left).text
    start, end = span
    first = left + cell_len(text[:start])
    last = max(left + cell_len(text.rstrip() if end == -1 else text[:end]), first)
    before, inside, after = strip.crop(0, first), strip.crop(first, last), strip.crop(last)
    lit = [Segment(text, style + background if style else background) for text, style, _ in inside]
    return Strip.join([before, Strip(lit), after])
