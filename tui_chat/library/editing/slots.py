"""The places in an outline where a message can go, and moving a message there.

A slot lies in front of a row, or behind the last one. Putting a message into a slot sets the
fields that place it there: anchor and side, depth, order, and its index in the list.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

from tui_chat.context.rules import rules_of
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.editing.edits import move_message
from tui_chat.library.editing.outline import Outline, OutlineRow, outline_preset
from tui_chat.models.preset import CHAT_HISTORY, Preset, PresetMessage, depth_words


@dataclass(frozen=True, slots=True)
class Slot:
    """A place for a message."""

    row: int
    """The number of the row behind the slot; the number of rows for the last slot."""
    kind: Literal["system", "list", "before", "after", "depth"]
    anchor: str = ""
    depth: int | None = None
    """For `depth`, as an insertion point."""
    neighbor: int | None = None
    """The list index of an adjacent message at the same place, if there is one."""
    side: Literal["before", "after"] = "after"
    """The side of the neighbor on which the slot lies."""
    anchor_name: str = ""
    """The anchor's name; empty for its id."""

    @property
    def description(self) -> str:
        """The slot in a few words: `at depth 2`, `before the history`."""
        called = (
            "the history" if self.anchor == CHAT_HISTORY else f"“{self.anchor_name or self.anchor}”"
        )
        match self.kind:
            case "after" if self.anchor == CHAT_HISTORY:
                return "at depth 0"
            case "system":
                return "among the system messages"
            case "list":
                return "in the list"
            case "before" | "after":
                return f"{self.kind} {called}"
            case "depth":
                depth = self.depth or 0
                return f"at {depth_words(depth)}" if depth < 0 else depth_words(depth)


def slots_for(outline: Outline, message: PresetMessage) -> tuple[Slot, ...]:
    """Return the slots that a message may be put in, from top to bottom.

    Where two places meet there is a slot for each. An anchor can only go into the list. If system
    messages are hoisted, they stay among themselves and nothing else goes between them.
    """
    rows = outline.rows
    hoists = outline.preset.system_placement == "hoist"
    slots_by_place: dict[tuple[object, ...], Slot] = {}
    for number in range(len(rows) + 1):
        slots: list[Slot] = []
        if number:
            slots += _behind(number, rows[number - 1], rows, hoists=hoists)
        if number < len(rows):
            slots += _in_front_of(number, rows[number], rows)
        for slot in slots:
            place = _place(slot)
            if place not in slots_by_place or slots_by_place[place].neighbor is None:
                slots_by_place[place] = slot  # next to a message there is an order to keep
    if message.is_anchor:
        return tuple(slot for slot in slots_by_place.values() if slot.kind == "list")
    among_system = hoists and message.role == "system"
    names = {m.anchor_id: m.name for m in outline.preset.messages if m.is_anchor}
    return tuple(
        replace(slot, anchor_name=names.get(slot.anchor, ""))
        for slot in slots_by_place.values()
        if (slot.kind == "system") == among_system
    )


def _place(slot: Slot) -> tuple[object, ...]:
    return slot.row, slot.kind, slot.anchor, slot.depth


def _behind(
    number: int, row: OutlineRow, rows: tuple[OutlineRow, ...], *, hoists: bool
) -> Iterator[Slot]:
    index = row.index if row.index >= 0 else None
    match row.placement, row.ghost:
        case "system", _:
            yield Slot(number, "system", neighbor=index)
        case (("skeleton" | "unplaced"), _):
            yield Slot(number, "list", neighbor=index)
        case (("before" | "after" as kind), _):
            yield Slot(number, kind, row.anchor, neighbor=index)
            if kind == "after":
                yield from _behind_anchor(number, row, rows)
        case "depth", _:
            yield Slot(number, "depth", CHAT_HISTORY, row.depth, neighbor=index)
        case "anchor", _ if row.disabled:
            yield Slot(number, "list", neighbor=index)
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


def _behind_anchor(number: int, row: OutlineRow, rows: tuple[OutlineRow, ...]) -> Iterator[Slot]:
    """Yield the list slot behind an anchor and all messages attached to it."""
    if number == len(rows) or rows[number].placement != "after":
        index = _index_of_anchor(row.anchor, rows)
        if index is not None:  # a history without an anchor is last: nothing follows it
            yield Slot(number, "list", neighbor=index)


def _in_front_of(number: int, row: OutlineRow, rows: tuple[OutlineRow, ...]) -> Iterator[Slot]:
    index = row.index if row.index >= 0 else None
    match row.placement, row.ghost:
        case "system", _:
            yield Slot(number, "system", neighbor=index, side="before")
        case (("skeleton" | "unplaced"), _):
            yield Slot(number, "list", neighbor=index, side="before")
        case (("before" | "after" as kind), _):
            if kind == "before":
                yield from _in_front_of_anchor(number, row, rows)
            yield Slot(number, kind, row.anchor, neighbor=index, side="before")
        case "depth", _:
            yield Slot(number, "depth", CHAT_HISTORY, row.depth, neighbor=index, side="before")
        case "anchor", _ if row.disabled:
            yield Slot(number, "list", neighbor=index, side="before")
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


def _in_front_of_anchor(
    number: int, row: OutlineRow, rows: tuple[OutlineRow, ...]
) -> Iterator[Slot]:
    """Yield the list slot in front of an anchor and all messages attached before it."""
    above = rows[number - 1] if number else None
    if above is None or (above.placement, above.anchor) != ("before", row.anchor):
        index = _index_of_anchor(row.anchor, rows)
        yield Slot(number, "list", neighbor=index, side="before")


