"""The layouts of a branch's messages, made when they are looked at.

Entries are frozen, so a layout is found again by its entry's identity, as long as it was
looked at not too long ago. A streaming entry's layout grows with its reply, and is handed on
to the entry that replaces it when the reply is whole.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from time import monotonic

from tui_chat.models.reply import Reply
from tui_chat.models.session import Entry
from tui_chat.models.timing import NO_TIMING, Timing
from tui_chat.ui.chat import label
from tui_chat.ui.chat.message import Around, MessageLayout
from tui_chat.ui.chat.parts import Guesses
from tui_chat.ui.chat.progress import Live

KEPT = 60
"""Messages whose layout is kept while they are out of sight."""


class Layouts:
    """The messages of one branch, laid out at one width."""

    def __init__(self) -> None:
        self.entries: tuple[Entry, ...] = ()
        """Root to head."""
        self.unfolded: set[str] = set()
        """Keys of what is unfolded."""
        self.timing_of: Callable[[Entry], Timing] = lambda entry: NO_TIMING
        """How quickly a reply came that has ended, and what it cost."""
        self._width = 80
        self._guesses = Guesses()
        """How high the first entries are, roughly; the rest was not asked for yet."""
        self._made: OrderedDict[int, tuple[Entry, MessageLayout]] = OrderedDict()
        self._replies: dict[str, Reply] = {}
        self._since: dict[str, float] = {}
        self._timings: dict[str, tuple[Timing, float]] = {}

    def __call__(self, index: int) -> MessageLayout:
        """Return a message's layout."""
        entry = self.entries[index]
        found = self._made.get(id(entry))
        if found is not None and found[0] is entry:
            self._made.move_to_end(id(entry))
            return found[1]
        return self._make(index)

    def take(self, entries: tuple[Entry, ...]) -> None:
        """Take another branch; what has grown is handed on to the entries that replace it."""
        grown = {
            self.entries[index].message.id: self(index)
            for index in self.streaming()
            if self.entries[index].message.id in self._replies
        }
        self._guesses.forget(in_common(self.entries, entries))
        if not _same_beginning(self.entries, entries):
            self._made.clear()
        self._forget_neighbour(entries)
        self.entries = entries
        living = {e.message.id for e in entries[-2:] if e.status == "streaming"}
        self._replies = {key: reply for key, reply in self._replies.items() if key in living}
        now = monotonic()
        self._since = {key: self._since.get(key, now) for key in living}
        self._timings = {key: known for key, known in self._timings.items() if key in living}
        for index in range(max(len(entries) - 2, 0), len(entries)):
            layout = grown.get(entries[index].message.id)
            if layout is not None and layout.entry is not entries[index]:
                self._make(index, layout)

    def resize(self, width: int) -> None:
        """Lay out anew at another width."""
        self._width = width
        self._made.clear()

    def heights(self) -> list[int]:
        """Return every message's height: as it is where it is laid out, else estimated."""
        self._guesses.read([e.message.content for e in self.entries[len(self._guesses) :]])
        heights = self._guesses.heights(self._width, 2)
        if self._made:
            for index, entry in enumerate(self.entries):
                found = self._made.get(id(entry))
                if found is not None and found[0] is entry:
                    heights[index] = found[1].height
        return heights

    # Replies that grow

    def streaming(self) -> list[int]:
        """Return where entries stream; they are at the end of a branch."""
        count = len(self.entries)
        return [i for i in range(max(count - 2, 0), count) if self.entries[i].status == "streaming"]

    def offer(self, entry_id: str, reply: Reply, timing: Timing) -> bool:
        """Take note of what has come of a reply, and how fast; False where that is known."""
        if self._replies.get(entry_id) is reply:
            return False
        self._replies[entry_id] = reply
        self._timings[entry_id] = timing, monotonic()
        return True

    def grow(self) -> list[int]:
        """Lay out what was offered, and return whose layout has changed."""
        grown: list[int] = []
        for index in self.streaming():
            live = self.live(self.entries[index])
            if live and live.reply:
                self(index).grow(live)
                grown.append(index)
        return grown

    def tick(self) -> None:
        """Let streaming messages say how they get on."""
        for index in self.streaming():
            if live := self.live(self.entries[index]):
                self(index).tick(live)

    def live(self, entry: Entry) -> Live | None:
        """Return how an entry's reply gets on; None where it does not stream."""
        if entry.status != "streaming":
            return None
        key, now = entry.message.id, monotonic()
        timing, heard = self._timings.get(key, (NO_TIMING, now))
        if timing.elapsed is None:
            seconds = now - self._since.setdefault(key, now)
        else:
            seconds = timing.elapsed + now - heard
        return Live(seconds, self._replies.get(key), timing)

    def source(self, index: int) -> str:
        """Return a message's text as it was written, so far."""
        entry = self.entries[index]
        reply = self._replies.get(entry.message.id)
        return reply.text if reply else entry.message.content

    def _forget_neighbour(self, entries: tuple[Entry, ...]) -> None:
        """Forget the layout before the first entry that is new: what follows it has changed."""
        same = in_common(self.entries, entries)
        while same and entries[same - 1].message.role == "tool":
            same -= 1
        if same and entries[same - 1].message.tool_calls:
            self._made.pop(id(entries[same - 1]), None)

    def _around(self, index: int) -> Around:
        entries = self.entries
        day = label.day_of(entries[index])
        # What says no time, such as a tool's answer, was said on the day of what is before it.
        said = (label.day_of(entries[at]) for at in range(index - 1, -1, -1)) if day else iter(())
        if day == next(filter(None, said), ""):
            day = ""
        if not entries[index].message.tool_calls:
            return Around(day)
        after = index + 1
        while after < len(entries) and entries[after].message.role == "tool":
            after += 1
        answered = frozenset(e.message.tool_call_id for e in entries[index + 1 : after])
        return Around(day, answered, after == len(entries))

    def _make(self, index: int, grown: MessageLayout | None = None) -> MessageLayout:
        entry = self.entries[index]
        layout = MessageLayout(
            entry,
            self._width,
            around=self._around(index),
            unfolded=self.unfolded,
            live=self.live(entry),
            timing=self.timing_of(entry) if entry.message.role == "assistant" else NO_TIMING,
            grown=grown,
        )
        self._made[id(entry)] = (entry, layout)
        if len(self._made) > KEPT:
            self._made.popitem(last=False)
        return layout


def _same_beginning(old: Sequence[Entry], new: Sequence[Entry]) -> bool:
    """Whether both begin with the same message, be it another version of it."""
    return bool(old and new) and old[0].message.id == new[0].message.id


def in_common(old: Sequence[Entry], new: Sequence[Entry]) -> int:
    """Count the entries that both branches begin with."""
    for index, (before, now) in enumerate(zip(old, new, strict=False)):
        if before is not now:
            return index
    return min(len(old), len(new))
