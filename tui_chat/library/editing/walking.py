"""Walking a message through the slots of its sketch, one step at a time."""

from __future__ import annotations

from dataclasses import replace

from tui_chat.library.editing.changes import put
from tui_chat.library.editing.sketch import Row, Sketch
from tui_chat.library.editing.slots import Slot, slots
from tui_chat.models.preset import Preset, PresetMessage


def next_slot(drawn: Sketch, index: int, step: int) -> Slot | None:
    """Return the slot above (`step` < 0) or below where message `index` would stand otherwise.

    None at the end of the road.
    """
    preset = drawn.preset
    free = slots(drawn, preset.messages[index])
    at = drawn.row_of(index)
    own = [n for n, slot in enumerate(free) if slot.row in (at, at + 1) and _is_of(slot, drawn, at)]
    if step < 0:
        first = own[0] if own else sum(slot.row <= at for slot in free)
        road = reversed(free[:first])
    else:
        last = own[-1] + 1 if own else sum(slot.row <= at for slot in free)
        road = iter(free[last:])
    return next((slot for slot in road if put(preset, index, slot) != preset), None)


def _is_of(slot: Slot, drawn: Sketch, at: int) -> bool:
    row = drawn.rows[at]
    match row.standing:
        case "system":
            return slot.kind == "system"
        case "before" | "after":
            return (slot.kind, slot.anchor) == (row.standing, row.anchor)
        case "depth":
            return (slot.kind, slot.depth) == ("depth", row.depth)
        case _:
            return slot.kind == "list"


def touched(before: Preset, after: Preset, otherwise: int) -> int:
    """Return the index of the first message in `after` that `before` has not; `otherwise`, kept
    within the list, where there is none. A message that an edit made is new whatever it says; where
    all of them are, they were read from a file, and what they say counts.
    """
    known = {id(message) for message in before.messages}
    new = [n for n, message in enumerate(after.messages) if id(message) not in known]
    if len(new) == len(after.messages):
        said = {message.id: message for message in before.messages}
        new = [n for n, message in enumerate(after.messages) if said.get(message.id) != message]
    return next(iter(new), max(min(otherwise, len(after.messages) - 1), -1))


def beside(message: PresetMessage, row: Row | None) -> PresetMessage:
    """Return a message placed at the same point as a row: its depth, its anchor, its order."""
    other = row.message if row is not None else None
    if message.is_anchor or other is None or other.is_anchor:
        return message
    return replace(
        message,
        role=other.role,
        insertion_point=other.insertion_point,
        anchor_point=other.anchor_point,
        anchor_target=other.anchor_target,
        order=other.order,
    )
