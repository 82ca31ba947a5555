"""The border between two panes, which the mouse moves."""

from __future__ import annotations

from rich.segment import Segment
from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from tui_chat.lazy_dataclass import dataclass


class PaneDivider(Widget):
    """A line of one column. Dragged, it posts where to; a double click resets it."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    PaneDivider { width: 1; height: 1fr; color: $foreground 15%; background: $surface; }
    PaneDivider:hover, PaneDivider.-dragged { color: $primary; }
    """

    @dataclass
    class Dragged(Message):
        """The line is to be at another column of the screen."""

        divider: PaneDivider
        column: int

    @dataclass
    class Released(Message):
        """The line was let go, or `is_reset`: is to be where it is by default."""

        divider: PaneDivider
        is_reset: bool

    def __init__(self, line: str) -> None:
        """`line` is the character of the side of the column on which the line stands."""
        super().__init__()
        self._line = line

    def render_line(self, y: int) -> Strip:
        return Strip([Segment(self._line, self.rich_style)], 1)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        event.stop()
        self.capture_mouse()
        self.add_class("-dragged")

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self.has_class("-dragged"):
            self.post_message(self.Dragged(self, int(event.screen_x)))

    def on_mouse_up(self) -> None:
        self.release_mouse()
        if self.has_class("-dragged"):
            self.remove_class("-dragged")
            self.post_message(self.Released(self, is_reset=False))

    def on_click(self, event: events.Click) -> None:
        if event.chain == 2:
            self.post_message(self.Released(self, is_reset=True))
