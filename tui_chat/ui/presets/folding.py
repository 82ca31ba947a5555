"""What folds in the list: the parts of a request, and in them the groups that a divider heads.

A part is folded at its heading, which is no row of the outline: while it is folded, its first row
stands for it under the cursor. The history's heading is its anchor.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.editing.edits import MessageGroup, groups_of
from tui_chat.library.editing.outline import Outline, OutlineRow
from tui_chat.models.envelope import Level
from tui_chat.models.preset import CHAT_HISTORY

HISTORY = "\0history"
PARTS = {
    "\0system": "System",
    "\0before": "Before the chat",
    "\0after": "After the chat",
}
"""The headings of parts; no id of a message begins with NUL."""


@dataclass(frozen=True, slots=True)
class Heading:
    """The heading of a part or a group."""

    title: str
    words: str
    """How many messages it has."""
    tokens: int | None
    is_folded: bool
    worst: Level | None
    """The worst level of the notes of what is folded; None for infos only."""
    box: str = ""
    """The checkbox of a group."""


def parts_of(rows: Iterable[OutlineRow]) -> Iterator[str]:
    """Yield the part that each row of an outline is in."""
    part = "\0before"
    for row in rows:
        is_anchor = row.placement == "anchor" and row.anchor == CHAT_HISTORY and not row.disabled
        if row.placement == "system" or row.ghost == "role":
            yield "\0system"
            continue
        if is_anchor or row.placement == "depth" or row.ghost is not None:
            part = HISTORY
        elif part == HISTORY:
            part = "\0after"
        yield part


class Folding:
    """The parts and groups of an outline, and which of them are folded.

    A fold is named by the part, or by the id of the message that heads a group.
    """

    def __init__(self) -> None:
        self.outline: Outline | None = None
        self.groups: Mapping[int, MessageGroup] = {}
        """By the list index of their headings."""
        self._parts: tuple[str, ...] = ()
        self._first: Mapping[str, int] = {}
        """The first row of each part."""
        self._folded: frozenset[str] = frozenset()

    def show(self, outline: Outline) -> None:
        """Take another outline; what is folded stays folded."""
        if self.outline is None or outline.preset is not self.outline.preset:
            self.groups = groups_of(outline.preset)
        self.outline = outline
        self._parts = tuple(parts_of(outline.rows))
        numbers = reversed(range(len(self._parts)))
        self._first = {self._parts[number]: number for number in numbers}

    def part(self, number: int) -> str:
        """Return the part whose heading stands above a row; empty if none does."""
        part = self._parts[number]
        is_first = number == self._first[part]
        return part if is_first and part in PARTS and any(self._messages(part)) else ""

    def folded_part(self, number: int) -> str:
        """Return the part that a row is hidden in, save the history; empty if it is in none."""
        part = self._parts[number] if 0 <= number < len(self._parts) else ""
        return part if part in self._folded and part in PARTS else ""

    def is_folded(self, fold: str) -> bool:
        """True if a part or a group is folded."""
        return fold in self._folded

    def hidden(self) -> frozenset[int]:
        """Return the numbers of the rows that are not shown."""
        rows = self.outline.rows if self.outline else ()
        folded = (g for g in self.groups.values() if self._name(g) in self._folded)
        indices = {index for group in folded for index in group.members}
        return frozenset(
            number
            for number, (row, part) in enumerate(zip(rows, self._parts, strict=True))
            if row.index in indices or (part in self._folded and number != self._first[part])
        )

    def fold(self, number: int, folds: bool | None) -> int | None:
        """Fold or unfold what a row is in, None for the other of the two: first its group, then its
        part. Return the row that the cursor goes to, None if nothing changed.
        """
        around = self._around(number)
        folded = [name for name in around if name in self._folded]
        if folded and folds is not True:
            self._folded -= {folded[-1]}
            return number
        unfolded = [name for name in around if name not in self._folded]
        if not unfolded or folds is False:
            return None
        self._folded |= {unfolded[0]}
        return self._head(unfolded[0])

    def toggle_part(self, number: int) -> None:
        """Fold or unfold the part of a row."""
        self._folded ^= {self._parts[number]}

    def fold_all(self, number: int) -> int:
        """Fold all groups, else all parts; if all are folded, unfold. Return the cursor's row."""
        names = {self._name(group) for group in self.groups.values()} or {*self._parts}
        is_all = names <= self._folded
        self._folded = self._folded - names if is_all else self._folded | names
        around = [name for name in self._around(number) if name in names]
        return number if is_all or not around else self._head(around[0])

    def unfold_around(self, number: int) -> bool:
        """Unfold what hides a row; return False if it is in sight."""
        before = self._folded
        if number in self.hidden() or self.folded_part(number):
            self._folded -= set(self._around(number))
        return self._folded != before

    def part_heading(self, part: str, tokens: Mapping[int, int], role: int) -> Heading:
        """Return a part's heading with the tokens of its messages (by index) and of the role's
        prompt, which is one more message of the first part.
        """
        rows = list(self._messages(part))
        count = sum(row.message is not None and not row.message.is_anchor for row in rows)
        cost = sum(tokens.get(row.index, 0) for row in rows if not row.disabled)
        if part == "\0system" or ("\0system" not in self._parts and part == "\0before"):
            cost += role
            count += role > 0
        words = f"{count} message{'s' * (count != 1)}"
        is_folded = part in self._folded
        return Heading(PARTS[part], words, cost, is_folded, _worst(rows) if is_folded else None)

    def group_heading(self, group: MessageGroup, tokens: Mapping[int, int]) -> Heading:
        """Return the heading of a group, with the tokens of messages by list index."""
        assert self.outline is not None
        is_folded = self._name(group) in self._folded
        rows = [row for row in self.outline.rows if is_folded and row.index in group.members]
        on, count = group.enabled(self.outline.preset), len(group.members)
        cost = sum(tokens.get(index, 0) for index in on) if on else None
        box = "[ ]" if not on else "[x]" if len(on) == count else "[-]"
        return Heading(group.title, f"{len(on)} of {count} on", cost, is_folded, _worst(rows), box)

    def _messages(self, part: str) -> Iterator[OutlineRow]:
        rows = self.outline.rows if self.outline else ()
        pairs = zip(rows, self._parts, strict=True)
        return (row for row, own in pairs if own == part and row.message is not None)

    def _name(self, group: MessageGroup) -> str:
        return self.outline.preset.messages[group.heading].id if self.outline else ""

    def _around(self, number: int) -> list[str]:
        """Return the names of what a row is in, or the heading of, innermost first."""
        if self.outline is None or not 0 <= number < len(self.outline.rows):
            return []
        index = self.outline.rows[number].index
        groups = (g for g in self.groups.values() if index == g.heading or index in g.members)
        return [*(self._name(group) for group in groups), self._parts[number]]

    def _head(self, name: str) -> int:
        """Return the row that stands for what is folded."""
        if name in self._first:
            return self._first[name]
        assert self.outline is not None
        headings = (group.heading for group in self.groups.values() if self._name(group) == name)
        return self.outline.row_of(next(headings))


def _worst(rows: Iterable[OutlineRow]) -> Level | None:
    levels = {note.level for row in rows for note in row.notes}
    return next((level for level in (Level.ERROR, Level.WARNING) if level in levels), None)
