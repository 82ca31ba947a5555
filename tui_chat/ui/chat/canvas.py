"""Rows of a conversation on the screen: which ones, where it is scrolled to, and their colours.

One widget a message took 48 seconds for a thousand messages. Here nothing exists but the
lines on the screen: `Viewport` knows which those are, `Layouts` has them, `Painter` colours
them. What is shown, and how it grows, is `Reader`'s.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, cast

from rich.style import Style
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

from tui_chat.models.session import Entry
from tui_chat.ui.chat import picked, posted
from tui_chat.ui.chat.layouts import Layouts
from tui_chat.ui.chat.lines import Line
from tui_chat.ui.chat.look import Look
from tui_chat.ui.chat.markdown import markdown_lines
from tui_chat.ui.chat.painter import GUTTER, Painter, measure
from tui_chat.ui.chat.search import Search
from tui_chat.ui.chat.sight import Sight
from tui_chat.ui.chat.viewport import Place, Viewport
from tui_chat.ui.widgets.palette import Palette
from tui_chat.ui.widgets.thin_scroll import ThinScrollView

if TYPE_CHECKING:
    from textual.reactive import Reactive
    from textual.selection import Selection

_SCROLL_Y = Widget.scroll_y
_SCROLL_TARGET_Y = cast("Reactive[float]", Widget.scroll_target_y)


class Canvas(ThinScrollView, can_focus=True):
    """A window on a conversation."""

    ALLOW_SELECT = False  # Textual's selection knows screen rows; `Selecting` knows messages

    Pointed = posted.Pointed

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.cursor: int | None = None
        """Index of the message that keys act on; None for what the screen suggests."""
        self._layouts = Layouts()
        self._viewport = Viewport(self._layouts)
        self._search = Search(self._layouts)
        self._look = Look()
        self._palette = Palette(self, "transcript", self._look)
        self._painter = Painter(self._palette)
        self._lit = ""
        """Id of the message that is lit up."""
        self._pointed = ""
        """Id of the message that was told to be under the cursor."""
        self._width = 0
        self._unseen = False
        self._is_resizing = False
        self._bar = (0, 0, 0)
        """The height of the scroll bar, its thumb and what is above that, these in eighths."""
        self._empty_text = ""
        self._empty: list[Line] = []

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What is shown, root to head."""
        return self._layouts.entries

    @property
    def follows(self) -> bool:
        """Whether the end is in sight, and kept there."""
        return self._viewport.follows

    # Where the screen stands

    def _settle(self) -> None:
        """Lay out what is in sight, and draw it."""
        if self._width:
            self._lay_out()
            self.refresh()

    def _sight(self) -> Sight:
        """Return what is on the screen now."""
        view = self._viewport
        return Sight(
            self._current if self.has_focus else None, self._unseen, view.rows, view.height
        )

    def _settle_from(self, before: Sight) -> None:
        """Lay out what is in sight, and draw the rows that are not as they were."""
        if self._width:
            self._lay_out()
            for start, count in self._sight().changed(before):
                self.refresh(Region(0, start, self._width, count))

    def _lay_out(self) -> None:
        """Lay out what is in sight, and tell the scroll bar where that is."""
        if not self.entries and not self._empty and self._empty_text:
            self._empty = markdown_lines(self._empty_text, min(measure(self._width), 64))
        self._viewport.settle()
        self._place()

    def _publish(self) -> None:
        self._place()
        self.refresh()

    def _place(self) -> None:
        """Tell the scroll bar where the screen stands; nobody else need know, and lay out anew."""
        view = self._viewport
        total, offset = view.total, float(view.offset)
        self.set_extent(Size(self._width, total))
        self.set_reactive(_SCROLL_Y, offset)
        self.set_reactive(_SCROLL_TARGET_Y, offset)
        bar, size = self.vertical_scrollbar, view.height
        # Drawing the bar costs as much as drawing the text, and it moves in eighths of a cell.
        thumb = max(1, size * size / max(total, 1))
        above = (size - thumb) * offset / max(total - size, 1)
        now = (size, ceil(thumb * 8), int(above * 8))
        if now != self._bar:
            self._bar = now
            bar.window_virtual_size, bar.window_size, bar.position = total, size, offset
        if view.follows:
            self._unseen = False
        self.tell_pointed()

    def tell_pointed(self) -> None:
        """Say on which message the cursor is, where it came to another."""
        now = self._under_cursor()
        if now != self._pointed:
            self._pointed = now
            if now:
                self._lit = ""  # what is drawn now shows where the cursor is, and nothing else
                self.post_message(self.Pointed(now))

    def _under_cursor(self) -> str:
        """Return the id of the message that keys act on, while they come here; empty for none."""
        index = self._current if self.has_focus else None
        return "" if index is None else self.entries[index].message.id

    def point_anew(self) -> None:
        """Say again on which message the cursor is: who hears it knows of another request."""
        self._pointed = ""
        self.tell_pointed()

    def move(self, lines: int) -> None:
        """Scroll by lines, up where they are negative."""
        if self.entries:
            self._viewport.scroll(lines)
            seen = {place.message for place, _ in self._viewport.rows}
            if self.cursor not in seen:
                self.cursor = None
            self._publish()

    def go_to_end(self) -> None:
        """Show the end, and follow it."""
        if self.entries:
            self.cursor = None
            self._viewport.follows = True
            self._settle()

    def go_to(self, index: int) -> None:
        """Show a message from its beginning and put the cursor on it."""
        self._viewport.reveal(index)
        self.cursor = index
        self._publish()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Follow the scroll bar, and whatever else moves the scroll position."""
        if round(old_value) != round(new_value) and self.entries and not self._is_resizing:
            delta = round(new_value) - round(old_value)
            if abs(delta) <= 3 * self._viewport.height:
                self._viewport.scroll(delta)
            else:
                self._viewport.jump(round(new_value))
            self._publish()
        super().watch_scroll_y(old_value, self.scroll_y)

    def scroll_to(self, x: float | None = None, y: float | None = None, **options: object) -> None:
        """Scroll at once: an animation would chase positions that are being corrected."""
        del x, options
        if y is not None:
            self.scroll_y = self.scroll_target_y = y

    def _size_updated(
        self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True
    ) -> bool:
        """Lay out anew at another width before it is drawn; the first line stays in sight."""
        self._is_resizing = True  # a position that fits the new size is no move of the reader's
        changed = super()._size_updated(size, virtual_size, container_size, layout)
        self._is_resizing = False
        self._bar = (0, 0, 0)  # it was given another size, and still has the old position
        self._fit()
        if self.entries and round(self.scroll_y) != self._viewport.offset:
            self._place()
        return changed

    def _fit(self) -> None:
        size = self.scrollable_content_region.size
        view = self._viewport
        if size == (self._width, view.height):
            return
        view.height = size.height
        if size.width != self._width:
            keep = None if view.follows else Place(view.top.message, view.top.part, 0)
            self._width = size.width
            self._layouts.resize(measure(size.width))
            self._search.lines_changed()
            self._empty = []
            view.load(self._layouts.heights(), keep=keep)
        self._lay_out()

    def _dress(self) -> None:
        """Have colours, from the first words on that are to be shown."""
        if self.is_attached and not self._look.is_attached:
            self.mount(self._look)

    def notify_style_update(self) -> None:
        """Forget the colours of the old theme."""
        self._palette.clear()
        self._painter.forget()
        super().notify_style_update()

    # Drawing

    def light(self, message_id: str) -> None:
        """Light up a message, wherever the cursor is; empty for none."""
        if message_id == self._lit:
            return
        others = {self._lit, message_id} - {self._under_cursor()}  # that looks the same, lit or not
        self._lit = message_id
        for y, (place, _) in enumerate(self._viewport.rows):
            if self.entries[place.message].message.id in others:
                self.refresh(Region(0, y, self._width, 1))

    def render_lines(self, crop: Region) -> list[Strip]:
        """Draw rows. They have no border and fill the width, so what was painted stays as it is:
        a frame of a reply that grows costs what is new in it.
        """
        selection, filters = self.text_selection, self.get_line_filters()
        _, background = self.background_colors
        strips: list[Strip] = []
        for y in crop.line_range:
            strip = self._row(y, self._width, selection)
            for each in filters:
                strip = strip.apply_filter(each, background)
            strips.append(strip)
        left, right = crop.column_span
        if left or right < self._width:
            return [strip.crop(left, right) for strip in strips]
        return strips

    def render_line(self, y: int) -> Strip:
        """Draw one row of the screen."""
        return self._row(y, self._width, self.text_selection)

    def _row(self, y: int, width: int, selection: Selection | None) -> Strip:
        view, painter = self._viewport, self._painter
        if not self.entries:
            return painter.centred(self._empty, y, width, view.height)
        if y >= len(view.rows):
            return painter.blank(width)
        if self._unseen and y == view.height - 1:
            return painter.new_text(width)
        place, line = view.rows[y]
        current = self.has_focus and place.message == self._current
        current = current or (
            bool(self._lit) and self.entries[place.message].message.id == self._lit
        )
        fill = self._layouts(place.message).fill
        strip = painter.line(line, width, fill=fill, current=current)
        for start, end, here in self._search.marks(place):
            style = self._palette("hit-here" if here else "hit")
            strip = picked.marked(strip, (start + GUTTER, end + GUTTER), style, GUTTER)
        span = selection and selection.get_span(picked.row_of(place))
        if span:
            strip = picked.marked(strip, span, self._selected, GUTTER)
        return strip

    @property
    def _selected(self) -> Style:
        return Style(bgcolor=self.screen.get_component_rich_style("screen--selection").bgcolor)

    @property
    def _current(self) -> int | None:
        """The message that keys act on: the cursor's, else the last, else the first in sight."""
        if not self.entries:
            return None
        if self.cursor is not None:
            return self.cursor
        if self._viewport.follows or not self._viewport.rows:
            return len(self.entries) - 1
        return self._viewport.rows[0][0].message

    def _all_lines(self, index: int) -> list[list[Line]]:
        layout = self._layouts(index)
        lines = [layout.lines(part) for part in range(len(layout.parts))]
        self._viewport.changed(index)
        return lines
