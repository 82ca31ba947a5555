"""The transcript: a branch, the reply that grows at its end, and what keys and clicks do there.

A widget for each message took 48 seconds for a thousand messages. Here only the lines on the
screen exist: `BlockView` knows which they are, `BranchLayout` lays them out, `line_painter` paints
them.

What concerns only the screen is done here: moving, folding, finding, copying. Keys and clicks that
concern the conversation run actions of `MessageArea`, which asks for the entry under the cursor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.actions import SkipAction
from textual.binding import BindingType
from textual.message import Message
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.usage import NO_TIMING, Timing
from tui_chat.ui.actions import place_bindings
from tui_chat.ui.chat import line_painter as painting
from tui_chat.ui.chat import selection as selecting
from tui_chat.ui.chat.branch_change import branch_change
from tui_chat.ui.chat.branch_layout import BranchLayout
from tui_chat.ui.chat.code_blocks import CodeView
from tui_chat.ui.chat.message_items import MessageItems
from tui_chat.ui.chat.reply_redraw import ReplyRedraw
from tui_chat.ui.chat.text_lines import ClickAction, TextLine
from tui_chat.ui.chat.transcript_copies import TranscriptCopies
from tui_chat.ui.chat.transcript_keys import TRANSCRIPT_KEYS
from tui_chat.ui.chat.transcript_search import TranscriptSearch
from tui_chat.ui.chat.welcome import Welcome, welcome_lines
from tui_chat.ui.notifications import Refusal
from tui_chat.ui.widgets.block_view import BlockView, LinePosition
from tui_chat.ui.widgets.mouse_selection import (
    MouseSelection,
    Span,
    Unit,
    column_at,
    highlight,
)
from tui_chat.ui.widgets.typed_app import app_of

if TYPE_CHECKING:
    from textual.geometry import Offset
    from textual.selection import Selection

    from tui_chat.models.reply import Reply
    from tui_chat.models.session import Entry, SpeakerNames

CODE_STEP = 16
"""Cells that a key scrolls lines of code by."""
SPACED_HEIGHT = 30
"""Lines of the screen from which code is set off by rows of its ground."""
EMPTY_TEXT_WIDTH = 64
"""Maximum cells of a line of the first screen."""


class Transcript(BlockView[TextLine]):
    """A conversation that can be read, searched, copied from and acted on."""

    ALLOW_SELECT = False  # Textual selects rows of the screen; `MouseSelection` knows messages
    DEFAULT_CSS = painting.CSS
    COMPONENT_CLASSES = painting.COMPONENT_CLASSES
    BINDINGS: ClassVar[list[BindingType]] = [*TRANSCRIPT_KEYS, *place_bindings("message")]

    @dataclass
    class CursorMoved(Message):
        """The cursor came to another message while the transcript has the focus."""

        entry_id: str

    @dataclass
    class FocusChanged(Message):
        """The transcript got or lost the focus."""

        has_focus: bool

    @dataclass
    class FindStatus(Message):
        """The hits, or the hit that is shown, changed."""

        number: int
        """The hit that is shown, from 1; 0 if none is."""
        count: int
        """The number of hits."""
        is_on: bool
        """True while words are being searched for."""

    class SearchLeft(Message):
        """The user ended the search that led to a message from elsewhere."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        self._layouts = BranchLayout()
        super().__init__(self._layouts, "transcript", id=id, classes=classes)
        self.cursor: int | None = None
        """Index of the message that keys act on; None if it follows from what is on the screen."""
        self._search = TranscriptSearch(self._layouts, self._refold, self._show_line)
        self._mouse = MouseSelection(self, self._unit_under, self.scroll_by)
        self._column = painting.ReadingColumn(0, 0)
        self._session_id: str | None = None
        self._highlighted = ""
        """Id of the message that is highlighted from outside."""
        self._reported_cursor = ""
        """Id of the message in the last `CursorMoved`."""
        self._has_unseen_text = False
        self._welcome: Welcome | None = None
        self._empty_lines: list[TextLine] = []
        self._items = MessageItems(self._all_lines)
        self._copies = TranscriptCopies(self, self._layouts, self._items, self._show_line)
        self._redraw = ReplyRedraw(self, self._draw_grown)
        self._clock: Timer | None = None
        self._layouts.set_focused(False)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The entries of the branch, root to head."""
        return self._layouts.entries

    @property
    def muted(self) -> frozenset[str]:
        """Ids of the messages that are not sent because they are muted, or go with what is."""
        return self._layouts.options.muted

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
        change = branch_change(old, entries, same_session=same_session)
        if change.replaces_entries:
            self._mouse.clear()
        keep = None if self._viewport.follows else self._viewport.top
        if change.is_other_session:
            self.cursor, self._has_unseen_text = None, False
            keep = None
        if keep is not None:
            keep = keep._replace(block=keep.block + change.above)
            if keep.block >= len(entries) or change.user_spoke:
                keep = None
        if self.cursor is not None:
            self.cursor += change.above
            if self.cursor >= len(entries) or change.user_spoke:
                self.cursor = None
        self._has_unseen_text = self._has_unseen_text or (keep is not None and bool(change.added))
        self._layouts.set_entries(entries)
        self._search.entries_changed()
        self._viewport.load(self._layouts.heights(), keep=keep)
        if change.is_other_session and entries and entries[-1].message.role == "assistant":
            self._reveal(len(entries) - 1)
        elif not change.is_other_session and change.is_other_version:
            self._has_unseen_text = False
            self._reveal(change.same)
        self.lay_out()
        self._run_clock()

    def _reveal(self, index: int) -> None:
        """Show a finished message from its first line on, or the end if all of it fits there."""
        if self._width and self.entries[index].status != "streaming":
            self._viewport.reveal(index)

    def show_when_empty(self, shown: Welcome | None) -> None:
        """Set what is shown while there are no entries."""
        if shown != self._welcome:
            self._welcome, self._empty_lines = shown, []
            self.lay_out()

    def stream(self, entry_id: str, reply: Reply, timing: Timing = NO_TIMING) -> None:
        """Show a streaming entry's reply as far as it came; redraws some 30 times a second."""
        if self._layouts.set_reply(entry_id, reply, timing):
            self._redraw.request()

    def flush(self) -> None:
        """Draw the replies that `stream` received since the last redraw."""
        self._redraw.flush()

    def _draw_grown(self) -> None:
        if not self._viewport.follows:
            self._has_unseen_text = True
        self._draw_streaming()

    def _draw_streaming(self) -> None:
        for index in self._layouts.grow():
            self._viewport.update_height(index)
        self.lay_out()

    def _run_clock(self) -> None:
        if self._layouts.streaming():
            if self._clock is None:
                self._clock = self.set_interval(1, self._draw_streaming)
        elif self._clock is not None:
            self._clock.stop()
            self._clock = None

    def _refold(self, index: int) -> None:
        """Lay a message out again after its folds changed; its place on the screen is kept."""
        view = self._viewport
        self._layouts(index).assemble()
        view.update_height(index)
        self._search.lines_changed()
        if view.follows and view.total > view.height:
            view.follows = index != len(self.entries) - 1
        self._mouse.clear()
        self.lay_out()

    # Drawing

    def draw_row(self, y: int) -> Strip:
        view, palette, width, column = self._viewport, self.palette, self._width, self._column
        if not self.entries:
            if not self._empty_lines and self._welcome is not None:
                room = min(self._column.text_width, EMPTY_TEXT_WIDTH)
                self._empty_lines = welcome_lines(self._welcome, room)
            return painting.paint_centered(self._empty_lines, y, width, view.height, palette)
        if y >= len(view.rows):
            return Strip.blank(width, palette())
        if self._has_unseen_text and y == view.height - 1:
            return painting.paint_new_text_mark(width, palette)
        position, line = view.rows[y]
        current = self.has_focus and position.block == self.current_index
        if self._highlighted and not current:
            current = self.entries[position.block].message.id == self._highlighted
        fill = self._layouts(position.block).fill
        is_muted = self.entries[position.block].message.id in self.muted
        strip: Strip = self.strips(
            (line, column, width, fill, current, is_muted),
            lambda: painting.paint_line(
                line, column, width, fill, palette, is_current=current, is_muted=is_muted
            ),
        )
        left = column.left + painting.GUTTER
        for start, end, is_current in self._search.marks(position):
            strip = highlight(
                strip, (start, end), palette("hit-here" if is_current else "hit"), left
            )
        return self._mouse.highlight(strip, selecting.row_number(position), left)

    def set_button_keys(self, regenerate: str, model: str) -> None:
        """Set the keys that the buttons of a failed reply name; empty for none."""
        self._layouts.options.regenerate = regenerate
        self._layouts.options.model_key = model

    def set_subagents(self, calls: frozenset[str]) -> None:
        """Set the calls that started subagents."""
        if calls != self._layouts.options.subagents:
            self._layouts.set_subagents(calls)
            self.lay_out()

    def set_muted(self, ids: frozenset[str], calls: frozenset[tuple[str, str]]) -> None:
        """Set what is not sent because it is muted: messages, and calls by the ids of message and
        call.
        """
        options = self._layouts.options
        if (ids, calls) != (options.muted, options.muted_calls):
            self._layouts.set_muted(ids, calls)
            self.lay_out()

    def set_edited(self, replies: frozenset[str]) -> None:
        """Set the replies whose requests were edited by hand."""
        if replies != self._layouts.options.edited:
            self._layouts.set_edited(replies)
            self.lay_out()

    def set_speakers(self, speakers: SpeakerNames) -> None:
        """Set the names of who speaks."""
        if speakers != self._layouts.options.speakers:
            self._layouts.set_speakers(speakers)
            self.lay_out()

    def _refuse(self, why: str) -> None:
        self.notify(why, markup=False)

    # Moving

    def resized(self) -> None:
        has_space = self.screen.size.height >= SPACED_HEIGHT
        if has_space != self._code.has_space:
            self._layouts.set_code_view(replace(self._code, has_space=has_space))
            self._width = 0  # so that everything is laid out again, as for another width
        super().resized()

    def lay_out_width(self) -> Sequence[int]:
        assert isinstance(self.parent, Widget)
        self._column = painting.reading_column(self.parent.region.width, self._width)
        self._layouts.resize(self._column.text_width)
        self._search.lines_changed()
        self._empty_lines = []
        return self._layouts.heights()

    def moved(self) -> None:
        if self._viewport.follows:
            self._has_unseen_text = False
        self.report_cursor()

    def scroll_by(self, lines: int) -> None:
        """Scroll by lines, up if they are negative; the cursor does not leave the screen."""
        super().scroll_by(lines)
        if self.cursor not in {position.block for position, _ in self._viewport.rows}:
            self.cursor = None
            self.report_cursor()
        self._mouse.scrolled()

    def go_to_end(self) -> None:
        """Show the end, and follow it."""
        if self.entries:
            self.cursor = None
            self._viewport.follows = True
            self.lay_out()

    def go_to(self, index: int) -> None:
        """Show a message from its first line on, and move the cursor to it."""
        self._viewport.reveal(index)
        self.cursor = index
        self.scrolled()

    def action_move(self, lines: int) -> None:
        self.scroll_by(lines)

    def action_page(self, direction: int) -> None:
        """Scroll by a screen, less two lines that keep the place."""
        self.scroll_by(direction * max(self._viewport.height - 2, 1))

    def action_begin(self) -> None:
        if self.entries:
            self._viewport.reveal(0)
            self.cursor = 0
            self.scrolled()

    def action_end(self) -> None:
        self.go_to_end()

    def action_wrap_code(self) -> None:
        self._show_code(replace(self._code, wraps=not self._code.wraps, offset=0))
        self._refuse(f"Long lines of code are {'wrapped' if self._code.wraps else 'cut'} now.")

    def action_scroll_code(self, direction: int) -> None:
        """Scroll lines of code that are cut; cut them if they are not."""
        offset = max(self._code.offset + direction * CODE_STEP, 0)
        self._show_code(replace(self._code, wraps=False, offset=offset))
        self._refuse(f"Lines of code are cut, and shown from column {offset + 1} on.")

    @property
    def _code(self) -> CodeView:
        return self._layouts.options.code

    def _show_code(self, view: CodeView) -> None:
        """Show wide lines of code otherwise; what is at the top stays there."""
        if view == self._code:
            return
        top = self._viewport.top
        keep = None if self._viewport.follows else LinePosition(top.block, top.part, 0)
        self._layouts.set_code_view(view)
        self._search.lines_changed()
        self._viewport.load(self._layouts.heights(), keep=keep)
        self._mouse.clear()
        self.lay_out()

    def action_message(self, step: int) -> None:
        """Move the cursor to the previous or next message, or up to where the current one begins if
        only its end is in sight.
        """
        current = self.current_index
        if current is None:
            return
        top = self._viewport.top
        if self.cursor is None and step < 0 and top.block == current and top.part > 0:
            self.go_to(current)  # its beginning is out of sight
        elif current + step >= len(self.entries):
            self.go_to_end()
        else:
            self.go_to(max(current + step, 0))

    def action_question(self, step: int) -> None:
        index = self.current_index
        if index is None:
            return
        index += step
        while 0 <= index < len(self.entries) and self.entries[index].message.role != "user":
            index += step
        if index >= len(self.entries):
            self.go_to_end()
        elif index >= 0:
            self.go_to(index)

    def show_message(self, message_id: str, words: tuple[str, ...] = ()) -> bool:
        """Go to a message and mark words in it. Return False if it is not in this branch."""
        index = next((i for i, e in enumerate(self.entries) if e.message.id == message_id), None)
        if index is None:
            return False
        self.go_to(index)
        self._search.find_in(index, words)
        self.post_find_status()
        self.refresh_changed()
        return True

    # The cursor

    @property
    def current_index(self) -> int | None:
        """The message that keys act on: the cursor's, else the last, else the first in sight."""
        if not self.entries:
            return None
        if self.cursor is not None:
            return self.cursor
        if self._viewport.follows or not self._viewport.rows:
            return len(self.entries) - 1
        return self._viewport.rows[0][0].block

    @property
    def current(self) -> Entry | None:
        """The entry that keys act on."""
        index = self.current_index
        return None if index is None else self.entries[index]

    def report_cursor(self) -> None:
        """Post `CursorMoved` if the cursor came to another message while this has the focus."""
        entry_id = self._id_under_cursor()
        if entry_id != self._reported_cursor:
            self._reported_cursor = entry_id
            if entry_id:
                self._highlighted = ""  # a bar now marks the cursor and nothing else
                self.post_message(self.CursorMoved(entry_id))

    def repost_cursor(self) -> None:
        """Post `CursorMoved` again, for a receiver that has another request to point into."""
        self._reported_cursor = ""
        self.report_cursor()

    def _id_under_cursor(self) -> str:
        index = self.current_index if self.has_focus else None
        return "" if index is None else self.entries[index].message.id

    def highlight(self, message_id: str) -> None:
        """Highlight a message like the cursor's; an empty id ends it."""
        if message_id != self._highlighted:
            self._highlighted = message_id
            self.refresh_changed()

    # Selection

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._mouse.press(event)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        self._mouse.drag(event)

    def on_mouse_up(self) -> None:
        self._mouse.release()

    def _unit_under(self, unit: Unit, offset: Offset) -> Span | None:
        rows = self._viewport.rows
        if not rows:
            return None
        position, line = rows[min(max(offset.y, 0), len(rows) - 1)]
        column = column_at(line.text, offset.x - self._column.left - painting.GUTTER)
        if offset.y >= len(rows):
            column = len(line.text)
        elif offset.y < 0:
            column = 0
        return selecting.unit_at(
            unit, position, column, self._layouts(position.block).lines(position.part)
        )

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        if not self.entries:
            return None
        return selecting.selected_text(selection, self.entries, self._all_lines), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        del selection
        self.refresh_changed()

    def _all_lines(self, index: int) -> list[list[TextLine]]:
        layout = self._layouts(index)
        lines = [layout.lines(part) for part in range(len(layout.parts))]
        self._viewport.update_height(index)
        return lines

    # Finding

    def find(self, words: str) -> None:
        """Find words from where the search began; an empty string ends the search."""
        self._search.find_from(self._viewport.top, words)
        self.post_find_status()
        self.refresh_changed()

    def action_hit(self, direction: int) -> None:
        if self._search.go(direction):
            self.post_find_status()
        else:
            self._refuse("Nothing was found. / searches this conversation.")

    def action_leave(self) -> None:
        """End the search, or clear the selection. If the words were searched for elsewhere, the
        visit ends with the search.
        """
        if self._search.is_on:
            if self._search.is_from_elsewhere:
                self.post_message(self.SearchLeft())
            self.find("")
        elif self.text_selection:
            self._mouse.clear()
        else:
            raise SkipAction

    def _show_line(self, position: LinePosition) -> None:
        """Bring a line into sight, and move the cursor to its message."""
        self._viewport.show(position)
        self.cursor = position.block
        self.scrolled()

    def post_find_status(self) -> None:
        """Post how many hits there are, and which is shown."""
        search = self._search
        self.post_message(self.FindStatus(search.number, search.count, search.is_on))

    # Copying and links

    def action_copy(self) -> None:
        """Copy the selection, else the message."""
        self._copies.copy(self.current_index, self._mouse.text)

    def action_copy_code(self) -> None:
        self._copies.copy_next_code(self.current_index)

    def action_copy_all(self) -> None:
        self._copies.copy_all()

    def next_link(self) -> str:
        """Return the address of the next link of the current message; empty if it has none."""
        current = self.current_index
        return "" if current is None else self._items.next_link(self.entries, current)

    def next_part(self) -> int | None:
        """Return the index of the next picture, sound or file among the parts of the current
        message; None if it has none.
        """
        return None if self.current is None else self._items.next_part(self.current)

    # Folding

    def action_unfold(self) -> None:
        """Unfold what the message has folded, or fold it again."""
        current = self.current_index
        if current is None:
            self._refuse(Refusal("There is no message yet."))
            return
        folds = self._layouts(current).folds
        if not folds:
            self._refuse("Nothing in this message is folded.")
            return
        unfolded = self._layouts.unfolded
        if unfolded.isdisjoint(folds):
            unfolded.update(folds)
        else:
            unfolded.difference_update(folds)
        self.cursor = current  # the end may leave the screen, and the same key folds it again
        self._refold(current)

    async def action_switch(self) -> None:
        """Switch a summary on or off; unfold another message."""
        entry = self.current
        if entry is not None and entry.message.semantics.summary is not None:
            await self._run("switch_summary")
        else:
            self.action_unfold()

    # What the area's actions are about

    @property
    def waiting_call(self) -> tuple[str, int] | None:
        """The id of an entry and the position of its tool call that waits at the cursor; None
        without one.
        """
        current = self.current_index
        while current and self.entries[current].message.role == "tool":
            current -= 1  # some calls of the message above may have their results
        if current is not None and (call := self._layouts(current).waiting_call) is not None:
            return self.entries[current].message.id, call
        return None

    async def _run(self, action: str, *arguments: object) -> None:
        """Run an action of the area, or have it say why it does not do this."""
        if not await app_of(self).run_action(("conversation", action, arguments), self):
            await app_of(self).run_action("conversation.explain_read_only", self)

    # Clicks and focus

    async def on_click(self, event: events.Click) -> None:
        """Open links, do what a line offers, and move the cursor to the message."""
        meta = event.style.meta
        if meta.get("end"):
            self.go_to_end()
            return
        if not self.entries and isinstance(offer := meta.get("action"), ClickAction):
            await self._do(offer, LinePosition(0, 0, 0))
            return
        row = event.get_content_offset_capture(self).y
        if self._mouse.has_selected or not 0 <= row < len(self._viewport.rows):
            return
        if link := meta.get("link"):
            await self._run("open_link", str(link))
            return
        position, line = self._viewport.rows[row]
        self.cursor = position.block
        action = meta.get("action") or line.action
        if isinstance(action, ClickAction):
            await self._do(action, position)
        self.report_cursor()
        self.refresh_changed()

    async def _do(self, action: ClickAction, position: LinePosition) -> None:
        match action.name:
            case "toggle":
                self._layouts.unfolded ^= {action.key}
                self._refold(position.block)
            case "code":
                self._copies.copy_code_at(position, action.key)
            case "run":
                await app_of(self).run_action(action.key)
            case "model":
                await app_of(self).run_action("sessions.choose_model")
            case "view":
                await self._run("view", int(action.key))
            case "subagent":
                await self._run("subagent", action.key)
            case "older" | "newer":
                await self._run("sibling", -1 if action.name == "older" else 1)
            case "retry":
                await self._run("retry")
            case "answer":
                await self._run("run")

    def on_focus(self) -> None:
        self._layouts.set_focused(True)
        self.post_message(self.FocusChanged(True))
        self.lay_out()

    def on_blur(self) -> None:
        self._layouts.set_focused(False)
        self.post_message(self.FocusChanged(False))
        self.lay_out()

    def watch_has_focus(self, value: bool) -> None:
        """Report the cursor; in `on_focus`, `has_focus` is not set yet."""
        super().watch_has_focus(value)
        self.report_cursor()
