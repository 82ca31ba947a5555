"""What the lists and panes that draw their own lines have in common: how they scroll."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.widget import Widget

if TYPE_CHECKING:
    from textual.reactive import Reactive

_VIRTUAL_SIZE = cast("Reactive[Size]", Widget.virtual_size)


class QuietScroll(ScrollView):
    """Scrolls up and down beside a bar of one cell that keeps in the background."""

    DEFAULT_CSS = """
    QuietScroll {
        background: $background;
        color: $foreground;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-size-vertical: 1;
        scrollbar-background: $background;
        scrollbar-background-hover: $background;
        scrollbar-background-active: $background;
        scrollbar-color: $foreground 25%;
        scrollbar-color-hover: $foreground 40%;
        scrollbar-color-active: $primary;

        &.-raised {
            background: $surface;
            scrollbar-background: $surface;
            scrollbar-background-hover: $surface;
            scrollbar-background-active: $surface;
        }
    }
    """

    def take_extent(self, size: Size) -> None:
        """Take how big the whole is now. Setting `virtual_size` would have the screen laid out,
        whenever a text has another row; the scroll bar is the caller's to move.
        """
        self.set_reactive(_VIRTUAL_SIZE, size)
