"""The widget under the transcript, the payload and every list: lines, of which only those on the
screen are made and drawn.

1. A line view draws one row of the screen in `draw_row`. How many lines there are, and which is on
   a row, its subclass knows: a list by arithmetic, the payload from exact heights, the transcript
   from heights that are estimates until a line is looked at.
2. The rows on the screen are remembered. After a change, `refresh_changed` has only those drawn
   that look otherwise: a slow terminal receives the new words of a growing reply and no whole
   screen.
3. A painted line is kept by what it shows (`strip`), so scrolling paints only new lines.
4. Another size arrives in `resized`, before the frame of that size is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, cast

from textual import events
from textual.cache import LRUCache
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from tui_chat.ui.widgets.component_styles import ComponentStyles

if TYPE_CHECKING:
    from textual.reactive import Reactive

CACHE_SIZE = 400
"""Strips that are kept; more than a screen has rows."""

VIRTUAL_SIZE = cast("Reactive[Size]", Widget.virtual_size)


class LineView(ScrollView, can_focus=True, inherit_bindings=False):  # pyright: ignore[reportIncompatibleMethodOverride]  so in Textual
    """Lines that scroll vertically; the scroll bar takes one cell.

    `palette` resolves the component classes `<prefix>--<name>` that the subclass declares.
    """

    DEFAULT_CSS = """
    LineView {
        background: $surface;
        color: $foreground;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-size-vertical: 1;
        scrollbar-background: $surface;
        scrollbar-background-hover: $surface;
        scrollbar-background-active: $surface;
        scrollbar-color: $foreground 25%;
        scrollbar-color-hover: $foreground 40%;
        scrollbar-color-active: $primary;
    }
    """

    def __init__(
        self, prefix: str = "", *, id: str | None = None, classes: str | None = None
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.palette = ComponentStyles(self, prefix)
        self.strips: LRUCache[Hashable, Strip] = LRUCache(CACHE_SIZE)
        """The rows painted last, by what they show."""
        self._drawn: dict[int, Strip] = {}
        """The strip on each row of the screen."""
        self._room = Size(0, 0)
        """The last size, without the scroll bar."""

    def draw_row(self, y: int) -> Strip:
        """Return the strip of a row of the screen."""
        raise NotImplementedError

    def strip(self, shown: Hashable, paint: Callable[[], Strip]) -> Strip:
        """Return the strip that shows something; the same one each time."""
        strip = self.strips.get(shown)
        if strip is None:
            self.strips[shown] = strip = paint()
        return strip

    def render_line(self, y: int) -> Strip:
        self._drawn[y] = strip = self.draw_row(y)
        return strip

    def refresh_changed(self, first: int = 0) -> None:
        """Draw the rows that changed; those above the row `first` are known to be the same."""
        width, height = self.size
        if not height:
            self.refresh()  # out of sight: what was drawn must not come back
            return
        before = self._drawn
        changed = [
            Region(0, y, width, 1)
            for y in range(max(first, 0), height)
            if before.get(y) != self.render_line(y)
        ]
        if changed:
            self.refresh(*changed)

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self.palette.clear()
        self.strips.clear()
        self._drawn.clear()

    # Extent and scrolling

    def set_extent(self, lines: int) -> None:
        """Set the number of lines. The panes around are laid out again only if the scroll bar comes
        or goes, and not, as Textual would, whenever a text gains a line.
        """
        size = Size(self.scrollable_content_region.width, lines)
        if size != self.virtual_size:
            self.set_reactive(VIRTUAL_SIZE, size)
            self._scroll_update(size)

    def scroll_to(self, x: float | None = None, y: float | None = None, **options: object) -> None:
        """Scroll at once: an animation would make every line that it passes."""
        if y is not None:
            self.scroll_y = self.scroll_target_y = y

    def bring_into_sight(self, line: int, count: int = 1) -> None:
        """Scroll as little as needed for some lines to be on the screen."""
        top, height = self.scroll_offset.y, self.scrollable_content_region.height
        if height > 0 and line < top:
            self.scroll_to(y=line)
        elif height > 0 and line + count > top + height:
            self.scroll_to(y=line + count - height)

    def line_under(self, event: events.MouseEvent) -> int:
        """Return the line under the mouse; it need not exist."""
        return event.get_content_offset_capture(self).y + self.scroll_offset.y

    def _size_updated(
        self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True
    ) -> bool:
        # Textual draws right after this and sends `Resize` later: a handler of that event would
        # draw everything at the old width first.
        changed = super()._size_updated(size, virtual_size, container_size, layout)
        room = self.scrollable_content_region.size
        if room != self._room:
            self._room = room
            self.resized()
        return changed

    def on_show(self) -> None:
        self.resized()

    def resized(self) -> None:
        """Called after the size changed, and when the view comes into sight."""
