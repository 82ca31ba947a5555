"""The transcript: a branch, and the reply that grows at its end, to be read, searched and copied.

A widget for each message took 48 seconds for a thousand messages. Here only the rows on the screen
exist: `BlockView` knows which they are, `BranchLayout` lays them out, `painting` paints them.
`Conversation` adds what is done with the messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual import events
from textual.actions import SkipAction
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip
from textual.timer import Timer

from tui_chat.lazy_dataclass import dataclass
from tui_chat.ui.chat.block_view import BlockView, LinePosition
from tui_chat.ui.chat.branch import BranchLayout, common_beginning, row_number
from tui_chat.ui.chat.painting import GUTTER, MessageLook, Painter, text_width
from tui_chat.ui.chat.reply_redraw import ReplyRedraw
from tui_chat.ui.chat.rows import ClickAction, Row, runs_of
from tui_chat.ui.chat.search import TranscriptSearch
from tui_chat.ui.chat.welcome import Welcome, welcome_rows
from tui_chat.ui.widgets.mouse_selection import (
    MouseSelection,
    Span,
    character_at,
    column_at,
)
from tui_chat.ui.widgets.typed_app import app_of

if TYPE_CHECKING:
    from textual.geometry import Offset
    from textual.selection import Selection

    from tui_chat.models.reply import Reply
    from tui_chat.models.session import Entry

EMPTY_TEXT_WIDTH = 64
"""Maximum cells of a row of the first screen."""
ABOVE_WELCOME = 2
"""Blank rows above it."""
NOTHING = "There is nothing to copy yet."


class Transcript(BlockView):
    """A conversation that can be read, searched and copied from."""

    ALLOW_SELECT = False  # Textual selects rows of the screen; `MouseSelection` knows messages
    DEFAULT_CSS = """
    Transcript {
        height: 1fr;
        overflow-y: scroll;
        background: $background;
        scrollbar-background: $background;
        scrollbar-background-hover: $background;
        scrollbar-background-active: $background;
    }
    """

    has_new_text = reactive(False, repaint=False)
    """True if text came below what is shown."""

    @dataclass
    class CursorMoved(Message):
        """The cursor came to another message while the transcript has the focus."""

        entry_id: str

    @dataclass
    class FindStatus(Message):
        """The hits, or the hit that is shown, changed."""

        number: int
        """The message that is shown, from 1; 0 if none is."""
        count: int
        """The number of messages with the words."""
        is_on: bool
        """True while words are being searched for."""

    def __init__(self, *, id: str | None = None) -> None:
        self._layouts = BranchLayout()
        super().__init__(lambda index: self._layouts(index).rows, id=id)
        self.cursor: int | None = None
        """Index of the message that keys act on; None if it follows from what is on the screen."""
        self._search = TranscriptSearch(self._layouts)
        self._mouse = MouseSelection(self, self._character_under, self.scroll_by)
        self._painter: Painter | None = None
        self._session_id: str | None = None
        self._highlighted = ""
        """Id of the message that is highlighted from outside."""
        self._reported_cursor = ""
        """Id of the message in the last `CursorMoved`."""
        self._welcome: Welcome | None = None
        self._empty_rows: list[Row] = []
        self._copied_code = "", -1
        """The message and the index of the code block that was copied last."""
        self._redraw = ReplyRedraw(self, self._draw_grown)
        self._clock: Timer | None = None

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
        session_id: str | None = None,
    ) -> None:
        """Show a branch, root to head. Entries that are the same objects cost nothing.

        Another version of a message, and the last reply of a session that is opened, are shown from
        their first row on. A reader who scrolled up keeps the place, unless the user sent a
        message or the branch is of another session, which `session_id` tells.
        """
        same_session = session_id is not None and session_id == self._session_id
        self._session_id = session_id
        old, view = self.entries, self._viewport
        if entries is old:
            return
        same = common_beginning(old, entries)
        is_other_session, added = not (same_session or same), entries[len(old) :]
        is_replaced = same < min(len(old), len(entries))
        if is_replaced:
            self._mouse.clear()
        is_elsewhere = is_other_session or any(e.message.role == "user" for e in added)
        keep = None if is_elsewhere or view.top.block >= len(entries) else view.top
        if is_elsewhere or (self.cursor is not None and self.cursor >= len(entries)):
            self.cursor = None
        has_unseen = not is_other_session and self.has_new_text
        self.has_new_text = has_unseen or bool(keep and not view.follows and added)
        self._layouts.set_entries(entries)
        self._search.entries_changed()
        view.load(self._layouts.heights(), keep=keep, follows=view.follows)
        if is_other_session:
            if entries and entries[-1].message.role == "assistant":
                self._reveal(len(entries) - 1)
        elif is_replaced and _is_other_version(old[same], entries[same]):
            self.has_new_text = False
            self._reveal(same)
        self.lay_out()
        self._run_clock()

    def _reveal(self, index: int) -> None:
        """Show a finished message from its first row on, or the end if all of it fits there."""
        if self._width and self.entries[index].status != "streaming":
            self._viewport.reveal(index)

    def show_when_empty(self, shown: Welcome | None) -> None:
        """Set what is shown while there are no entries."""
        if shown != self._welcome:
            self._welcome, self._empty_rows = shown, []
            self.lay_out()

    def set_options(self, **options: object) -> None:
        """Set some of the `LayoutOptions`."""
        if self._layouts.set_options(**options):
            self.lay_out()

    # A reply that grows

    def stream(self, entry_id: str, reply: Reply, elapsed: float | None = None) -> None:
        """Show a streaming entry's reply as far as it came, and its clock in seconds; redraws a
        dozen times a second.
        """
        if self._layouts.set_reply(entry_id, reply, elapsed):
            self.has_new_text = self.has_new_text or not self._viewport.follows
            self._redraw.request()

    def flush(self) -> None:
        """Draw the replies that `stream` received since the last redraw."""
        self._redraw.flush()

    def _draw_grown(self) -> None:
        for index in self._layouts.grow():
            self._viewport.update_height(index)
        self.lay_out(grows=True)

    def _run_clock(self) -> None:
        if self._layouts.streaming():
            if self._clock is None:
                self._clock = self.set_interval(1, self._draw_grown)
        elif self._clock is not None:
            self._clock.stop()
            self._clock = None

    # Drawing

    @property
    def painter(self) -> Painter:
        """Paints rows in the theme's colors."""
        if self._painter is None:
            self._painter = Painter(self.visual_style, self._get_style)
        return self._painter

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._painter = None

    def draw_row(self, y: int) -> Strip:
        view, width = self._viewport, self._width
        if not self.entries:
            if not self._empty_rows and self._welcome is not None:
                room = min(text_width(width), EMPTY_TEXT_WIDTH)
                self._empty_rows = welcome_rows(self._welcome, room)
            number = y - ABOVE_WELCOME
            is_row = 0 <= number < len(self._empty_rows)
            row = self._empty_rows[number].content if is_row else Content("")
            return self.painter.plain(row, width)
        if y >= len(view.rows):
            return self.painter.blank(width)
        position, row = view.rows[y]
        message_id = self.entries[position.block].message.id
        look = MessageLook(
            "user-bar" if self.entries[position.block].message.role == "user" else "bar",
            is_current=self.has_focus and position.block == self.current_index,
            is_highlighted=bool(self._highlighted) and message_id == self._highlighted,
            is_muted=message_id in self.muted,
        )
        hits = tuple(self._search.marks(position))
        shown = (row, width, hits, look)
        strip = self.strip(shown, lambda: self.painter.row(row, width, hits, look))
        return self._mouse.highlight(strip, row_number(position), GUTTER)

    # Moving

    def lay_out_width(self) -> Sequence[int]:
        self._layouts.resize(text_width(self._width))
        self._empty_rows = []
        return self._layouts.heights()

    def moved(self) -> None:
        if self._viewport.follows:
            self.has_new_text = False
        self.report_cursor()

    def scroll_by(self, lines: int) -> None:
        """Scroll by rows, up if they are negative; the cursor does not leave the screen."""
        super().scroll_by(lines)
        if self.cursor not in {position.block for position, _ in self._viewport.rows}:
            self.cursor = None
            self.report_cursor()
        self._mouse.scrolled()

    def go_to(self, index: int) -> None:
        """Show a message from its first row on, and move the cursor to it."""
        self._viewport.reveal(index)
        self.cursor = index
        self.scrolled()

    def action_move(self, lines: int) -> None:
        self.scroll_by(lines)

    def action_page(self, direction: int) -> None:
        """Scroll by a screen, less two rows that keep the place."""
        self.scroll_by(direction * max(self._viewport.height - 2, 1))

    def action_begin(self) -> None:
        if self.entries:
            self.go_to(0)

    def action_end(self) -> None:
        """Show the end, and follow it."""
        if self.entries:
            self.cursor = None
            self._viewport.follows = True
            self.lay_out()

    def action_message(self, step: int) -> None:
        """Move the cursor to the previous or next message, or up to where the current one begins if
        only its end is in sight.
        """
        current = self.current_index
        if current is None:
            return
        top = self._viewport.top
        is_begun = top.block == current and top.line >= self._layouts(current).text_at
        if self.cursor is None and step < 0 and is_begun:
            self.go_to(current)  # its beginning is out of sight
        elif current + step >= len(self.entries):
            self.action_end()
        else:
            self.go_to(max(current + step, 0))

    def show_message(self, message_id: str, words: tuple[str, ...] = ()) -> bool:
        """Go to a message and mark words in it. Return False if it is not in this branch."""
        index = next((i for i, e in enumerate(self.entries) if e.message.id == message_id), None)
        if index is None:
            return False
        self.go_to(index)
        self._show_hit(self._search.find_in(index, words))
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

    def report_cursor(self) -> None:
        """Post `CursorMoved` if the cursor came to another message while this has the focus."""
        index = self.current_index if self.has_focus else None
        entry_id = "" if index is None else self.entries[index].message.id
        if entry_id != self._reported_cursor:
            self._reported_cursor = entry_id
            self.refresh_bindings()  # what can be done with the message
            if entry_id:
                self._highlighted = ""  # a bar now marks the cursor and nothing else
                self.post_message(self.CursorMoved(entry_id))

    def repost_cursor(self) -> None:
        """Post `CursorMoved` again, for a receiver that has another request to point into."""
        self._reported_cursor = ""
        self.report_cursor()

    def highlight(self, message_id: str) -> None:
        """Highlight a message like the cursor's; an empty id ends it."""
        if message_id != self._highlighted:
            self._highlighted = message_id
            self.refresh_changed()

    def watch_has_focus(self, value: bool) -> None:
        """Report the cursor; in `on_focus`, `has_focus` is not set yet."""
        super().watch_has_focus(value)
        self.report_cursor()
        self.refresh_changed()

    # Selection

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._mouse.press(event)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        self._mouse.drag(event)

    def on_mouse_up(self) -> None:
        self._mouse.release()

    def _character_under(self, offset: Offset) -> Span | None:
        rows = self._viewport.rows
        if not rows:
            return None
        position, row = rows[min(max(offset.y, 0), len(rows) - 1)]
        column = column_at(row.text, offset.x - GUTTER)
        if not 0 <= offset.y < len(rows):
            column = len(row.text) if offset.y > 0 else 0
        return character_at(row.text, column, row_number(position))

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        if not self.entries:
            return None
        return self._layouts.selected_text(selection), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        del selection
        self.refresh_changed()

    # Finding

    def find(self, words: str) -> None:
        """Find words from where the search began; an empty string ends the search."""
        self._show_hit(self._search.find_from(self._viewport.top, words))

    def action_hit(self, direction: int) -> None:
        if position := self._search.go(direction):
            self._show_hit(position)
        else:
            self.notify("Nothing was found. / searches this conversation.")

    def _show_hit(self, position: LinePosition | None) -> None:
        """Go to the row of a hit."""
        if position is not None:
            self._show_row(position)
        self.post_find_status()
        self.refresh_changed()

    def action_leave(self) -> None:
        """End the search, or clear the selection."""
        if self._search.is_on:
            self.find("")
        elif self.text_selection:
            self._mouse.clear()
        else:
            raise SkipAction

    def _show_row(self, position: LinePosition) -> None:
        """Bring a row into sight, and move the cursor to its message."""
        self._viewport.show(position)
        self.cursor = position.block
        self.scrolled()

    def post_find_status(self) -> None:
        """Post how many messages have the words, and which is shown."""
        search = self._search
        self.post_message(self.FindStatus(search.number, search.count, search.is_on))

    # Copying, links and files

    def action_copy(self) -> None:
        """Copy the selection, else the message."""
        if selected := self._mouse.text:
            self.copy(selected, "selection")
        elif (current := self.current_index) is not None:
            self.copy(self._layouts.source(current), "message")
        else:
            self.notify(NOTHING)

    def copy(self, text: str, what: str) -> None:
        """Copy a text to the clipboard, and say what was copied."""
        app_of(self).copy_to_clipboard(text)
        count = len(text)
        words = f"Copied the {what}: {count:,} character{'s' * (count != 1)}."
        self.notify(words, markup=False)

    def action_copy_code(self) -> None:
        """Copy the first code block of the message; if one was copied, the one after it."""
        current = self.current_index
        count = 0 if current is None else len(self._layouts(current).code_blocks)
        if current is None or not count:
            self.notify("There is no code block in this message.")
            return
        message_id, last = self._copied_code
        is_next = self.entries[current].message.id == message_id
        self._copy_code(current, (last + 1) % count if is_next else 0)

    def _copy_code(self, message: int, index: int) -> None:
        blocks = self._layouts(message).code_blocks
        self._copied_code = self.entries[message].message.id, index
        what = f"code block {index + 1} of {len(blocks)}" if len(blocks) > 1 else "code block"
        self._show_row(LinePosition(message, blocks[index].row))
        self.copy(blocks[index].source, what)

    @property
    def links(self) -> list[str]:
        """The addresses of the links of the current message."""
        current = self.current_index
        rows = [] if current is None else self._layouts(current).rows
        runs = (run for row in rows for run in runs_of(row.content))
        return list(dict.fromkeys(run.link for run in runs if run.link))

    # Folding

    async def action_fold(self) -> None:
        """Unfold what the message has folded, or fold it again."""
        current = self.current_index
        if current is None:
            self.notify("There is no message yet.")
            return
        folds = {*self._layouts(current).folds.values()}
        if not folds:
            self.notify("Nothing in this message is folded.")
            return
        unfolded = self._layouts.unfolded
        if unfolded.isdisjoint(folds):
            unfolded |= folds
        else:
            unfolded -= folds
        self.cursor = current  # the end may leave the screen, and the same key folds it again
        self._refold(current)

    def _refold(self, index: int) -> None:
        """Lay a message out again after its folds changed; its place on the screen is kept."""
        view = self._viewport
        self._layouts.refold(index)
        view.update_height(index)
        if view.follows and view.total > view.height:
            view.follows = index != len(self.entries) - 1
        self._mouse.clear()
        self.lay_out()

    # Clicks

    async def on_click(self, event: events.Click) -> None:
        """Open links, do what a row offers, and move the cursor to the message."""
        meta = event.style.meta
        action = meta.get("action")
        if not self.entries and isinstance(action, ClickAction):
            await self.act(action)
            return
        y = event.get_content_offset_capture(self).y
        if self._mouse.has_selected or not 0 <= y < len(self._viewport.rows):
            return
        position, row = self._viewport.rows[y]
        if link := meta.get("link"):
            self.open_link(str(link))
            return
        self.cursor = position.block
        action = action or row.action
        match action:
            case ClickAction("toggle", key):
                self._layouts.unfolded ^= {key}
                self._refold(position.block)
            case ClickAction("code"):
                for index, block in enumerate(self._layouts(position.block).code_blocks):
                    if block.row == position.line:
                        self._copy_code(position.block, index)
            case ClickAction():
                await self.act(action)
            case _:
                pass
        self.report_cursor()
        self.refresh_changed()

    async def act(self, action: ClickAction) -> None:
        """Do what a click asks for that concerns more than the view."""

    def open_link(self, url: str) -> object:
        """Open a link that was clicked."""


def _is_other_version(before: Entry, after: Entry) -> bool:
    """Return True if one message is shown in the place of another version of it."""
    is_other = before.message.id != after.message.id and before.sibling != after.sibling
    return is_other and after.siblings > 1
