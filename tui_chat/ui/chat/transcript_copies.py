"""Copying from the transcript: the selection, a message, its code blocks, the conversation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tui_chat.ui.widgets.block_view import LinePosition
from tui_chat.ui.widgets.typed_app import app_of

if TYPE_CHECKING:
    from textual.widget import Widget

    from tui_chat.ui.chat.branch_layout import BranchLayout
    from tui_chat.ui.chat.message_items import MessageItems

NOTHING = "There is nothing to copy yet."


class TranscriptCopies:
    """Copies texts of a branch to the clipboard, and says what was copied."""

    def __init__(
        self,
        view: Widget,
        layouts: BranchLayout,
        items: MessageItems,
        show_line: Callable[[LinePosition], None],
    ) -> None:
        """`view` shows what was copied; `show_line` goes to a line."""
        self._view, self._layouts, self._items = view, layouts, items
        self._show_line = show_line

    def copy(self, message: int | None, selected: str) -> None:
        """Copy the selected text, else the message with this index."""
        if selected:
            self._copy(selected, "selection")
        elif message is not None:
            self._copy(self._layouts.source(message), "message")
        else:
            self._say(NOTHING)

    def copy_next_code(self, message: int | None) -> None:
        """Copy the first code block of a message; if one was copied, the one after it."""
        if message is None or not (blocks := self._layouts(message).code_blocks):
            self._say("There is no code block in this message.")
            return
        message_id = self._layouts.entries[message].message.id
        self._copy_code(message, self._items.next_index("code", message_id, len(blocks)))

    def copy_code_at(self, position: LinePosition, number: str) -> None:
        """Copy the code block with this number in the part of a message at a position."""
        for index, block in enumerate(self._layouts(position.block).code_blocks):
            if (block.part, str(block.number)) == (position.part, number):
                self._copy_code(position.block, index)

    def copy_all(self) -> None:
        """Copy the conversation, each message below who speaks."""
        entries = self._layouts.entries
        if entries:
            from tui_chat.ui.chat.header_footer import speaker_of

            names = self._layouts.options.speakers
            texts = [f"{speaker_of(e, names)}:\n\n{e.message.content}" for e in entries]
            self._copy("\n\n".join(texts), "conversation")
        else:
            self._say(NOTHING)

    def _copy_code(self, message: int, index: int) -> None:
        blocks = self._layouts(message).code_blocks
        block = blocks[index]
        self._items.take("code", self._layouts.entries[message].message.id, index)
        what = f"code block {index + 1} of {len(blocks)}" if len(blocks) > 1 else "code block"
        self._show_line(LinePosition(message, block.part, 0))
        self._copy(block.source, what)

    def _copy(self, text: str, what: str) -> None:
        app_of(self._view).copy_to_clipboard(text)
        count = len(text)
        self._say(f"Copied the {what}: {count:,} character{'s' * (count != 1)}.")

    def _say(self, sentence: str) -> None:
        self._view.notify(sentence, markup=False)
