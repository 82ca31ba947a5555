"""The layouts of a branch's messages, made when they are looked at, and what changed between two
branches.

Entries are frozen, so a layout is found again by its entry's identity while it is cached. What
lays out a message is imported with the first one: the first frame has none, and its modules are an
eighth of what it would import.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any

from tui_chat.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from tui_chat.models.reply import Reply
    from tui_chat.models.session import Entry
    from tui_chat.ui.chat.message import LayoutOptions, MessageLayout, Neighbors, ReplyProgress
    from tui_chat.ui.chat.tool_calls import ResultState

CACHED_LAYOUTS = 60
"""Messages whose layout is kept while they are out of sight."""
HEADER_HEIGHT = 2
"""Rows that are added to the estimate of a message's text."""


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
        self._layouts: OrderedDict[int, tuple[Entry, MessageLayout]] = OrderedDict()
        self._arriving: dict[str, tuple[Reply | None, float]] = {}
        """Of the streaming entries, by id: what has come of the reply, and since when it has been
        waited for, by the monotonic clock."""

    def __call__(self, index: int) -> MessageLayout:
        """Return a message's layout."""
        entry = self.entries[index]
        cached = self._layouts.get(id(entry))
        if cached is None or cached[0] is not entry:
            return self._lay_out(index)
        self._layouts.move_to_end(id(entry))
        return cached[1]

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
            self._layouts.pop(id(entries[same - 1]), None)
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
        heights = [_estimated_height(e.message.content, self._width) for e in self.entries]
        for index, entry in enumerate(self.entries) if self._layouts else ():
            cached = self._layouts.get(id(entry))
            if cached is not None and cached[0] is entry:
                heights[index] = len(cached[1].rows)
        return heights

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
        self._layouts[id(entry)] = (entry, layout)
        if len(self._layouts) > CACHED_LAYOUTS:
            self._layouts.popitem(last=False)
        return layout


def _depends_on_next(entry: Entry) -> bool:
    """Return True if an entry is drawn otherwise when it is the last one."""
    return bool(entry.message.tool_calls) or entry.status in ("failed", "interrupted")


def _estimated_height(text: str, width: int) -> int:
    return HEADER_HEIGHT + 1 + text.count("\n") + len(text) // width


@dataclass(frozen=True, slots=True)
class BranchChange:
    """The difference of a branch from the one before it."""

    is_other_session: bool
    """True if the branches have nothing in common."""
    same: int
    """The number of entries with which both begin."""
    added: tuple[Entry, ...]
    """The entries that follow the old ones."""
    replaces_entries: bool
    """True if an entry of the old branch is another one now, or gone."""
    is_other_version: bool
    """True if the first entry that differs is shown in another version."""

    @property
    def user_spoke(self) -> bool:
        """True if the user sent a message."""
        return any(entry.message.role == "user" for entry in self.added)


def branch_change(
    old: tuple[Entry, ...], new: tuple[Entry, ...], *, same_session: bool
) -> BranchChange:
    """Compare two branches; `same_session` is True if both are known to be of one session."""
    same = common_beginning(old, new)
    is_other_version = False
    if same < min(len(old), len(new)):
        before, after = old[same], new[same]
        is_other_version = (
            before.message.id != after.message.id
            and after.siblings > 1
            and before.sibling != after.sibling
        )
    return BranchChange(
        is_other_session=not (same_session or same),
        same=same,
        added=new[len(old) :],
        replaces_entries=same < min(len(old), len(new)),
        is_other_version=is_other_version,
    )


def common_beginning(old: Sequence[Entry], new: Sequence[Entry]) -> int:
    """Count the entries with which both branches begin."""
    pairs = enumerate(zip(old, new, strict=False))
    changed = (index for index, (before, after) in pairs if before is not after)
    return next(changed, min(len(old), len(new)))
