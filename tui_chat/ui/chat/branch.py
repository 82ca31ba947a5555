"""The layouts of a branch's messages, made when they are looked at.

Entries are frozen, so a layout is found again by its entry's identity while it is cached. What
lays out a message is imported with the first one: the first frame has none, and its modules are an
eighth of what it would import.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any

from textual.cache import LRUCache
from textual.selection import Selection

from tui_chat.ui.chat.block_view import LinePosition

if TYPE_CHECKING:
    from tui_chat.models.reply import Reply
    from tui_chat.models.session import Entry
    from tui_chat.ui.chat.message import LayoutOptions, MessageLayout, Neighbors, ReplyProgress
    from tui_chat.ui.chat.tool_calls import ResultState

CACHED_LAYOUTS = 60
"""Messages whose layout is kept while they are out of sight."""
HEADER_HEIGHT = 2
"""Rows that are added to the estimate of a message's text."""
_ROWS_OF_MESSAGE = 1 << 30
_END = 1 << 62


class BranchLayout:
    """The messages of one branch, laid out at one width."""

    def __init__(self) -> None:
        self.entries: tuple[Entry, ...] = ()
        """Root to head."""
        self.unfolded: set[str] = set()
        """Keys of what is unfolded."""
        self._options: dict[str, Any] = {}
        """What of the `LayoutOptions` was set."""
        self._width = 80
        self._layouts: LRUCache[int, MessageLayout] = LRUCache(CACHED_LAYOUTS)
        self._arriving: dict[str, tuple[Reply | None, float]] = {}
        """Of the streaming entries, by id: what has come of the reply, and since when it has been
        waited for, by the monotonic clock."""

    def __call__(self, index: int) -> MessageLayout:
        """Return a message's layout."""
        return self._cached(self.entries[index]) or self._lay_out(index)

    def _cached(self, entry: Entry) -> MessageLayout | None:
        layout = self._layouts.get(id(entry))
        return layout if layout is not None and layout.entry is entry else None

    @property
    def options(self) -> LayoutOptions:
        """What the layout of all messages depends on."""
        from tui_chat.ui.chat.message import LayoutOptions

        return LayoutOptions(**self._options)

    def set_options(self, **options: object) -> bool:
        """Set some of the options, and return True if they changed; heights hardly do."""
        is_changed = any(self._options.get(name) != value for name, value in options.items())
        self._options |= options
        if is_changed:
            self._layouts.clear()
        return is_changed

    def set_entries(self, entries: tuple[Entry, ...]) -> None:
        """Take another branch; the texts of grown replies go to the entries that replace theirs."""
        grown = {self.entries[at].message.id: self(at) for at in self.streaming()}
        same = common_beginning(self.entries, entries)
        if [e.message.id for e in self.entries[:1]] != [e.message.id for e in entries[:1]]:
            self._layouts.clear()
        while same and entries[same - 1].message.role == "tool":
            same -= 1
        if same and _depends_on_next(entries[same - 1]):
            self._layouts.discard(id(entries[same - 1]))
        self.entries = entries
        now = monotonic()
        self._arriving = {
            entries[at].message.id: self._arriving.get(entries[at].message.id, (None, now))
            for at in self.streaming()
        }
        for index in range(max(len(entries) - 2, 0), len(entries)):
            before = grown.get(entries[index].message.id)
            if before is not None and before.entry is not entries[index]:
                self._lay_out(index, before)

    def resize(self, width: int) -> None:
        """Lay out at another width."""
        self._width = width
        self._layouts.clear()

    def refold(self, index: int) -> None:
        """Lay a message out again after its folds changed."""
        self._lay_out(index, self(index))

    def heights(self) -> list[int]:
        """Return every message's height, an estimate unless its layout is cached."""
        texts = (entry.message.content for entry in self.entries)
        heights = [
            HEADER_HEIGHT + 1 + text.count("\n") + len(text) // self._width for text in texts
        ]
        for index, entry in enumerate(self.entries) if self._layouts else ():
            if (layout := self._cached(entry)) is not None:
                heights[index] = len(layout.rows)
        return heights

    def selected_text(self, selection: Selection) -> str:
        """Return the selected text: whole messages as they were written, parts of them as drawn,
        with wrapped rows joined again, without the bars and indentation of wrapped rows and of
        code. The selection numbers rows as `row_number` does.
        """
        start_x, start = selection.start or (0, 0)
        end_x, end = selection.end or (_END, _END)
        size, pieces = _ROWS_OF_MESSAGE, list[str]()
        for index in range(start // size, min(end // size, len(self.entries) - 1) + 1):
            if (index * size, 0) >= (start, start_x) and (index + 1) * size <= end:
                pieces.append(self.entries[index].message.content)
                continue
            joined = ""
            for at, row in enumerate(self(index).rows, index * size):
                if start <= at <= end:
                    is_wrapped = row.joint is not None and bool(joined)
                    first = start_x if at == start else 0
                    if is_wrapped or row.ground:
                        first = max(first, row.margin)
                    text = row.text[first : end_x if at == end else None]
                    text = text if row.ground else text.rstrip()
                    joined += f"{row.joint}{text}" if is_wrapped else f"\n{text}"
            pieces.append(joined.strip("\n"))
        return "\n\n".join(pieces)

    # Streaming replies

    def streaming(self) -> list[int]:
        """Return the indices of streaming entries, which are at the end of a branch."""
        count = len(self.entries)
        return [i for i in range(max(count - 2, 0), count) if self.entries[i].status == "streaming"]

    def set_reply(self, entry_id: str, reply: Reply, elapsed: float | None) -> bool:
        """Set the reply of a streaming entry. Return False if it is the one already set."""
        known = self._arriving.get(entry_id)
        if known is None or known[0] is reply:
            return False
        self._arriving[entry_id] = reply, known[1] if elapsed is None else monotonic() - elapsed
        return True

    def grow(self) -> list[int]:
        """Lay out the replies that were set and the time that passed, and return the indices of the
        streaming entries.
        """
        for index in (streaming := self.streaming()):
            self._lay_out(index, self(index))
        return streaming

    def source(self, index: int) -> str:
        """Return a message's text as it was written, so far."""
        entry = self.entries[index]
        reply = self._arriving.get(entry.message.id, (None,))[0]
        return reply.text if reply else entry.message.content

    def _progress(self, entry: Entry) -> ReplyProgress | None:
        known = self._arriving.get(entry.message.id)
        if entry.status != "streaming" or known is None:
            return None
        from tui_chat.ui.chat.message import ReplyProgress

        reply, since = known
        return ReplyProgress(monotonic() - since, reply)

    def _neighbors(self, index: int) -> Neighbors:
        from tui_chat.models.tool import results_of
        from tui_chat.ui.chat.header_footer import day_of
        from tui_chat.ui.chat.message import Neighbors
        from tui_chat.ui.chat.tool_calls import result_state

        entries = self.entries
        day = day_of(entries[index])
        if day:
            # An entry without a time, such as a tool result, belongs to the day before it.
            earlier = (day_of(entries[number]) for number in range(index - 1, -1, -1))
            day = "" if day == next(filter(None, earlier), day) else day
        if not _depends_on_next(entries[index]):
            return Neighbors(day, is_first=not index)
        after = index + 1
        while after < len(entries) and entries[after].message.role == "tool":
            after += 1
        followers = [entry.message for entry in entries[index + 1 : after]]
        found = results_of(entries[index].message.tool_calls, followers)
        states: dict[int, ResultState] = {
            position: result_state(result) for position, result in found.items()
        }
        return Neighbors(day, not index, states, after == len(entries))

    def _lay_out(self, index: int, before: MessageLayout | None = None) -> MessageLayout:
        from tui_chat.ui.chat.message import MessageLayout

        entry = self.entries[index]
        layout = MessageLayout(
            entry,
            self._width,
            neighbors=self._neighbors(index),
            unfolded=self.unfolded,
            progress=self._progress(entry),
            options=self.options,
            before=before,
        )
        self._layouts.discard(id(entry))  # `set` would keep a layout that is there
        self._layouts.set(id(entry), layout)
        return layout


def row_number(position: LinePosition) -> int:
    """Return the number of a row in a selection; scrolling and a growing reply keep it."""
    return position.block * _ROWS_OF_MESSAGE + position.line


def _depends_on_next(entry: Entry) -> bool:
    """Return True if an entry is drawn otherwise when it is the last one."""
    return bool(entry.message.tool_calls) or entry.status in ("failed", "interrupted")


def common_beginning(old: Sequence[Entry], new: Sequence[Entry]) -> int:
    """Count the entries with which both branches begin."""
    pairs = enumerate(zip(old, new, strict=False))
    changed = (index for index, (before, after) in pairs if before is not after)
    return next(changed, min(len(old), len(new)))
