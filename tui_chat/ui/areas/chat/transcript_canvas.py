"""Shows a branch: which rows are on the screen, how it scrolls, and how a reply grows.

A widget for each message took 48 seconds for a thousand messages. Here only the lines on the
screen exist: `Viewport` knows which they are, `BranchLayout` lays them out, `LinePainter` paints
them. What keys and clicks do is in `transcript`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from time import monotonic
from typing import TYPE_CHECKING, cast

from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from tui_chat.models.usage import NO_TIMING, Timing
from tui_chat.ui.areas.chat import selection as selecting
from tui_chat.ui.areas.chat.branch_layout import (
    BranchLayout,
    added_above,
    common_beginning,
    is_other_version,
)
from tui_chat.ui.areas.chat.line_painter import (
    GUTTER,
    LinePainter,
    TranscriptFrame,
    text_width,
)
from tui_chat.ui.areas.chat.transcript_messages import CursorMoved
from tui_chat.ui.areas.chat.transcript_search import TranscriptSearch
from tui_chat.ui.areas.chat.viewport import START, LinePosition, Viewport, line_at, share_above
from tui_chat.ui.areas.chat.welcome import welcome_lines
from tui_chat.ui.widgets.component_styles import ComponentStyles
from tui_chat.ui.widgets.thin_scroll import ThinScrollView

if TYPE_CHECKING:
    from textual.reactive import Reactive
    from textual.selection import Selection

    from tui_chat.models.reply import Reply
    from tui_chat.models.session import Entry
    from tui_chat.ui.areas.chat.text_lines import TextLine

REDRAW_INTERVAL = 1 / 30
"""Minimum seconds between two redraws of a growing reply; three times its cost, if that is more."""
WHEEL_LINES = 3
"""Lines that a notch of the mouse wheel scrolls."""
EMPTY_TEXT_WIDTH = 64
"""Maximum cells of a line of the first screen."""

_SCROLL_Y = Widget.scroll_y
_SCROLL_TARGET_Y = cast("Reactive[float]", Widget.scroll_target_y)


class TranscriptCanvas(ThinScrollView, can_focus=True):
    """A window on a branch and on the reply that grows at its end."""

    ALLOW_SELECT = False  # Textual selects rows of the screen; `MouseSelection` knows messages

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.cursor: int | None = None
        """Index of the message that keys act on; None if it follows from what is on the screen."""
        self._layouts = BranchLayout()
        self._viewport = Viewport(self._layouts)
        self._search = TranscriptSearch(self._layouts)
        self._mouse = selecting.MouseSelection(self, self._viewport, self._layouts, self.scroll_by)
        self._palette = ComponentStyles(self, "transcript")
        self._painter = LinePainter(self._palette)
        self._session_id: str | None = None
        self._highlighted = ""
        """Id of the message that is highlighted from outside."""
        self._reported_cursor = ""
        """Id of the message in the last `CursorMoved`."""
        self._width = 0
        self._has_unseen_text = False
        self._is_resizing = False
        self._kept = START, 0.0
        """The top row at the last change of width, and the share of its part's text above it."""
        self._bar_state = (0, 0, 0)
        """Height of the scroll bar; of its thumb and of what is above, in eighths of a cell."""
        self._empty_text = ""
        self._empty_lines: list[TextLine] = []
        self._is_stale = False
        """True if a reply grew that is not drawn yet."""
        self._drawn_at = 0.0
        self._draw_cost = 0.0
        self._redraw_timer: Timer | None = None
        self._clock: Timer | None = None

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The entries of the branch, root to head."""
        return self._layouts.entries

    @property
    def follows(self) -> bool:
        """True while the end is in sight, and kept there."""
        return self._viewport.follows

    # What is shown

    def show(
        self,
        entries: tuple[Entry, ...],
        timing_of: Callable[[Entry], Timing] | None = None,
        session_id: str | None = None,
    ) -> None:
        """Show a branch, root to head. Entries that are the same objects cost nothing.

        Another version of a message, and the last reply of a session that is opened, are shown from
        their first line on. A reader who scrolled up keeps the place, unless the user sent a
        message or the branch is of another session. The place is also kept when earlier messages
        are added above, and when the first message is shown in another version, which `session_id`
        tells from another session. `timing_of` returns the timing of a finished reply.
        """
        if timing_of is not None:
            self._layouts.timing_of = timing_of
        same_session = session_id is not None and session_id == self._session_id
        self._session_id = session_id
        old = self.entries
        if entries is old:
            return
        same = common_beginning(old, entries)
        above = added_above(old, entries)
        same_first = bool(old and entries) and old[0].message.id == entries[0].message.id != ""
        is_other = not (same_session or same > 0 or above > 0 or same_first)
        if is_other:
            self.cursor, self._has_unseen_text = None, False
            keep = None
        else:
            keep = None if self._viewport.follows else self._viewport.top
        if same < min(len(old), len(entries)):
            self.screen.clear_selection()
        added = entries[len(old) + above :]
        user_spoke = any(entry.message.role == "user" for entry in added)
        if above and keep is not None:
            keep = keep._replace(message=keep.message + above)
        if above and self.cursor is not None:
            self.cursor += above
        if keep and (keep.message >= len(entries) or user_spoke):
            keep = None
        if user_spoke or (self.cursor is not None and self.cursor >= len(entries)):
            self.cursor = None
        self._has_unseen_text = self._has_unseen_text or (keep is not None and bool(added))
        self._layouts.set_entries(entries)
        self._search.entries_changed()
        self._viewport.load(self._layouts.heights(), keep=keep)
        if is_other and entries and entries[-1].message.role == "assistant":
            self._reveal(len(entries) - 1)
        elif not is_other and is_other_version(old, entries, same):
            self._has_unseen_text = False
            self._reveal(same)
        self._redraw()
        self._run_clock()

    def _reveal(self, index: int) -> None:
        """Show a finished message from its first line on, or the end if all of it fits there."""
        if self._width and self.entries[index].status != "streaming":
            self._viewport.reveal(index)

    def show_when_empty(self, text: str) -> None:
        """Set the Markdown of `welcome`, shown while there are no entries."""
        if text != self._empty_text:
            self._empty_text, self._empty_lines = text, []
            self._redraw()

    def stream(self, entry_id: str, reply: Reply, timing: Timing = NO_TIMING) -> None:
        """Show a streaming entry's reply as far as it came; redraws some 30 times a second."""
        if not self._layouts.set_reply(entry_id, reply, timing):
            return
        self._is_stale = True
        if self._redraw_timer is None:
            interval = max(REDRAW_INTERVAL, 3 * self._draw_cost)
            wait = interval - (monotonic() - self._drawn_at)
            if wait <= 0:
                self.flush()
            else:
                self._redraw_timer = self.set_timer(wait, self.flush)

    def flush(self) -> None:
        """Draw the replies that `stream` received since the last redraw."""
        if self._redraw_timer is not None:
            self._redraw_timer.stop()
            self._redraw_timer = None
        if not self._is_stale:
            return
        self._is_stale = False
        began = monotonic()
        before = self._frame()
        for index in self._layouts.grow():
            self._viewport.update_height(index)
        if not self._viewport.follows:
            self._has_unseen_text = True
        self._redraw_changes(before)
        self._drawn_at = monotonic()
        self._draw_cost = self._drawn_at - began

    def _run_clock(self) -> None:
        """Count the seconds of a streaming reply."""
        if self._layouts.streaming():
            if self._clock is None:
                self._clock = self.set_interval(1, self._tick)
        elif self._clock is not None:
            self._clock.stop()
            self._clock = None

    def _tick(self) -> None:
        before = self._frame()
        self._layouts.tick()
        self._redraw_changes(before)

    def _refold(self, index: int) -> None:
        """Lay a message out again after its folds changed; its place on the screen is kept."""
        view = self._viewport
        self._layouts(index).assemble()
        view.update_height(index)
        self._search.lines_changed()
        if view.follows and view.total > view.height:
            view.follows = index != len(self.entries) - 1
        self.screen.clear_selection()
        self._redraw()

    # Layout and scrolling

    def _redraw(self) -> None:
        """Lay out what is in sight, and draw all of it."""
        if self._width:
            self._lay_out()
            self.refresh()

    def _frame(self) -> TranscriptFrame:
        view = self._viewport
        current = self._current if self.has_focus else None
        return TranscriptFrame(current, self._has_unseen_text, view.rows, view.height)

    def _redraw_changes(self, before: TranscriptFrame) -> None:
        """Lay out what is in sight, and draw the rows that differ from an earlier frame."""
        if self._width:
            self._lay_out()
            for start, count in self._frame().changed_rows(before):
                self.refresh(Region(0, start, self._width, count))

    def _lay_out(self) -> None:
        if not self.entries and not self._empty_lines and self._empty_text:
            width = min(text_width(self._width), EMPTY_TEXT_WIDTH)
            self._empty_lines = welcome_lines(self._empty_text, width)
        self._viewport.lay_out()
        self._update_scroll_bar()

    def _scrolled(self) -> None:
        self._update_scroll_bar()
        self.refresh()

    def _update_scroll_bar(self) -> None:
        # `set_reactive` sets the position without its watcher, which would scroll and lay out.
        view = self._viewport
        total, offset = view.total, float(view.offset)
        self.set_extent(Size(self._width, total))
        self.set_reactive(_SCROLL_Y, offset)
        self.set_reactive(_SCROLL_TARGET_Y, offset)
        bar, size = self.vertical_scrollbar, view.height
        # Drawing the bar costs as much as drawing the text, and it moves in eighths of a cell.
        thumb = max(1, size * size / max(total, 1))
        above = (size - thumb) * offset / max(total - size, 1)
        state = (size, ceil(thumb * 8), int(above * 8))
        if state != self._bar_state:
            self._bar_state = state
            bar.window_virtual_size, bar.window_size, bar.position = total, size, offset
        if view.follows:
            self._has_unseen_text = False
        self.report_cursor()

    def scroll_by(self, lines: int) -> None:
        """Scroll by lines, up if they are negative."""
        if self.entries:
            self._viewport.scroll(lines)
            if self.cursor not in {position.message for position, _ in self._viewport.rows}:
                self.cursor = None
            self._scrolled()

    def go_to_end(self) -> None:
        """Show the end, and follow it."""
        if self.entries:
            self.cursor = None
            self._viewport.follows = True
            self._redraw()

    def go_to(self, index: int) -> None:
        """Show a message from its first line on, and move the cursor to it."""
        self._viewport.reveal(index)
        self.cursor = index
        self._scrolled()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Follow the scroll bar, and whatever else changes the scroll position."""
        if round(old_value) != round(new_value) and self.entries and not self._is_resizing:
            delta = round(new_value) - round(old_value)
            if abs(delta) <= 3 * self._viewport.height:
                self._viewport.scroll(delta)
            else:
                self._viewport.jump(round(new_value))
            self._scrolled()
        super().watch_scroll_y(old_value, self.scroll_y)

    def scroll_to(self, x: float | None = None, y: float | None = None, **options: object) -> None:
        """Scroll at once: an animation would chase positions that are still being corrected."""
        del x, options
        if y is not None:
            self.scroll_y = self.scroll_target_y = y

    def _on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._scroll_by_wheel(event, WHEEL_LINES)

    def _on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._scroll_by_wheel(event, -WHEEL_LINES)

    def _scroll_by_wheel(self, event: events.MouseEvent, lines: int) -> None:
        # In place of Textual's handlers, which scroll to an offset that may be an estimate.
        event.prevent_default()
        event.stop()
        self.scroll_by(lines)
        self._mouse.scrolled()

    def _size_updated(
        self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True
    ) -> bool:
        # Textual draws right after this and sends `Resize` later: a handler of that event would
        # draw everything at the old width first. The first line stays in sight.
        self._is_resizing = True  # a position clamped to the new size is no scrolling of the user
        changed = super()._size_updated(size, virtual_size, container_size, layout)
        self._is_resizing = False
        self._bar_state = (0, 0, 0)  # the bar has another size, and still the old position
        self._fit()
        if self.entries and round(self.scroll_y) != self._viewport.offset:
            self._update_scroll_bar()
        return changed

    def _fit(self) -> None:
        size = self.scrollable_content_region.size
        view = self._viewport
        if size == (self._width, view.height):
            return
        view.height = size.height
        if size.width != self._width:
            message, part, line = view.top
            if view.top != self._kept[0]:  # else no rounding adds up while a border moves
                is_within = bool(self.entries and line and not view.follows)
                lines = self._layouts(message).lines(part) if is_within else ()
                self._kept = view.top, share_above(lines, line)
            self._width = size.width
            self._layouts.resize(text_width(size.width))
            self._search.lines_changed()
            self._empty_lines = []
            heights, share = self._layouts.heights(), self._kept[1]
            line = line_at(self._layouts(message).lines(part), share) if share else 0
            keep = None if view.follows else LinePosition(message, part, line)
            self._kept = keep or START, share
            view.load(heights, keep=keep)
        self._lay_out()

    # The cursor

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

    @property
    def current_index(self) -> int | None:
        """The index of the message that keys act on; None if there is none."""
        return self._current

    @property
    def current(self) -> Entry | None:
        """The entry that keys act on."""
        index = self._current
        return None if index is None else self.entries[index]

    def report_cursor(self) -> None:
        """Post `CursorMoved` if the cursor came to another message while this has the focus."""
        now = self._id_under_cursor()
        if now != self._reported_cursor:
            self._reported_cursor = now
            if now:
                self._highlighted = ""  # a bar now marks the cursor and nothing else
                self.post_message(CursorMoved(now))

    def repost_cursor(self) -> None:
        """Post `CursorMoved` again, for a receiver that has another request to point into."""
        self._reported_cursor = ""
        self.report_cursor()

    def _id_under_cursor(self) -> str:
        index = self._current if self.has_focus else None
        return "" if index is None else self.entries[index].message.id

    def highlight(self, message_id: str) -> None:
        """Highlight a message like the cursor's; an empty id ends it."""
        if message_id == self._highlighted:
            return
        # The message under the cursor looks the same either way.
        changed = {self._highlighted, message_id} - {self._id_under_cursor()}
        self._highlighted = message_id
        for y, (position, _) in enumerate(self._viewport.rows):
            if self.entries[position.message].message.id in changed:
                self.refresh(Region(0, y, self._width, 1))

    # Selection

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Start a selection."""
        self._mouse.press(event)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Extend the selection while a button is down."""
        self._mouse.drag(event)

    def on_mouse_up(self) -> None:
        """End the selection."""
        self._mouse.release()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the selected text, for Textual to copy, and the end of its lines."""
        if not self.entries:
            return None
        return selecting.selected_text(selection, self.entries, self._all_lines), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """Draw the selection."""
        del selection
        self.refresh()

    def _all_lines(self, index: int) -> list[list[TextLine]]:
        layout = self._layouts(index)
        lines = [layout.lines(part) for part in range(len(layout.parts))]
        self._viewport.update_height(index)
        return lines

    # Drawing

    def notify_style_update(self) -> None:
        """Drop the colours of the old theme."""
        self._palette.clear()
        self._painter.clear()
        super().notify_style_update()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the rows of a region. They have no border and fill the width, so a painted line
        is used as it is: a frame of a growing reply costs what is new in it.
        """
        selection, filters = self.text_selection, self.get_line_filters()
        _, background = self.background_colors
        strips: list[Strip] = []
        for y in crop.line_range:
            strip = self._row(y, self._width, selection)
            for line_filter in filters:
                strip = strip.apply_filter(line_filter, background)
            strips.append(strip)
        left, right = crop.column_span
        if left or right < self._width:
            return [strip.crop(left, right) for strip in strips]
        return strips

    def render_line(self, y: int) -> Strip:
        """Return one row of the screen."""
        return self._row(y, self._width, self.text_selection)

    def _row(self, y: int, width: int, selection: Selection | None) -> Strip:
        view, painter = self._viewport, self._painter
        if not self.entries:
            return painter.centered(self._empty_lines, y, width, view.height)
        if y >= len(view.rows):
            return painter.blank(width)
        if self._has_unseen_text and y == view.height - 1:
            return painter.new_text_mark(width)
        position, line = view.rows[y]
        current = self.has_focus and position.message == self._current
        if self._highlighted and not current:
            current = self.entries[position.message].message.id == self._highlighted
        fill = self._layouts(position.message).fill
        strip = painter.line(line, width, fill=fill, current=current)
        for start, end, is_current in self._search.marks(position):
            style = self._palette("hit-here" if is_current else "hit")
            strip = selecting.highlight(strip, (start + GUTTER, end + GUTTER), style)
        span = selection and selection.get_span(selecting.row_number(position))
        if span:
            color = self.screen.get_component_rich_style("screen--selection").bgcolor
            strip = selecting.highlight(strip, span, Style(bgcolor=color))
        return strip
