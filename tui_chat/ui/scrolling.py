"""What the lists and panes that draw their own lines have in common: how they scroll."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.strip import Strip
from textual.widget import Widget

from tui_chat.ui.ground import Placed

if TYPE_CHECKING:
    from textual.app import App
    from textual.reactive import Reactive

_VIRTUAL_SIZE = cast("Reactive[Size]", Widget.virtual_size)


class QuietBar(ScrollBar, Placed):
    """A scroll bar. Of its rows, few are not alike; each of those is drawn once."""

    def render_lines(self, crop: Region) -> list[Strip]:
        """Draw what Textual draws, which asks the console for it and goes through it row by row."""
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
        drawn: dict[int, Strip] = {}
        for row in rows:
            if id(row) not in drawn:
                strip = Strip([Segment(row.text, base + row.style)], width)
                for each in filters:
                    strip = strip.apply_filter(each, background)
                drawn[id(row)] = strip
        return [drawn[id(rows[y])].crop(*crop.column_span) for y in crop.line_range]


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

    @property
    def vertical_scrollbar(self) -> ScrollBar:
        """The scroll bar, made when it is first asked for."""
        if self._vertical_scrollbar is None:
            bar = QuietBar(name="vertical", thickness=self.scrollbar_size_vertical)
            self._vertical_scrollbar = bar
            bar.display = False
            app = cast("App[object]", super().app)  # pyright: ignore[reportUnknownMemberType]  Textual types it App[Unknown]
            app._start_widget(self, bar)  # pyright: ignore[reportPrivateUsage]  as Textual does it
        return self._vertical_scrollbar

    def take_extent(self, size: Size) -> None:
        """Take how big the whole is now. Setting `virtual_size` would have the screen laid out,
        whenever a text has another row; the scroll bar is the caller's to move.
        """
        self.set_reactive(_VIRTUAL_SIZE, size)
