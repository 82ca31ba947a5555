"""A conversation on the screen: what is seen of it, where, and what is found in it.

One widget a message took 48 seconds for a thousand messages. Here nothing exists but the
lines on the screen: `Viewport` knows which those are, `Layouts` has them, `Painter` colours
them. What keys and clicks do is `Transcript`'s.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.timer import Timer

from tui_chat.model.reply import Reply
from tui_chat.model.session import Entry
from tui_chat.model.timing import NO_TIMING, Timing
from tui_chat.ui.chat import picked
from tui_chat.ui.chat.layouts import Layouts, in_common
from tui_chat.ui.chat.lines import Line
from tui_chat.ui.chat.look import Look
from tui_chat.ui.chat.markdown import markdown_lines
from tui_chat.ui.chat.painter import GUTTER, Painter, measure
from tui_chat.ui.chat.search import Search
from tui_chat.ui.chat.viewport import Place, Viewport
from tui_chat.ui.palette import Palette

REDRAW = 1 / 30
"""Seconds between two redraws of a growing reply, at least; thrice its cost, if that is more."""


class Reader(ScrollView, can_focus=True):
    """The messages of a branch, and the reply that is growing at its end."""

    ALLOW_SELECT = False  # Textual's selection knows screen rows; `Selecting` knows messages

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
        self._width = 0
        self._dirty = False
        self._drawn = 0.0
        self._cost = 0.0
        self._timer: Timer | None = None
        self._clock: Timer | None = None
        self._unseen = False
        self._placing = False
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

    # What is shown

    def show(
        self, entries: tuple[Entry, ...], timing_of: Callable[[Entry], Timing] | None = None
    ) -> None:
        """Show a branch, root to head. Entries that are the same objects cost nothing.

        A reader who scrolled up stays where they are, unless a message of theirs is new or
        the branch is of another session. `timing_of` tells how quickly replies came.
        """
        if timing_of is not None:
            self._layouts.timing_of = timing_of
        old = self.entries
        if entries is old:
            return
        self._dress()
        same = in_common(old, entries)
        goes_on = same > 0 or _is_next_version(old, entries)
        if not goes_on:
            self.cursor, self._unseen = None, False
        if same < min(len(old), len(entries)):
            self.screen.clear_selection()
        view = self._viewport
        keep = view.top if goes_on and not view.follows else None
        added = entries[len(old) :]
        if keep and (keep.message >= len(entries) or any(e.message.role == "user" for e in added)):
            keep = None
        if keep is None or (self.cursor is not None and self.cursor >= len(entries)):
            self.cursor = None
        self._unseen = self._unseen or (keep is not None and bool(added))
        self._layouts.take(entries)
        self._search.entries_changed()
        view.load(self._layouts.heights(), keep=keep)
        self._settle()
        self._run_clock()

    def welcome(self, text: str) -> None:
        """Set the Markdown of the first screen, shown while there are no entries."""
        if text != self._empty_text:
            self._dress()
            self._empty_text, self._empty = text, []
            self._settle()

    def stream(self, entry_id: str, reply: Reply, timing: Timing = NO_TIMING) -> None:
        """Show what has come of a streaming entry's reply; redraws a few dozen times a second."""
        if not self._layouts.offer(entry_id, reply, timing):
            return
        self._dirty = True
        if self._timer is None:
            wait = max(REDRAW, 3 * self._cost) - (monotonic() - self._drawn)
            if wait <= 0:
                self.flush()
            else:
                self._timer = self.set_timer(wait, self.flush)

    def flush(self) -> None:
        """Draw what `stream` was given and has waited."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        if not self._dirty:
            return
        self._dirty = False
        began = monotonic()
        for index in self._layouts.grow():
            self._viewport.changed(index)
        if not self._viewport.follows:
            self._unseen = True
        self._settle()
        self._drawn = monotonic()
        self._cost = self._drawn - began

    def _run_clock(self) -> None:
        """Count the seconds of a streaming reply."""
        if self._layouts.streaming():
            if self._clock is None:
                self._clock = self.set_interval(1, self._tick)
        elif self._clock is not None:
            self._clock.stop()
            self._clock = None

    def _tick(self) -> None:
        self._layouts.tick()
        self._settle()

    # Where the screen stands

    def _settle(self) -> None:
        """Lay out what is in sight and tell the scroll bar where that is."""
        view = self._viewport
        if not self._width:
            return
        if not self.entries and not self._empty and self._empty_text:
            self._empty = markdown_lines(self._empty_text, min(measure(self._width), 64))
        view.settle()
        self._publish()

    def _publish(self) -> None:
        view = self._viewport
        self._placing = True
        try:
            self.virtual_size = Size(self._width, max(view.total, 0))
            offset = view.offset
            self.scroll_y = self.scroll_target_y = offset
        finally:
            self._placing = False
        if view.follows:
            self._unseen = False
        self.refresh()

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
        if not self._placing and round(old_value) != round(new_value) and self.entries:
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

    def on_resize(self, event: events.Resize) -> None:
        """Lay out anew at another width; the first line stays in sight."""
        del event
        self._fit()

    def _fit(self) -> None:
        size = self.scrollable_content_region.size
        view = self._viewport
        view.height = size.height
        if size.width != self._width:
            keep = None if view.follows else Place(view.top.message, view.top.part, 0)
            self._width = size.width
            self._layouts.resize(measure(size.width))
            self._search.lines_changed()
            self._empty = []
            view.load(self._layouts.heights(), keep=keep)
        self._settle()
        if not self.entries:
            self.refresh()  # what stands in the middle has another one

    def _dress(self) -> None:
        """Have colours, from the first words on that are to be shown."""
        if self.is_attached and not self._look.is_attached:
            self.mount(self._look)

    def notify_style_update(self) -> None:
        """Forget the colours of the old theme."""
        self._palette.clear()
        super().notify_style_update()

    # Drawing

    def light(self, message_id: str) -> None:
        """Light up a message, wherever the cursor is; empty for none."""
        if message_id != self._lit:
            self._lit = message_id
            self.refresh()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Draw rows; Textual 8.2 does not tell every change of height with an event."""
        if self._width and self._viewport.height != self.size.height - self.styles.gutter.height:
            self.call_later(self._fit)
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        """Draw one row of the screen."""
        width = self.scrollable_content_region.width
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
        span = self.text_selection and self.text_selection.get_span(picked.row_of(place))
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

    def _refold(self, index: int) -> None:
        """Lay a message out again with its folds changed, its place on the screen kept."""
        view = self._viewport
        self._layouts(index).refold()
        view.changed(index)
        self._search.lines_changed()
        if view.follows and view.total > view.height:
            view.follows = index != len(self.entries) - 1
        self.screen.clear_selection()
        self._settle()


def _is_next_version(old: tuple[Entry, ...], new: tuple[Entry, ...]) -> bool:
    """Whether a branch that was read anew is of the same session."""
    return bool(old and new and old[0].message.id == new[0].message.id != "")
