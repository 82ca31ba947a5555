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

from tui_chat.ui.widgets.component_styles import LazyComponents
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


def thin_scroll_css(selector: str) -> str:
    """Return the default CSS of a thin scroll view: no bar below, a one-cell bar on the right."""
    bar = "background", "background-hover", "background-active"
    ground = "".join(f"scrollbar-{part}: $background; " for part in bar)
    raised = "".join(f"scrollbar-{part}: $surface; " for part in bar)
    return f"""
    {selector} {{
        background: $background;
        color: $foreground;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-size-vertical: 1;
        {ground}
        scrollbar-color: $foreground 25%;
        scrollbar-color-hover: $foreground 40%;
        scrollbar-color-active: $primary;
        &.-raised {{ background: $surface; {raised} }}
    }}
    """


def thin_scroll_bar(view: ScrollView) -> ScrollBar:
    """Return the vertical scroll bar of a view, created at first use.

    This is Textual's `vertical_scrollbar` line for line, because the class of the bar is fixed
    there.
    """
    if view._vertical_scrollbar is None:  # pyright: ignore[reportPrivateUsage]
        bar = ThinScrollBar(name="vertical", thickness=view.scrollbar_size_vertical)
        view._vertical_scrollbar = bar  # pyright: ignore[reportPrivateUsage]
        bar.display = False
        app = cast("App[object]", view.app)  # pyright: ignore[reportUnknownMemberType]  Textual types it App[Unknown]
        app._start_widget(view, bar)  # pyright: ignore[reportPrivateUsage]
    return view._vertical_scrollbar  # pyright: ignore[reportPrivateUsage, reportReturnType]


class ThinScrollView(ScrollView, LazyComponents):  # pyright: ignore[reportIncompatibleMethodOverride]  so in Textual
    """Scrolls vertically; the scroll bar takes one cell and has the colour of the background."""

    DEFAULT_CSS = thin_scroll_css("ThinScrollView")

    @property
    def vertical_scrollbar(self) -> ScrollBar:
        """The scroll bar."""
        return thin_scroll_bar(self)

    def set_extent(self, size: Size) -> None:
        """Set the virtual size without a layout of the screen.

        Assigning `virtual_size` would lay the screen out whenever a text gains a row. The caller
        moves the scroll bar.
        """
        self.set_reactive(_VIRTUAL_SIZE, size)
