"""What the lists and panes that draw their own lines have in common: how they scroll."""

from __future__ import annotations

from textual.scroll_view import ScrollView


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
        scrollbar-color: $foreground 15%;
        scrollbar-color-hover: $foreground 30%;
        scrollbar-color-active: $primary;

        &.-raised {
            background: $surface;
            scrollbar-background: $surface;
            scrollbar-background-hover: $surface;
            scrollbar-background-active: $surface;
        }
    }
    """
