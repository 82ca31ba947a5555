"""A vertical scroll view with a one-cell scroll bar, for widgets that render their own lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.strip import Strip
from textual.widget import Widget

from tui_chat.ui.widgets.one_pass import OnePassWidget

if TYPE_CHECKING:
    from textual.app import App
    from textual.reactive import Reactive

_VIRTUAL_SIZE = cast("Reactive[Size]", Widget.virtual_size)


class ThinScrollBar(ScrollBar, OnePassWidget):
    """A scroll bar that renders each distinct row once."""

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return Textual's picture of the bar without asking the console for every row."""
        width, height = self.size
        bar = cast("ScrollBarRender", self.render())
        style, base = cast("Style", bar.style), self.visual_style.rich_style
        assert style.bgcolor is not None
        assert style.color is not None
        rows = bar.render_bar(
            size=height,
            virtual_size=bar.virtual_size,
            window_size=bar.window_size,
            position=bar.position,
            thickness=width,
            back_color=style.bgcolor,
            bar_color=style.color,
        ).segments
        filters, (_, background) = self.get_line_filters(), self.background_colors
        strips: dict[int, Strip] = {}
        for row in rows:
            if id(row) not in strips:
                strip = Strip([Segment(row.text, base + row.style)], width)
                for line_filter in filters:
                    strip = strip.apply_filter(line_filter, background)
                strips[id(row)] = strip
        return [strips[id(rows[y])].crop(*crop.column_span) for y in crop.line_range]


class ThinScrollView(ScrollView):
    """Scrolls vertically; the scroll bar takes one cell and has the colour of the background."""

    DEFAULT_CSS = """
    ThinScrollView {
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

    @property
    def vertical_scrollbar(self) -> ScrollBar:
        """The scroll bar, created at first use.

        Overrides Textual's property line for line, because the class of the bar is fixed there.
        """
        if self._vertical_scrollbar is None:
            bar = ThinScrollBar(name="vertical", thickness=self.scrollbar_size_vertical)
            self._vertical_scrollbar = bar
            bar.display = False
            app = cast("App[object]", super().app)  # pyright: ignore[reportUnknownMemberType]  Textual types it App[Unknown]
            app._start_widget(self, bar)  # pyright: ignore[reportPrivateUsage]  as Textual does it
        return self._vertical_scrollbar

    def set_extent(self, size: Size) -> None:
        """Set the virtual size without a layout of the screen.

        Assigning `virtual_size` would lay the screen out whenever a text gains a row. The caller
        moves the scroll bar.
        """
        self.set_reactive(_VIRTUAL_SIZE, size)
