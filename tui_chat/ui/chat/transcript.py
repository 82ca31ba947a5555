"""The conversation, drawn line by line.

One widget a message took 48 seconds for a thousand messages. Here nothing exists but the
lines on the screen: `Viewport` knows which those are, `Layouts` has them, `Painter`
colours them, and this widget turns keys and clicks into movement and messages.
"""

from __future__ import annotations

from time import monotonic
from typing import ClassVar

from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.timer import Timer

from tui_chat.model.reply import Reply
from tui_chat.model.session import Entry
from tui_chat.ui.chat import label, look, picked
from tui_chat.ui.chat.layouts import Layouts
from tui_chat.ui.chat.lines import Line
from tui_chat.ui.chat.markdown import markdown_lines
from tui_chat.ui.chat.painter import GUTTER, Painter, measure
from tui_chat.ui.chat.viewport import Place, Viewport
from tui_chat.ui.palette import Palette

REDRAW = 1 / 30
"""Seconds between two redraws of a growing reply, at least; thrice its cost, if that is more."""
WHEEL = 3
"""Lines a notch of the wheel scrolls."""


class Transcript(ScrollView, can_focus=True):
    """The messages of a branch, and the reply that is growing at its end."""

    COMPONENT_CLASSES: ClassVar[set[str]] = look.COMPONENT_CLASSES
    DEFAULT_CSS = look.CSS

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home,g", "begin", "Beginning", show=False),
        Binding("end,G", "end", "End", show=False),
        Binding(
            "ctrl+up,alt+up,left_square_bracket", "message(-1)", "Previous message", show=False
        ),
        Binding(
            "ctrl+down,alt+down,right_square_bracket", "message(1)", "Next message", show=False
        ),
        Binding("space,enter", "unfold", "Unfold", show=False),
        Binding("r", "retry", "Retry"),
        Binding("c,y", "copy", "Copy message"),
    ]

    class RetryRequested(Message):
        """The reply is to be asked for again."""

        def __init__(self, entry_id: str) -> None:
            super().__init__()
            self.entry_id = entry_id

    class CopyRequested(Message):
        """Text is to be put on the clipboard."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class LinkClicked(Message):
        """A link was clicked; its target comes from the model and is not to be trusted."""

        def __init__(self, url: str) -> None:
            super().__init__()
            self.url = url

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.cursor: int | None = None
        """Index of the message that keys act on; None for what the screen suggests."""
        self._layouts = Layouts()
        self._viewport = Viewport(self._layouts)
        self._palette = Palette(self, "transcript")
        self._painter = Painter(self._palette)
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

    # What is shown

    def show(self, entries: tuple[Entry, ...]) -> None:
        """Show a branch, root to head. Entries that are the same objects cost nothing.

        A reader who scrolled up stays where they are, unless a message of theirs is new or
        the branch is of another session.
        """
        old = self.entries
        if entries is old:
            return
        same = _in_common(old, entries)
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
        view.load(self._layouts.heights(), keep=keep)
        self._settle()
        self._run_clock()

    def welcome(self, text: str) -> None:
        """Set the Markdown of the first screen, shown while there are no entries."""
        if text != self._empty_text:
            self._empty_text, self._empty = text, []
            self._settle()

    def stream(self, entry_id: str, reply: Reply) -> None:
        """Show what has come of a streaming entry's reply; redraws a few dozen times a second."""
        if not self._layouts.offer(entry_id, reply):
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

    def reveal(self, message_id: str) -> bool:
        """Scroll to a message and put the cursor on it; False where it is not shown."""
        for index, entry in enumerate(self.entries):
            if entry.message.id == message_id:
                self._go_to(index)
                return True
        return False

    @property
    def follows(self) -> bool:
        """Whether the end is in sight, and kept there."""
        return self._viewport.follows

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

    def _on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.prevent_default()
        event.stop()
        self.action_move(WHEEL)

    def _on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.prevent_default()
        event.stop()
        self.action_move(-WHEEL)

    def on_resize(self, event: events.Resize) -> None:
        """Lay out anew at another width; the first line stays in sight."""
        del event
        size = self.scrollable_content_region.size
        view = self._viewport
        view.height = size.height
        if size.width != self._width:
            keep = None if view.follows else Place(view.top.message, view.top.part, 0)
            self._width = size.width
            self._layouts.resize(measure(size.width))
            self._empty = []
            view.load(self._layouts.heights(), keep=keep)
        self._settle()

    def notify_style_update(self) -> None:
        """Forget the colours of the old theme."""
        self._palette.clear()
        super().notify_style_update()

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

    # Drawing

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
        fill = self._layouts(place.message).fill
        strip = painter.line(line, width, fill=fill, current=current)
        row = picked.row_of(place)
        span = self.text_selection and self.text_selection.get_span(row)
        if span:
            strip = picked.marked(strip, span, self._selected, GUTTER)
        return strip.apply_offsets(0, row)

    # Selecting with the mouse

    @property
    def _selected(self) -> Style:
        return Style(bgcolor=self.screen.get_component_rich_style("screen--selection").bgcolor)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return what is selected: whole messages as written, parts of them as drawn."""
        if not self.entries:
            return None
        text = picked.text_of(selection, self.entries, self._all_lines, GUTTER)
        return text, "\n"

    def _all_lines(self, index: int) -> list[list[Line]]:
        layout = self._layouts(index)
        lines = [layout.lines(part) for part in range(len(layout.parts))]
        self._viewport.changed(index)
        return lines

    def selection_updated(self, selection: Selection | None) -> None:
        """Draw the selection."""
        del selection
        self.refresh()

    # Keys and clicks

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

    def action_move(self, lines: int) -> None:
        """Scroll by lines."""
        if not self.entries:
            return
        self._viewport.scroll(lines)
        self._forget_unseen_cursor()
        self._publish()

    def action_page(self, direction: int) -> None:
        """Scroll by a screen, less two lines to find one's place."""
        self.action_move(direction * max(self._viewport.height - 2, 1))

    def action_begin(self) -> None:
        """Go to the first message."""
        if self.entries:
            self._viewport.reveal(0)
            self.cursor = None
            self._publish()

    def action_end(self) -> None:
        """Go to the end, and follow it."""
        if self.entries:
            self.cursor = None
            self._viewport.follows = True
            self._settle()

    def action_message(self, step: int) -> None:
        """Put the cursor on the previous or next message."""
        current = self._current
        if current is None:
            return
        top = self._viewport.top
        if self.cursor is None and step < 0 and (top.message, top.part) != (current, 0):
            self._go_to(current)
        elif current + step >= len(self.entries):
            self.action_end()
        else:
            self._go_to(max(current + step, 0))

    def action_unfold(self) -> None:
        """Fold or unfold what the message has folded."""
        current = self._current
        if current is None:
            return
        folds = self._layouts(current).folds
        if not folds:
            return
        if any(key in self._layouts.unfolded for key in folds):
            self._layouts.unfolded.difference_update(folds)
        else:
            self._layouts.unfolded.update(folds)
        self._refold(current)

    def action_retry(self) -> None:
        """Ask for the reply again."""
        current = self._current
        if current is not None and self.entries[current].status in label.RETRYABLE:
            self.post_message(self.RetryRequested(self.entries[current].message.id))

    def action_copy(self) -> None:
        """Copy what is selected, else the message."""
        chosen = self.screen.get_selected_text() if self.text_selection else None
        current = self._current
        if chosen:
            self.post_message(self.CopyRequested(chosen))
        elif current is not None:
            self.post_message(self.CopyRequested(self._layouts.source(current)))

    def on_click(self, event: events.Click) -> None:
        """Follow links, unfold, retry, and put the cursor on the message."""
        meta = event.style.meta
        if meta.get("end"):
            self.action_end()
            return
        if link := meta.get("link"):
            self.post_message(self.LinkClicked(str(link)))
            return
        row = event.get_content_offset_capture(self).y
        if self.screen.selections or not 0 <= row < len(self._viewport.rows):
            return
        place, line = self._viewport.rows[row]
        self.cursor = place.message
        if line.action and line.action.name == "toggle":
            self._layouts.unfolded ^= {line.action.key}
            self._refold(place.message)
        elif line.action:
            self.post_message(self.RetryRequested(self.entries[place.message].message.id))
        self.refresh()

    def on_focus(self) -> None:
        """Show the cursor."""
        self.refresh()

    def on_blur(self) -> None:
        """Hide the cursor."""
        self.refresh()

    def _refold(self, index: int) -> None:
        """Lay a message out again with its folds changed, its place on the screen kept."""
        view = self._viewport
        self._layouts(index).refold()
        view.changed(index)
        if view.follows and view.total > view.height:
            view.follows = index != len(self.entries) - 1
        self.screen.clear_selection()
        self._settle()

    def _go_to(self, index: int) -> None:
        self._viewport.reveal(index)
        self.cursor = index
        self._publish()

    def _forget_unseen_cursor(self) -> None:
        if self.cursor is None or not self._viewport.rows:
            return
        seen = {place.message for place, _ in self._viewport.rows}
        if self.cursor not in seen:
            self.cursor = None


def _in_common(old: tuple[Entry, ...], new: tuple[Entry, ...]) -> int:
    """Count the entries that both branches begin with."""
    for index, (before, now) in enumerate(zip(old, new, strict=False)):
        if before is not now:
            return index
    return min(len(old), len(new))


def _is_next_version(old: tuple[Entry, ...], new: tuple[Entry, ...]) -> bool:
    """Whether a branch that was read anew is of the same session."""
    return bool(old and new and old[0].message.id == new[0].message.id != "")
