"""The conversation, drawn line by line.

One widget a message took 48 seconds for a thousand messages. Here nothing exists but the
lines on the screen: `Viewport` knows which those are, `MessageLayout` lays them out, and this
widget turns them into strips, keys and clicks into movement and messages.
"""

from __future__ import annotations

from collections import OrderedDict
from time import monotonic
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
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
from tui_chat.ui.chat.lines import Line
from tui_chat.ui.chat.markdown import markdown_lines
from tui_chat.ui.chat.message import Live, MessageLayout, estimate
from tui_chat.ui.chat.viewport import Place, Viewport
from tui_chat.ui.palette import Palette

REDRAW = 1 / 30
"""Seconds between two redraws of a growing reply, at least; thrice its cost, if that is more."""
KEPT = 400
"""Messages whose layout is kept while they are out of sight."""
GUTTER = 2
"""Cells at the left: the bar that tells messages apart."""
MEASURE = 108
"""Cells of text in a line at most; longer lines are hard to read."""
WHEEL = 3
"""Lines a notch of the wheel scrolls."""
_NEW_TEXT = " ↓ new text below "


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
        self.entries: tuple[Entry, ...] = ()
        """What is shown, root to head."""
        self.cursor: int | None = None
        """Index of the message that keys act on; None for what the screen suggests."""
        self._viewport = Viewport(self._layout)
        self._palette = Palette(self, "transcript")
        self._layouts: OrderedDict[int, tuple[Entry, MessageLayout]] = OrderedDict()
        self._unfolded: set[str] = set()
        self._width = 0
        self._replies: dict[str, Reply] = {}
        self._since: dict[str, float] = {}
        self._dirty = False
        self._drawn = 0.0
        self._cost = 0.0
        self._timer: Timer | None = None
        self._clock: Timer | None = None
        self._unseen = False
        self._placing = False
        self._empty_text = ""
        self._empty: list[Line] = []

    # What is shown

    def show(self, entries: tuple[Entry, ...]) -> None:
        """Show a branch, root to head. Entries that are the same objects cost nothing."""
        old = self.entries
        if entries is old:
            return
        same = 0
        for before, now in zip(old, entries, strict=False):
            if before is not now:
                break
            same += 1
        goes_on = same > 0 or self._is_next_version(old, entries)
        if not goes_on:
            self.cursor = None
            self._unseen = False
        elif self.cursor is not None and self.cursor >= len(entries):
            self.cursor = None
        if same < min(len(old), len(entries)):
            self.screen.clear_selection()
        view = self._viewport
        keep = view.top if goes_on and not view.follows else None
        if keep and keep.message >= len(entries):
            keep = None
        self._unseen = self._unseen or (keep is not None and len(entries) > len(old))
        grown = self._grown()
        self.entries = entries
        living = {e.message.id for e in entries if e.status == "streaming"}
        self._replies = {key: value for key, value in self._replies.items() if key in living}
        now = monotonic()
        self._since = {key: self._since.get(key, now) for key in living}
        for index in range(max(len(entries) - 2, 0), len(entries)):
            layout = grown.get(entries[index].message.id)
            if layout is not None and layout.entry is not entries[index]:
                self._make(index, layout)
        view.load(self._estimates(), keep=keep)
        self._settle()
        self._run_clock()

    def welcome(self, text: str) -> None:
        """Set the Markdown of the first screen, shown while there are no entries."""
        if text != self._empty_text:
            self._empty_text, self._empty = text, []
            self._settle()

    def stream(self, entry_id: str, reply: Reply) -> None:
        """Show what has come of a streaming entry's reply; redraws a few dozen times a second."""
        if self._replies.get(entry_id) is reply:
            return
        self._replies[entry_id] = reply
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
        for index in self._streaming():
            entry = self.entries[index]
            reply = self._replies.get(entry.message.id)
            if reply is not None:
                live = Live(self._age(entry), reply)
                self._layout(index).grow(live)
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

    # Laying out

    def _layout(self, index: int) -> MessageLayout:
        entry = self.entries[index]
        found = self._layouts.get(id(entry))
        if found is not None and found[0] is entry:
            self._layouts.move_to_end(id(entry))
            return found[1]
        return self._make(index)

    def _make(self, index: int, grown: MessageLayout | None = None) -> MessageLayout:
        entry = self.entries[index]
        live = None
        if entry.status == "streaming":
            live = Live(self._age(entry), self._replies.get(entry.message.id))
        day = label.day_of(entry)
        if index and day == label.day_of(self.entries[index - 1]):
            day = ""
        layout = MessageLayout(
            entry, self._measure, day=day, unfolded=self._unfolded, live=live, grown=grown
        )
        self._layouts[id(entry)] = (entry, layout)
        if len(self._layouts) > KEPT:
            self._layouts.popitem(last=False)
        return layout

    def _estimates(self) -> list[int]:
        width, known = self._measure, self._layouts
        heights: list[int] = []
        for entry in self.entries:
            found = known.get(id(entry))
            if found is not None and found[0] is entry:
                heights.append(found[1].height)
            else:
                heights.append(estimate(entry.message.content, width) + 2)
        return heights

    def _grown(self) -> dict[str, MessageLayout]:
        """Layouts of what is streaming, for the finished messages to take over."""
        return {
            self.entries[index].message.id: self._layout(index)
            for index in self._streaming()
            if self.entries[index].message.id in self._replies and self._width
        }

    def _streaming(self) -> list[int]:
        """Return where entries stream; they are at the end of a branch."""
        count = len(self.entries)
        return [i for i in range(max(count - 2, 0), count) if self.entries[i].status == "streaming"]

    def _age(self, entry: Entry) -> float:
        return monotonic() - self._since.setdefault(entry.message.id, monotonic())

    @staticmethod
    def _is_next_version(old: tuple[Entry, ...], new: tuple[Entry, ...]) -> bool:
        return (
            bool(old and new)
            and bool(new[0].message.id)
            and (old[0].message.id == new[0].message.id)
        )

    @property
    def _measure(self) -> int:
        return max(min(self._width - GUTTER - 1, MEASURE), 8)

    # Where the screen stands

    def _settle(self) -> None:
        """Lay out what is in sight and tell the scroll bar where that is."""
        view = self._viewport
        if not self._width:
            return
        if not self.entries and not self._empty and self._empty_text:
            self._empty = markdown_lines(self._empty_text, min(self._measure, 64))
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
            self._layouts.clear()
            self._empty = []
            view.load(self._estimates(), keep=keep)
        self._settle()

    def notify_style_update(self) -> None:
        """Forget the colours of the old theme."""
        self._palette.clear()
        super().notify_style_update()

    def _run_clock(self) -> None:
        """Count the seconds of a streaming reply."""
        if self._streaming():
            if self._clock is None:
                self._clock = self.set_interval(1, self._tick)
        elif self._clock is not None:
            self._clock.stop()
            self._clock = None

    def _tick(self) -> None:
        for index in self._streaming():
            self._layout(index).tick(self._age(self.entries[index]))
        self._settle()

    # Drawing

    def render_line(self, y: int) -> Strip:
        """Draw one row of the screen."""
        width = self.scrollable_content_region.width
        base = self._palette()
        if not self.entries:
            return self._empty_line(y, width, base)
        rows = self._viewport.rows
        if y >= len(rows):
            return Strip.blank(width, base)
        place, line = rows[y]
        if self._unseen and y == self._viewport.height - 1:
            return self._new_text(width, base)
        strip = self._strip(place, line, width)
        row = picked.row_of(place)
        span = self.text_selection and self.text_selection.get_span(row)
        if span:
            strip = picked.marked(strip, span, self._selection_style)
        return strip.apply_offsets(0, row)

    def _strip(self, place: Place, line: Line, width: int) -> Strip:
        layout = self._layout(place.message)
        palette = self._palette
        ground = "" if line.bare else layout.fill
        plain = palette(ground)
        pieces: list[Segment] = [self._bar(place.message, line, ground, layout)]
        for text, styles, link in line.runs:
            style = palette(ground, line.fill, *styles)
            if link:
                style += Style.from_meta({"link": link})
            pieces.append(Segment(text, style))
        inside = palette(ground, line.fill)
        strip = Strip(pieces)
        if line.fill:
            strip = strip.adjust_cell_length(min(GUTTER + self._measure, width), inside)
        return strip.adjust_cell_length(width, plain)

    def _bar(self, message: int, line: Line, ground: str, layout: MessageLayout) -> Segment:
        palette = self._palette
        if line.bare:
            return Segment(" " * GUTTER, palette(ground))
        if self.has_focus and message == self._current:
            return Segment("▌ ", palette(ground, "cursor-bar"))
        if layout.fill == "user":
            return Segment("▌ ", palette(ground, "user-bar"))
        return Segment(" " * GUTTER, palette(ground))

    def _new_text(self, width: int, base: Style) -> Strip:
        words = _NEW_TEXT if cell_len(_NEW_TEXT) <= width else "↓"
        left = (width - cell_len(words)) // 2
        style = self._palette("new-text") + Style.from_meta({"end": True})
        strip = Strip([Segment(" " * left, base), Segment(words, style)])
        return strip.adjust_cell_length(width, base)

    def _empty_line(self, y: int, width: int, base: Style) -> Strip:
        lines = self._empty
        top = max((self._viewport.height - len(lines)) // 2 - 1, 0)
        if not top <= y < top + len(lines):
            return Strip.blank(width, base)
        wide = max(sum(cell_len(piece.text) for piece in line.runs) for line in lines)
        left = max((width - wide) // 2, 0)
        line = lines[y - top]
        pieces = [Segment(" " * left, base)]
        pieces += [Segment(piece.text, self._palette(*piece.styles)) for piece in line.runs]
        return Strip(pieces).adjust_cell_length(width, base)

    # Selecting with the mouse

    @property
    def _selection_style(self) -> Style:
        return self.screen.get_component_rich_style("screen--selection")

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return what is selected: whole messages as written, parts of them as drawn."""
        if not self.entries:
            return None
        text = picked.text_of(selection, self.entries, self._all_lines, GUTTER)
        return text, "\n"

    def _all_lines(self, index: int) -> list[list[Line]]:
        layout = self._layout(index)
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
        folds = self._layout(current).folds
        if not folds:
            return
        if any(key in self._unfolded for key in folds):
            self._unfolded.difference_update(folds)
        else:
            self._unfolded.update(folds)
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
            self.post_message(self.CopyRequested(self._source(self.entries[current])))

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
            self._unfolded ^= {line.action.key}
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
        self._layout(index).refold()
        view.changed(index)
        if view.follows and view.total > view.height:
            view.follows = index != len(self.entries) - 1
        self.screen.clear_selection()
        self._settle()

    def _source(self, entry: Entry) -> str:
        reply = self._replies.get(entry.message.id)
        return reply.text if reply else entry.message.content

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
