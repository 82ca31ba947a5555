"""The layouts of a branch's messages, made when they are looked at.

Entries are frozen, so a layout is found again by its entry's identity while it is cached. A
streaming entry's layout grows with its reply, and is handed to the entry that replaces it when
the reply is complete.

What lays out a message is imported with the first one: the first frame has none, and its modules
are an eighth of what it would import.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from time import monotonic
from typing import TYPE_CHECKING

from tui_chat.models.usage import NO_TIMING, Timing
from tui_chat.ui.chat.branch_change import common_beginning
from tui_chat.ui.chat.code_blocks import CodeView
from tui_chat.ui.chat.layout_inputs import LayoutOptions, Neighbors, ReplyProgress

if TYPE_CHECKING:
    from tui_chat.models.reply import Reply
    from tui_chat.models.session import Entry, SpeakerNames
    from tui_chat.ui.chat.message_layout import MessageLayout
    from tui_chat.ui.chat.tool_calls import ResultState

CACHED_LAYOUTS = 60
"""Messages whose layout is kept while they are out of sight."""
HEADER_HEIGHT = 2
"""Lines that are added to the estimate of a message's text."""
COUNTED_TEXTS = 100
"""The newest messages, whose lines are counted for an estimate."""


class BranchLayout:
    """The messages of one branch, laid out at one width."""

    def __init__(self) -> None:
        self.entries: tuple[Entry, ...] = ()
        """Root to head."""
        self.unfolded: set[str] = set()
        """Keys of what is unfolded."""
        self.timing_of: Callable[[Entry], Timing] = lambda entry: NO_TIMING
        """Returns the timing and cost of a finished reply."""
        self.options = LayoutOptions()
        self._width = 80
        self._layouts: OrderedDict[int, tuple[Entry, MessageLayout]] = OrderedDict()
        self._replies: dict[str, Reply] = {}
        self._started: dict[str, float] = {}
        self._timings: dict[str, tuple[Timing, float]] = {}

    def __call__(self, index: int) -> MessageLayout:
        """Return a message's layout."""
        entry = self.entries[index]
        cached = self._layouts.get(id(entry))
        if cached is not None and cached[0] is entry:
            self._layouts.move_to_end(id(entry))
            return cached[1]
        return self._lay_out(index)

    def set_entries(self, entries: tuple[Entry, ...]) -> None:
        """Take another branch; grown layouts go to the entries that replace theirs."""
        grown = {
            self.entries[index].message.id: self(index)
            for index in self.streaming()
            if self.entries[index].message.id in self._replies
        }
        same = common_beginning(self.entries, entries)
        old_first = self.entries[0].message.id if self.entries else None
        if not entries or entries[0].message.id != old_first:
            self._layouts.clear()
        self._forget_changed_neighbor(entries, same)
        self.entries = entries
        streaming = {e.message.id for e in entries[-2:] if e.status == "streaming"}
        now = monotonic()
        self._replies = {key: each for key, each in self._replies.items() if key in streaming}
        self._started = {key: self._started.get(key, now) for key in streaming}
        self._timings = {key: each for key, each in self._timings.items() if key in streaming}
        for index in range(max(len(entries) - 2, 0), len(entries)):
            layout = grown.get(entries[index].message.id)
            if layout is not None and layout.entry is not entries[index]:
                self._lay_out(index, layout)

    def resize(self, width: int) -> None:
        """Lay out at another width."""
        self._width = width
        self._layouts.clear()

    def set_focused(self, is_focused: bool) -> None:
        """Name the keys that work with or without the focus; heights stay."""
        if is_focused != self.options.is_focused:
            self.options.is_focused = is_focused
            for _, layout in self._layouts.values():
                if layout.names_keys:
                    layout.assemble()

    def set_code_view(self, code: CodeView) -> None:
        """Show wide lines of code otherwise."""
        self.options.code = code
        self._layouts.clear()

    def set_subagents(self, calls: frozenset[str]) -> None:
        """Name the key at the calls that started subagents; heights stay."""
        self.options.subagents = calls
        for _, layout in self._layouts.values():
            layout.assemble()

    def set_speakers(self, speakers: SpeakerNames) -> None:
        """Name who speaks; heights stay."""
        self.options.speakers = speakers
        for _, layout in self._layouts.values():
            layout.assemble()

    def set_muted(self, ids: frozenset[str], calls: frozenset[tuple[str, str]]) -> None:
        """Dim and name what is not sent; heights stay."""
        self.options.muted, self.options.muted_calls = ids, calls
        for _, layout in self._layouts.values():
            layout.assemble()

    def set_edited(self, replies: frozenset[str]) -> None:
        """Mark replies whose requests were edited by hand; heights stay."""
        self.options.edited = replies
        for _, layout in self._layouts.values():
            layout.assemble()

    def heights(self) -> list[int]:
        """Return every message's height, an estimate unless its layout is cached."""
        heights = _estimated_heights([e.message.content for e in self.entries], self._width)
        if self._layouts:
            for index, entry in enumerate(self.entries):
                cached = self._layouts.get(id(entry))
                if cached is not None and cached[0] is entry:
                    heights[index] = cached[1].height
        return heights

    # Streaming replies

    def streaming(self) -> list[int]:
        """Return the indices of streaming entries, which are at the end of a branch."""
        count = len(self.entries)
        return [i for i in range(max(count - 2, 0), count) if self.entries[i].status == "streaming"]

    def set_reply(self, entry_id: str, reply: Reply, timing: Timing) -> bool:
        """Set the reply of a streaming entry. Return False if it is the one already set."""
        if self._replies.get(entry_id) is reply:
            return False
        self._replies[entry_id] = reply
        self._timings[entry_id] = timing, monotonic()
        return True

    def grow(self) -> list[int]:
        """Lay out the replies that were set and the time that passed, and return the indices of the
        streaming entries.
        """
        for index in (streaming := self.streaming()):
            if progress := self._progress(self.entries[index]):
                self(index).grow(progress)
        return streaming

    def source(self, index: int) -> str:
        """Return a message's text as it was written, so far."""
        entry = self.entries[index]
        reply = self._replies.get(entry.message.id)
        return reply.text if reply else entry.message.content

    def _progress(self, entry: Entry) -> ReplyProgress | None:
        if entry.status != "streaming":
            return None
        key, now = entry.message.id, monotonic()
        timing, received = self._timings.get(key, (NO_TIMING, now))
        if timing.elapsed is None:
            seconds = now - self._started.setdefault(key, now)
        else:
            seconds = timing.elapsed + now - received
        return ReplyProgress(seconds, self._replies.get(key), timing)

    def _forget_changed_neighbor(self, entries: tuple[Entry, ...], same: int) -> None:
        """Drop a layout that depends on what follows: another entry or result does now."""
        while same and entries[same - 1].message.role == "tool":
            same -= 1
        if same and _depends_on_next(entries[same - 1]):
            self._layouts.pop(id(entries[same - 1]), None)

    def _neighbors(self, index: int) -> Neighbors:
        from tui_chat.ui.chat.header_footer import day_of

        entries = self.entries
        day = day_of(entries[index])
        if day:
            # An entry without a time, such as a tool result, belongs to the day before it.
            earlier = (day_of(entries[number]) for number in range(index - 1, -1, -1))
            day = "" if day == next(filter(None, earlier), "") else day
        if not _depends_on_next(entries[index]):
            return Neighbors(day)
        from tui_chat.models.tool import results_of
        from tui_chat.ui.chat.tool_calls import result_state

        after = index + 1
        while after < len(entries) and entries[after].message.role == "tool":
            after += 1
        followers = [entry.message for entry in entries[index + 1 : after]]
        found = results_of(entries[index].message.tool_calls, followers)
        states: dict[int, ResultState] = {
            position: result_state(result) for position, result in found.items()
        }
        return Neighbors(day, states, after == len(entries))

    def _lay_out(self, index: int, grown: MessageLayout | None = None) -> MessageLayout:
        from tui_chat.ui.chat.message_layout import MessageLayout

        entry = self.entries[index]
        layout = MessageLayout(
            entry,
            self._width,
            neighbors=self._neighbors(index),
            unfolded=self.unfolded,
            progress=self._progress(entry),
            timing=self.timing_of(entry) if entry.message.role == "assistant" else NO_TIMING,
            grown=grown,
            options=self.options,
        )
        self._layouts[id(entry)] = (entry, layout)
        if len(self._layouts) > CACHED_LAYOUTS:
            self._layouts.popitem(last=False)
        return layout


def _depends_on_next(entry: Entry) -> bool:
    """Return True if an entry is drawn otherwise when it is the last one."""
    return bool(entry.message.tool_calls) or entry.status in ("failed", "interrupted")


def _estimated_heights(texts: Sequence[str], width: int) -> list[int]:
    """Return approximate heights of texts. Only the newest are read, because reading a long branch
    takes as long as showing it; the others count as many lines for a character as these.
    """
    newest, older = texts[-COUNTED_TEXTS:], texts[:-COUNTED_TEXTS]
    heights = [text.count("\n") + len(text) // width for text in newest]
    lines_per_character = sum(heights) / max(sum(map(len, newest)), 1)
    heights = [*(int(len(text) * lines_per_character) for text in older), *heights]
    return [HEADER_HEIGHT + 1 + height for height in heights]
