"""Selecting with the mouse: by drag, by word with two presses, by line with three.

Textual selects by rows of the screen; a conversation scrolls and grows under the mouse. So
the gesture is ours, in places of messages, and only its result is Textual's `Selection`:
what copies and draws selections needs to know nothing of this.
"""

from __future__ import annotations

from textual import events
from textual.geometry import Offset
from textual.selection import Selection
from textual.timer import Timer

from tui_chat.ui.chat import picked
from tui_chat.ui.chat.painter import GUTTER
from tui_chat.ui.chat.picked import Unit
from tui_chat.ui.chat.reader import Reader

CHAIN = 0.5
"""Seconds within which another press at the same place counts as one more."""
SCROLL = 1 / 30
"""Seconds between two steps of scrolling while the mouse is dragged beyond an edge."""
FASTEST = 6
"""Lines of such a step at most."""
WHEEL = 3
"""Lines a notch of the wheel scrolls."""


class Selecting(Reader):
    """A reader whose text can be selected with the mouse."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._unit: Unit = "character"
        self._presses = 0
        self._pressed_at = Offset(-1, -1)
        self._pressed_when = 0.0
        self._anchor: tuple[Offset, Offset] | None = None
        """What the press selected; None while no button is down."""
        self._chosen: Selection | None = None
        self._pointer = Offset(0, 0)
        self._edge_timer: Timer | None = None

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Begin to select."""
        at = event.get_content_offset_capture(self)
        rows = self._viewport.rows
        self._chosen = None
        if event.button != 1 or not self.entries or not 0 <= at.y < len(rows):
            return
        again = at == self._pressed_at and event.time - self._pressed_when < CHAIN
        self._presses = self._presses % 3 + 1 if again else 1
        self._pressed_at, self._pressed_when = at, event.time
        self._unit = ("character", "word", "line")[self._presses - 1]
        self._anchor = self._unit_under(at)
        if self._unit != "character":
            self._choose(at)
        self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Select as far as the mouse has come."""
        if self._anchor is None:
            return
        at = event.get_content_offset_capture(self)
        if at == self._pointer or (self._chosen is None and at == self._pressed_at):
            return
        self._choose(at)
        beyond = at.y < 0 or at.y >= self._viewport.height
        if beyond and self._edge_timer is None:
            self._edge_timer = self.set_interval(SCROLL, self._scroll_at_edge)
        elif not beyond:
            self._stop_scrolling()

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """End the gesture; what is selected stays."""
        if self._anchor is None:
            return
        del event
        self._anchor = None
        self._stop_scrolling()
        self.release_mouse()
        if self._chosen is not None:
            # Textual takes a press and release at one place for the wish to select nothing.
            self.screen.selections = {self: self._chosen}

    def _on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.prevent_default()
        event.stop()
        self._wheel(WHEEL)

    def _on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.prevent_default()
        event.stop()
        self._wheel(-WHEEL)

    def _wheel(self, lines: int) -> None:
        self.move(lines)
        if self._anchor is not None and self._chosen is not None:
            self._choose(self._pointer)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return what is selected: whole messages as written, parts of them as drawn."""
        if not self.entries:
            return None
        text = picked.text_of(selection, self.entries, self._all_lines, GUTTER)
        return text, "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """Draw the selection."""
        del selection
        self.refresh()

    def _unit_under(self, at: Offset) -> tuple[Offset, Offset]:
        rows = self._viewport.rows
        y = min(max(at.y, 0), len(rows) - 1)
        place, line = rows[y]
        lines = self._layouts(place.message).lines(place.part)
        column = picked.column_of(line, at.x, GUTTER)
        if at.y > y:
            column = GUTTER + len(line.text)
        elif at.y < 0:
            column = GUTTER
        return picked.unit_at(self._unit, place, column, lines, GUTTER)

    def _choose(self, at: Offset) -> None:
        assert self._anchor is not None
        self._pointer = at
        self._chosen = picked.between(self._anchor, self._unit_under(at))
        self.screen.selections = {self: self._chosen}

    def _scroll_at_edge(self) -> None:
        y, height = self._pointer.y, self._viewport.height
        beyond = y if y < 0 else y - height + 1
        self.move(max(min(beyond, FASTEST), -FASTEST))
        self._choose(self._pointer)

    def _stop_scrolling(self) -> None:
        if self._edge_timer is not None:
            self._edge_timer.stop()
            self._edge_timer = None