def _index_of_anchor(anchor: str, rows: tuple[OutlineRow, ...]) -> int | None:
    there = (
        r.index for r in rows if r.placement == "anchor" and r.anchor == anchor and not r.disabled
    )
    return next(there, None)


def put_in_slot(preset: Preset, index: int, slot: Slot) -> Preset:
    """Return the preset with a message in a slot of the preset's outline."""
    message = preset.messages[index]
    neighbor = None if slot.neighbor in (None, index) else slot.neighbor
    order = message.order
    if neighbor is not None and slot.kind != "list":
        order = preset.messages[neighbor].order
    anchor_point = slot.kind if slot.kind in ("before", "after") else None
    messages = list(preset.messages)
    messages[index] = replace(
        message,
        insertion_point=slot.depth if slot.kind == "depth" else None,
        anchor_point=anchor_point,
        anchor_target=(slot.anchor or CHAT_HISTORY) if anchor_point else None,
        order=order,
    )
    preset = replace(preset, messages=tuple(messages))
    if neighbor is None:
        keeps_index = slot.neighbor == index or slot.kind != "list"
        return preset if keeps_index else move_message(preset, index, len(messages) - 1)
    to = neighbor - (index < neighbor) + (slot.side == "after")
    return move_message(preset, index, to)


def next_slot(outline: Outline, index: int, step: int) -> Slot | None:
    """Return the nearest slot above (`step` < 0) or below message `index` that moves it past
    another row; None at the end of the outline.

    Of several slots between two rows it is the one like the message's own place. The one between
    the history's anchor and its oldest message is skipped: what is sent is as before the anchor.
    """
    preset, number = outline.preset, outline.row_of(index)
    row = outline.rows[number]
    gaps: dict[int, list[Slot]] = {}
    for slot in slots_for(outline, preset.messages[index]):
        is_ahead = slot.row < number if step < 0 else slot.row > number + 1
        if is_ahead and (slot.depth != 0 or slot.neighbor is not None):
            gaps.setdefault(slot.row, []).append(slot)
    for gap in sorted(gaps, reverse=step < 0):
        slot = min(gaps[gap], key=lambda slot: (not _is_like(slot, row), _rank(slot)))
        after = put_in_slot(preset, index, slot)
        if after != preset and _is_moved(outline, after):
            return slot
    return None


def _is_moved(before: Outline, after: Preset) -> bool:
    """True if the rows have another order: a builder may sort the messages at one depth."""
    if not rules_of(after).depth_roles:
        return True
    outlines = map(outline_preset, (before.preset, after))
    orders = [[row.message.id for row in each.rows if row.message is not None] for each in outlines]
    return orders[0] != orders[1]


def nearest_slot(outline: Outline, message: PresetMessage, number: int) -> Slot | None:
    """Return the slot behind row `number`, else the nearest; None for only the list's end."""
    row = outline.rows[number] if 0 <= number < len(outline.rows) else None

    def distance(slot: Slot) -> tuple[int, bool, int]:
        is_like = row is not None and _is_like(slot, row)
        return abs(slot.row - number - 1), not is_like, _rank(slot)

    return min(slots_for(outline, message), key=distance, default=None)


def _is_like(slot: Slot, row: OutlineRow) -> bool:
    """True if a message in the slot would have the kind of place that a row has."""
    if row.placement == "skeleton":
        return slot.kind == "list"
    if _counts_from_end(row.placement, row.anchor, row.depth):
        return _counts_from_end(slot.kind, slot.anchor, slot.depth)
    return (slot.kind, slot.anchor) == (row.placement, row.anchor)


def _counts_from_end(kind: str, anchor: str, depth: int | None) -> bool:
    """True for a place at a depth; the end of the history is depth 0."""
    is_end = (kind, anchor) == ("after", CHAT_HISTORY)
    return is_end or (kind == "depth" and depth is not None and depth < 0)


def _rank(slot: Slot) -> int:
    """Return how late a kind of place is chosen among those between two rows."""
    if _counts_from_end(slot.kind, slot.anchor, slot.depth):
        return 0
    return ("list", "system", "after", "before", "depth").index(slot.kind) + 1


def depth_of(message: PresetMessage) -> int | None:
    """Return how many messages follow one, the draft among them; None for another place."""
    point = message.insertion_point
    if point is not None:
        return -point if point < 0 else None
    is_after = (message.anchor_point or "after") == "after"
    target = message.anchor_target or (CHAT_HISTORY if message.anchor_point else None)
    return 0 if is_after and target == CHAT_HISTORY else None


def depth_fields(depth: int) -> dict[str, Any]:
    """Return the fields of a message that `depth` messages follow: the end of the history for 0."""
    return {
        "insertion_point": -depth if depth else None,
        "anchor_point": None if depth else "after",
        "anchor_target": None if depth else CHAT_HISTORY,
    }


def first_changed(before: Preset, after: Preset, otherwise: int) -> int:
    """Return the index of the first message of `after` that is not in `before`.

    Messages are compared by identity, since each edit makes a new object. If every message is a
    new object, the preset was read from a file, and they are compared by id and value. Without a
    changed message the result is `otherwise`, limited to the indices of `after`.
    """
    old = {id(message) for message in before.messages}
    new = [n for n, message in enumerate(after.messages) if id(message) not in old]
    if len(new) == len(after.messages):
        by_id = {message.id: message for message in before.messages}
        new = [n for n, message in enumerate(after.messages) if by_id.get(message.id) != message]
    return next(iter(new), max(min(otherwise, len(after.messages) - 1), -1))
