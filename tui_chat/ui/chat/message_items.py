"""The code blocks, links and files of a message, which the same key takes one after another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_chat.models.session import Entry
    from tui_chat.ui.chat.text_lines import TextLine


class MessageItems:
    """Remembers which item of a kind was taken last, and of which message."""

    def __init__(self, lines_of: Callable[[int], Sequence[Sequence[TextLine]]]) -> None:
        """`lines_of` returns the lines of each part of a message."""
        self._lines_of = lines_of
        self._last: dict[str, tuple[str, int]] = {}
        """The message and the index that were taken last, by kind."""

    def next_index(self, kind: str, message_id: str, count: int) -> int:
        """Return the index after the last one taken of a message; the first in another message."""
        last_id, last = self._last.get(kind, ("", -1))
        index = (last + 1) % count if last_id == message_id else 0
        self._last[kind] = message_id, index
        return index

    def take(self, kind: str, message_id: str, index: int) -> None:
        """Go on after an item that was taken in another way."""
        self._last[kind] = message_id, index

    def next_link(self, entries: Sequence[Entry], index: int) -> str:
        """Return the address of the next link of a message; empty if it has none."""
        runs = (run for lines in self._lines_of(index) for line in lines for run in line.runs)
        urls = list(dict.fromkeys(run.link for run in runs if run.link))
        if not urls:
            return ""
        return urls[self.next_index("link", entries[index].message.id, len(urls))]

    def next_part(self, entry: Entry) -> int | None:
        """Return the index of a message's next picture, sound or file; None without one."""
        parts = enumerate(entry.message.parts)
        with_content = [index for index, part in parts if part.data or part.text]
        if not with_content:
            return None
        return with_content[self.next_index("part", entry.message.id, len(with_content))]
