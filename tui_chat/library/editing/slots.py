"""The places in a sketch where a message can be put.

A slot lies in front of a row, or behind the last one. Putting a message there sets the fields
that bring it there: its anchor and side, its depth, its order, its place in the list.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from tui_chat.library.editing.sketch import Row, Sketch
from tui_chat.models.preset import CHAT_HISTORY, PresetMessage


@dataclass(frozen=True, slots=True)
class Slot:
    """A place for a message."""

    row: int
    """The row that it lies in front of; the number of rows for the one behind the last."""
    kind: Literal["system", "list", "before", "after", "depth"]
    anchor: str = ""
    depth: int | None = None
    neighbour: int | None = None
    """The list index of the message it goes next to, which is at the same place."""
    side: Literal["before", "after"] = "after"
    """On which side of the neighbour."""

    @property
    def words(self) -> str:
        """What it is, in a few words: `at depth -2`, `after the history`."""
        called = "the history" if self.anchor == CHAT_HISTORY else f"“{self.anchor}”"
        match self.kind:
            case "system":
                return "among the system messages"
            case "list":
                return "in the list"
            case "before" | "after":
                return f"{self.kind} {called}"
            case "depth":
                return f"at depth {self.depth}"


def slots(drawn: Sketch, message: PresetMessage) -> tuple[Slot, ...]:
    """Return the slots that a message may be put in, from top to bottom. At the border of two
    places there is one for each.

    An anchor stands in the list only. Where system messages are hoisted, they stand among
    themselves, and nothing else does.
    """
    rows = drawn.rows
    hoists = drawn.preset.system_placement == "hoist"
    found: dict[tuple[object, ...], Slot] = {}
    for number in range(len(rows) + 1):
        if number:
            for slot in _behind(number, rows[number - 1], rows, hoists=hoists):
                found.setdefault(_place(slot), slot)
        if number < len(rows):
            for slot in _in_front_of(number, rows[number], rows):
                found.setdefault(_place(slot), slot)
    if message.is_anchor:
        return tuple(slot for slot in found.values() if slot.kind == "list")
    among_system = hoists and message.role == "system"
    return tuple(slot for slot in found.values() if (slot.kind == "system") == among_system)


def _place(slot: Slot) -> tuple[object, ...]:
    return slot.row, slot.kind, slot.anchor, slot.depth


def _behind(number: int, row: Row, rows: tuple[Row, ...], *, hoists: bool) -> Iterator[Slot]:
    at = row.index if row.index >= 0 else None
    match row.standing, row.ghost:
        case "system", _:
            yield Slot(number, "system", neighbour=at)
        case (("skeleton" | "unplaced"), _):
            yield Slot(number, "list", neighbour=at)
        case (("before" | "after" as kind), _):
            yield Slot(number, kind, row.anchor, neighbour=at)
            if kind == "after":
                yield from _behind_anchor(number, row, rows)
        case "depth", _:
            yield Slot(number, "depth", CHAT_HISTORY, row.depth, neighbour=at)
        case "anchor", _ if row.off:
            yield Slot(number, "list", neighbour=at)
        case "anchor", _ if row.anchor != CHAT_HISTORY:
            yield Slot(number, "after", row.anchor)
            yield from _behind_anchor(number, row, rows)
        case "ghost", "role" if hoists:
            yield Slot(number, "system")
        case "ghost", "draft":
            yield Slot(number, "after", CHAT_HISTORY)
            yield from _behind_anchor(number, row, rows)
        case "ghost", "oldest":
            yield Slot(number, "depth", CHAT_HISTORY, 1)
        case "ghost", "newest":
            yield Slot(number, "depth", CHAT_HISTORY, -1)
        case "ghost", "message" if (row.depth or 0) < 0:
            yield Slot(number, "depth", CHAT_HISTORY, (row.depth or 0) + 1)
        case "ghost", "message":
            yield Slot(number, "depth", CHAT_HISTORY, row.depth)
        case _:
            pass


def _behind_anchor(number: int, row: Row, rows: tuple[Row, ...]) -> Iterator[Slot]:
    """Yield the place in the list behind an anchor and all that stands at it."""
    if number == len(rows) or rows[number].standing != "after":
        at = _index_of_anchor(row.anchor, rows)
        if at is not None:  # a history without an anchor goes last: nothing is behind it
            yield Slot(number, "list", neighbour=at)


def _in_front_of(number: int, row: Row, rows: tuple[Row, ...]) -> Iterator[Slot]:
    at = row.index if row.index >= 0 else None
    match row.standing, row.ghost:
        case "system", _:
            yield Slot(number, "system", neighbour=at, side="before")
        case (("skeleton" | "unplaced"), _):
            yield Slot(number, "list", neighbour=at, side="before")
        case (("before" | "after" as kind), _):
            if kind == "before":
                yield from _in_front_of_anchor(number, row, rows)
            yield Slot(number, kind, row.anchor, neighbour=at, side="before")
        case "depth", _:
            yield Slot(number, "depth", CHAT_HISTORY, row.depth, neighbour=at, side="before")
        case "anchor", _ if row.off:
            yield Slot(number, "list", neighbour=at, side="before")
        case ("anchor", _) | ("ghost", "history"):
            yield from _in_front_of_anchor(number, row, rows)
            yield Slot(number, "before", row.anchor)
        case "ghost", "oldest":
            yield Slot(number, "depth", CHAT_HISTORY, 0)
        case "ghost", "newest":
            yield Slot(number, "depth", CHAT_HISTORY, -2)
        case "ghost", "message" if (row.depth or 0) < 0:
            yield Slot(number, "depth", CHAT_HISTORY, row.depth)
        case _:
            pass


def _in_front_of_anchor(number: int, row: Row, rows: tuple[Row, ...]) -> Iterator[Slot]:
    """Yield the place in the list in front of an anchor and all that stands before it."""
    above = rows[number - 1] if number else None
    if above is None or (above.standing, above.anchor) != ("before", row.anchor):
        at = _index_of_anchor(row.anchor, rows)
        yield Slot(number, "list", neighbour=at, side="before")


def _index_of_anchor(anchor: str, rows: tuple[Row, ...]) -> int | None:
    there = (r.index for r in rows if r.standing == "anchor" and r.anchor == anchor and not r.off)
    return next(there, None)
