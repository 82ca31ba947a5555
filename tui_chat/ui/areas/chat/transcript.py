"""The transcript: what keys and clicks do in a conversation.

What concerns only the screen is done here: moving, folding, finding, copying. What concerns the
conversation is posted as a message (see `transcript_messages`) for the area to act on.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from textual import events
from textual.actions import SkipAction

from tui_chat.ui.areas.chat import line_painter
from tui_chat.ui.areas.chat import transcript_messages as messages
from tui_chat.ui.areas.chat.code_blocks import CodeView
from tui_chat.ui.areas.chat.text_lines import ClickAction
from tui_chat.ui.areas.chat.transcript_canvas import TranscriptCanvas
from tui_chat.ui.areas.chat.transcript_messages import KEYS, WRITING_ACTIONS
from tui_chat.ui.areas.chat.viewport import START, LinePosition

if TYPE_CHECKING:
    from tui_chat.models.session import SpeakerNames
    from tui_chat.ui.areas.chat.transcript_search import Hit

NO_MESSAGE = "There is no message yet."

CODE_STEP = 16
"""Cells that a key scrolls lines of code by."""


class Transcript(TranscriptCanvas):
    """A conversation that can be read, searched, copied from and acted on."""

    DEFAULT_CSS = line_painter.CSS
    COMPONENT_CLASSES = line_painter.COMPONENT_CLASSES

    BINDINGS = KEYS

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.is_read_only = False
        """True if nothing can be sent or changed."""
        self._is_subagent = False
        self._inspected = ""
        """The id of the message whose request was asked for last."""
        self._last_code: tuple[str, int] = "", -1
        """Entry and index of the code block that was copied last."""
        self._last_link: tuple[str, int] = "", -1
        """Entry and index of the link that was opened last."""
        self._last_part: tuple[str, int] = "", -1
        """Entry and index of the picture or file that was saved or viewed last."""
        self._find_start = START
        """Where the search began; typing finds the first hit from there."""
        self._layouts.set_focused(False)
        self._is_found_elsewhere = False
        """True if the words were searched for elsewhere, and lead to a message here."""
        self._unfolded_by_search: tuple[int, str] | None = None
        """Message and key of what the typed words unfolded; the next letter may fold it again."""

    def set_regenerate_key(self, key: str) -> None:
        """Set the key that regenerates the last reply wherever the focus is."""
        self._layouts.options.regenerate = key

    def set_subagents(self, calls: frozenset[str], *, is_subagent: bool) -> None:
        """Set the calls that started subagents, and whether this is the session of one."""
        self._is_subagent = is_subagent
        if calls != self._layouts.options.subagents:
            self._layouts.set_subagents(calls)
            self._redraw()

    def set_speakers(self, speakers: SpeakerNames) -> None:
        """Set the names of who speaks."""
        if speakers != self._layouts.options.speakers:
            self._layouts.set_speakers(speakers)
            self._redraw()

    def _refuse(self, why: str) -> None:
        self.post_message(messages.ActionRefused(why))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Remove actions that change something from a read-only transcript."""
        if self.is_read_only and action in WRITING_ACTIONS:
            return False
        return super().check_action(action, parameters)

    # Moving

    def action_move(self, lines: int) -> None:
        """Scroll by lines."""
        self.scroll_by(lines)

    def action_page(self, direction: int) -> None:
        """Scroll by a screen, less two lines that keep the place."""
        self.scroll_by(direction * max(self._viewport.height - 2, 1))

    def action_begin(self) -> None:
        """Go to the first message."""
        if self.entries:
            self._viewport.reveal(0)
            self.cursor = None
            self._scrolled()

    def action_end(self) -> None:
        """Go to the end, and follow it."""
        self.go_to_end()

    def action_wrap_code(self) -> None:
        """Break lines of code that are too wide, or cut them."""
        self._show_code(CodeView(wraps=not self._layouts.options.code.wraps))

    def action_scroll_code(self, direction: int) -> None:
        """Scroll lines of code that are cut; cut them if they are not."""
        offset = max(self._layouts.options.code.offset + direction * CODE_STEP, 0)
        self._show_code(CodeView(wraps=False, offset=offset))

    def _show_code(self, view: CodeView) -> None:
        """Show wide lines of code otherwise; what is at the top stays there."""
        if view == self._layouts.options.code:
            return
        top = self._viewport.top
        keep = None if self._viewport.follows else LinePosition(top.message, top.part, 0)
        self._layouts.set_code_view(view)
        self._search.lines_changed()
        self._viewport.load(self._layouts.heights(), keep=keep)
        self.screen.clear_selection()
        self._redraw()

    def action_message(self, step: int) -> None:
        """Move the cursor to the previous or next message, or up to where the current one begins if
        only its end is in sight.
        """
        current = self._current
        if current is None:
            return
        top = self._viewport.top
        if self.cursor is None and step < 0 and top.message == current and top.part > 0:
            self.go_to(current)  # its beginning is out of sight
        elif current + step >= len(self.entries):
            self.go_to_end()
        else:
            self.go_to(max(current + step, 0))

    def action_question(self, step: int) -> None:
        """Move the cursor to the previous or next message of the user."""
        index = self._current
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
        self._search.find(words)
        self._is_found_elsewhere = bool(words)
        self.go_to(index)
        if words and (hit := self._search.first_in(index)):
            self._show_hit(hit)
        self.post_find_status()
        return True

    # Finding

    def find(self, words: str) -> None:
        """Find words from where the search began; an empty string ends the search."""
        self._is_found_elsewhere = False
        if not self._search.is_on:
            self._find_start = self._viewport.top
        if self._unfolded_by_search and self._unfolded_by_search[0] < len(self.entries):
            message, key = self._unfolded_by_search
            self._layouts.unfolded.discard(key)
            self._refold(message)
        self._unfolded_by_search = None
        self._search.find((words,))
        if self.entries and (hit := self._search.first_from(self._find_start)):
            self._show_hit(hit)
        self.post_find_status()
        self.refresh()

    def action_find(self) -> None:
        """Open the find bar."""
        self.post_message(messages.FindRequested())

    def action_hit(self, direction: int) -> None:
        """Go to the next or previous hit."""
        if hit := self._search.step(direction):
            self._show_hit(hit)
            self._unfolded_by_search = None
            self.post_find_status()
        else:
            self._refuse("Nothing was found. / searches this conversation.")

    def action_leave(self) -> None:
        """End the search, or clear the selection. If the words were searched for elsewhere, the
        visit ends with the search.
        """
        if self._search.is_on:
            if self._is_found_elsewhere:
                self.post_message(messages.SearchLeft())
            self.find("")
        elif self.text_selection:
            self.screen.clear_selection()
        else:
            raise SkipAction

    def _show_hit(self, hit: Hit) -> None:
        """Show a hit; if it is folded, unfold it."""
        position = hit[0]
        if key := self._search.fold_at(position):
            self._unfolded_by_search = position.message, key
            self._layouts.unfolded.add(key)
            self._refold(position.message)
            position = (self._search.next_in_message(position) or hit)[0]
        self._viewport.show(position)
        self.cursor = position.message
        self._scrolled()

    def post_find_status(self) -> None:
        """Post how many hits there are, and which is shown."""
        self.post_message(
            messages.FindStatus(self._search.number, self._search.count, self._search.is_on)
        )

    # Copying and links

    def action_copy(self) -> None:
        """Copy the selection, else the message."""
        selected = self.screen.get_selected_text() if self.text_selection else None
        current = self._current
        if selected:
            self.post_message(messages.CopyRequested(selected, "selection"))
        elif current is not None:
            self.post_message(messages.CopyRequested(self._layouts.source(current), "message"))
        else:
            self._refuse("There is nothing to copy yet.")

    def action_copy_code(self) -> None:
        """Copy the message's code; pressed again, its next block."""
        current = self._current
        if current is None or not (blocks := self._layouts(current).code_blocks):
            self._refuse("There is no code block in this message.")
            return
        self._copy_code(current, self._next_index(self._last_code, current, len(blocks)))

    def action_copy_all(self) -> None:
        """Copy the conversation, each message under its speaker's name."""
        if self.entries:
            from tui_chat.ui.areas.chat.header_footer import speaker_of

            names = self._layouts.options.speakers
            texts = [f"{speaker_of(e, names)}:\n\n{e.message.content}" for e in self.entries]
            self.post_message(messages.CopyRequested("\n\n".join(texts), "conversation"))
        else:
            self._refuse("There is nothing to copy yet.")

    def action_open_link(self) -> None:
        """Open the message's link; pressed again, its next one."""
        current = self._current
        parts = self._all_lines(current) if current is not None else []
        runs = (run for lines in parts for line in lines for run in line.runs)
        urls = list(dict.fromkeys(run.link for run in runs if run.link))
        if current is None or not urls:
            self._refuse("There is no link in this message.")
            return
        index = self._next_index(self._last_link, current, len(urls))
        self._last_link = self.entries[current].message.id, index
        self.post_message(messages.OpenLinkRequested(urls[index]))

    def action_save(self) -> None:
        """Save the message's picture, sound or file; pressed again, its next one."""
        self._request_part(messages.SavePartRequested)

    def action_view(self) -> None:
        """Show the message's picture, sound or file; pressed again, its next one."""
        self._request_part(messages.ViewPartRequested)

    def _request_part(self, request: type[messages.PartRequest]) -> None:
        current = self._current
        parts = self.entries[current].message.parts if current is not None else ()
        with_content = [index for index, part in enumerate(parts) if part.data or part.text]
        if current is None or not with_content:
            self._refuse("There is no picture, sound or file in this message.")
            return
        next_index = self._next_index(self._last_part, current, len(with_content))
        self._last_part = self.entries[current].message.id, next_index
        self.post_message(request(self.entries[current].message.id, with_content[next_index]))

    def _next_index(self, last: tuple[str, int], message: int, count: int) -> int:
        """Return the index after the last one used in a message; the first in another message."""
        last_id, index = last
        return (index + 1) % count if last_id == self.entries[message].message.id else 0

    def _copy_code(self, message: int, index: int) -> None:
        blocks = self._layouts(message).code_blocks
        block = blocks[index]
        self._last_code = self.entries[message].message.id, index
        what = f"code block {index + 1} of {len(blocks)}" if len(blocks) > 1 else "code block"
        self._viewport.show(LinePosition(message, block.part, 0))
        self.cursor = message
        self._scrolled()
        self.post_message(messages.CopyRequested(block.source, what))

    # Acting on messages

    def action_unfold(self) -> None:
        """Unfold what the message has folded, or fold it again."""
        current = self._current
        if current is None:
            return
        folds = self._layouts(current).folds
        if not folds:
            self._refuse("Nothing of this message is folded.")
            return
        unfolded = self._layouts.unfolded
        if unfolded.isdisjoint(folds):
            unfolded.update(folds)
        else:
            unfolded.difference_update(folds)
        self.cursor = current  # the end may leave the screen, and the same key folds it again
        self._refold(current)

    def action_switch(self) -> None:
        """Switch a summary on or off; unfold another message."""
        entry = self.current
        summary = entry.message.semantics.summary if entry is not None else None
        if entry is None or summary is None:
            self.action_unfold()
        else:
            self.post_message(
                messages.SummarySwitchRequested(entry.message.id, not summary.enabled)
            )

    def _request(
        self, request: Callable[[str], messages.EntryRequest], *, of_reply: bool = False
    ) -> None:
        """Post a request about the current entry, unless it is streaming or must be a reply."""
        entry = self.current
        if entry is None:
            self._refuse(NO_MESSAGE)
        elif entry.status == "streaming":
            self._refuse("This reply is still arriving; Esc stops it.")
        elif of_reply and entry.message.role != "assistant":
            self._refuse(
                "Only replies have their own request; w shows this message in the next one."
            )
        else:
            self.post_message(request(entry.message.id))

    def action_retry(self) -> None:
        """Regenerate the reply, or generate one to this message."""
        self._request(messages.RegenerateRequested)

    def action_continue(self) -> None:
        """Continue the reply."""
        self._request(messages.ContinueRequested)

    def action_edit(self) -> None:
        """Edit the message."""
        self._request(messages.EditRequested)

    def action_fork(self) -> None:
        """Fork a session from the branch up to here."""
        self._request(messages.ForkRequested)

    def action_delete(self) -> None:
        """Delete the message and what follows it."""
        entry = self.current
        # `i d` means the inspector's Diff, where it has opened.
        asks = entry is not None and entry.message.id == self._inspected
        self._request(partial(messages.DeleteMessageRequested, asks=asks))

    def action_undo(self) -> None:
        """Restore what was deleted last."""
        self.post_message(messages.UndoDeleteRequested())

    def action_inspect(self) -> None:
        """Show the request that produced the reply."""
        entry = self.current
        self._inspected = entry.message.id if entry is not None else ""
        self._request(messages.InspectRequested, of_reply=True)

    def action_reveal(self) -> None:
        """Show where the message stands in the request that is being composed."""
        self._request(messages.RevealMessageRequested)

    def action_pin(self) -> None:
        """Pin or unpin the message."""
        entry = self.current
        if entry is None:
            self._refuse(NO_MESSAGE)
        else:
            self.post_message(messages.PinRequested(entry.message.id, not entry.message.pinned))

    def action_sibling(self, step: int) -> None:
        """Show another version of the message."""
        entry = self.current
        if entry is None:
            self._refuse(NO_MESSAGE)
        elif entry.siblings < 2:
            self._refuse("There is one version of this message; r and e make others.")
        elif 0 <= entry.sibling + step < entry.siblings:
            self.post_message(messages.VersionRequested(entry.message.id, step))
        else:
            self._refuse(f"This is the {'oldest' if step < 0 else 'newest'} version.")

    def action_contents(self) -> None:
        """Show the table of contents."""
        self.post_message(messages.ContentsRequested())

    def action_export(self) -> None:
        """Export a part of the conversation."""
        self._request(messages.ExportPartRequested)

    def action_branches(self) -> None:
        """Show the branches of the session."""
        self.post_message(messages.BranchesRequested())

    def action_subagent(self) -> None:
        """Open the session of the subagent that the message started, or go back from one."""
        entry = self.current
        if entry is None:
            self._refuse(NO_MESSAGE)
            return
        started = self._layouts.options.subagents
        own = (*(call.id for call in entry.message.tool_calls), entry.message.tool_call_id)
        calls = tuple(call_id for call_id in own if call_id in started)
        if calls or self._is_subagent:
            self.post_message(messages.SubagentRequested(entry.message.id, calls))
        elif started:
            self._refuse("This message started no subagent. Calls that did are marked with “S”.")
        else:
            self._refuse("There is no session of a subagent here.")

    def action_answer(self) -> None:
        """Enter a tool call's result by hand."""
        if waiting := self._waiting_call():
            self.post_message(messages.AnswerCallRequested(*waiting))

    def action_run(self) -> None:
        """Answer the waiting tool call."""
        if self._waiting_call():
            self.post_message(messages.ToolQuestionRequested())

    def _waiting_call(self) -> tuple[str, str] | None:
        """Return the ids of the entry and the call that waits; without one, say so."""
        current = self._current
        while current and self.entries[current].message.role == "tool":
            current -= 1  # some calls of the message above may have their results
        if current is not None and (call := self._layouts(current).waiting_call) is not None:
            return self.entries[current].message.id, call
        self._refuse("No tool call is waiting for a result here.")
        return None

    # Clicks and focus

    def on_click(self, event: events.Click) -> None:
        """Open links, do what a line offers, and move the cursor to the message."""
        meta = event.style.meta
        if meta.get("end"):
            self.go_to_end()
            return
        row = event.get_content_offset_capture(self).y
        if self._mouse.has_selected or not 0 <= row < len(self._viewport.rows):
            return
        if link := meta.get("link"):
            self.post_message(messages.OpenLinkRequested(str(link)))
            return
        position, line = self._viewport.rows[row]
        self.cursor = position.message
        action = meta.get("action") or line.action
        if isinstance(action, ClickAction):
            self._do(action, position)
        self.report_cursor()
        self.refresh()

    def _do(self, action: ClickAction, position: LinePosition) -> None:
        match action.name:
            case "toggle":
                self._layouts.unfolded ^= {action.key}
                self._refold(position.message)
            case "code":
                for index, block in enumerate(self._layouts(position.message).code_blocks):
                    if (block.part, str(block.number)) == (position.part, action.key):
                        self._copy_code(position.message, index)
            case "older":
                self.action_sibling(-1)
            case "newer":
                self.action_sibling(1)
            case "retry":
                self.action_retry()
            case "view":
                entry_id = self.entries[position.message].message.id
                self.post_message(messages.ViewPartRequested(entry_id, int(action.key)))
            case "subagent":
                entry_id = self.entries[position.message].message.id
                self.post_message(messages.SubagentRequested(entry_id, (action.key,)))
            case "answer":
                self.post_message(messages.ToolQuestionRequested())

    def on_focus(self) -> None:
        """Show the cursor, and the keys that work now."""
        self._layouts.set_focused(True)
        self.post_message(messages.FocusChanged(True))
        self._redraw()

    def on_blur(self) -> None:
        """Hide the cursor, and the keys that work no more."""
        self._layouts.set_focused(False)
        self.post_message(messages.FocusChanged(False))
        self._redraw()

    def watch_has_focus(self, value: bool) -> None:
        """Report the cursor; in `on_focus`, `has_focus` is not set yet."""
        super().watch_has_focus(value)
        self.report_cursor()
