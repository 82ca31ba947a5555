"""The places in an outline where a message can go, moving a message there, and adding one.

A slot lies in front of a row, or behind the last one. Putting a message into a slot sets the
fields that place it there: anchor and side, depth, order, and its index in the list. A recipe is
something to add: messages that are ready at their place, or an anchor.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal, TypeAlias

from tui_chat.context.rules import rules_of
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.editing.edits import add_message, move_message
from tui_chat.library.editing.outline import Outline, OutlineRow, outline_preset
from tui_chat.models.message import MessageRole
from tui_chat.models.preset import (
    CHAT_HISTORY,
    Preset,
    PresetMessage,
    PresetMessageType,
    depth_words,
)

_Place: TypeAlias = "tuple[Literal['system', 'list', 'before', 'after', 'depth'], str, int | None]"
"""A kind of place, its anchor, and for `depth` the insertion point."""
_LIST: _Place = ("list", "", None)
_SYSTEM: _Place = ("system", "", None)
_END: _Place = ("after", CHAT_HISTORY, None)


@dataclass(frozen=True, slots=True)
class Slot:
    """A place for a message."""

    row: int
    """The number of the row behind the slot; the number of rows for the last slot."""
    place: _Place
    neighbor: int | None = None
    """The list index of an adjacent message at the same place, if there is one."""
    side: Literal["before", "after"] = "after"
    """The side of the neighbor on which the slot lies."""

    def description(self, preset: Preset) -> str:
        """Return the slot in a few words: `at depth 2`, `before the history`."""
        kind, anchor, depth = self.place
        names = {m.anchor_id: f"“{m.name or m.id}”" for m in preset.messages if m.is_anchor}
        names[CHAT_HISTORY] = "the history"
        match kind:
            case "system":
                return "among the system messages"
            case "list":
                return "in the list"
            case "depth" if depth is not None:
                return f"{'at ' if depth < 0 else ''}{depth_words(depth)}"
            case _:
                beside = f"{kind} {names.get(anchor, f'“{anchor}”')}"
                return "at depth 0" if self.place == _END else beside


def slots_for(outline: Outline, message: PresetMessage) -> tuple[Slot, ...]:
    """Return the slots that a message may be put in, from top to bottom.

    Where two places meet there is a slot for each. An anchor can only go into the list. If system
    messages are hoisted, they stay among themselves and nothing else goes between them.
    """
    found: dict[tuple[int, _Place], Slot] = {}
    for slot in _slots(outline):
        key = slot.row, slot.place
        if key not in found or found[key].neighbor is None:
            found[key] = slot  # next to a message there is an order to keep
    if message.is_anchor:
        return tuple(slot for slot in found.values() if slot.place == _LIST)
    among_system = outline.preset.system_placement == "hoist" and message.role == "system"
    return tuple(slot for slot in found.values() if (slot.place == _SYSTEM) == among_system)


def _slots(outline: Outline) -> Iterator[Slot]:
    """Yield the slots between rows: at the place of the row above, in the list between what is
    attached to two anchors, and at the place of the row below.
    """
    rows = outline.rows
    anchors = {row.anchor: row.index for row in rows if _is_anchor(row)}
    for number in range(len(rows) + 1):
        above, below = rows[number - 1 : number], rows[number : number + 1]
        group, next_group = (_group(row[0]) if row else "" for row in (above, below))
        for row in above:
            if place := _places(row, outline.preset)[1]:
                yield Slot(number, place, _neighbor(row))
        if group and group != next_group and group in anchors:
            yield Slot(number, _LIST, anchors[group])
        if next_group and group != next_group:
            yield Slot(number, _LIST, anchors.get(next_group), "before")
        for row in below:
            if place := _places(row, outline.preset)[0]:
                yield Slot(number, place, _neighbor(row), "before")


def _is_anchor(row: OutlineRow) -> bool:
    return row.placement == "anchor" and not row.disabled


def _group(row: OutlineRow) -> str:
    """Return the anchor that a row is, or is attached to; empty for none."""
    return row.anchor if row.indent or row.ghost == "history" or _is_anchor(row) else ""


def _neighbor(row: OutlineRow) -> int | None:
    """Return the list index of a row's message; None for a ghost or an anchor."""
    return None if row.message is None or _is_anchor(row) else row.index


def _own_place(row: OutlineRow) -> _Place:
    """Return the place of a row's message."""
    match row.placement:
        case "system":
            return _SYSTEM
        case "before" | "after" as kind:
            return kind, row.anchor, None
        case "depth":
            return "depth", CHAT_HISTORY, row.depth
        case _:
            return _LIST


def _places(row: OutlineRow, preset: Preset) -> tuple[_Place | None, _Place | None]:
    """Return the places in front of a row and behind it; None where nothing can be put."""
    before: _Place = ("before", row.anchor, None)

    def at(point: int) -> _Place:
        return "depth", CHAT_HISTORY, point

    match row.ghost:
        case None if not _is_anchor(row):
            return _own_place(row), _own_place(row)
        case None:
            is_history = row.anchor == CHAT_HISTORY
            return before, None if is_history else ("after", row.anchor, None)
        case "history":
            return before, None
        case "role":
            return None, _SYSTEM if preset.system_placement == "hoist" else None
        case "draft":
            return None, _END
        case "oldest":
            return at(0), at(1)
        case "newest":
            return at(-2), at(-1)
        case "message" if row.depth is not None:
            is_from_end = row.depth < 0
            return at(row.depth) if is_from_end else None, at(row.depth + is_from_end)
        case _:
            return None, None


def put_in_slot(preset: Preset, index: int, slot: Slot) -> Preset:
    """Return the preset with a message in a slot of the preset's outline."""
    message = preset.messages[index]
    neighbor = None if slot.neighbor in (None, index) else slot.neighbor
    order = message.order
    kind, anchor, depth = slot.place
    if neighbor is not None and kind != "list":
        order = preset.messages[neighbor].order
    anchor_point = kind if kind in ("before", "after") else None
    messages = list(preset.messages)
    messages[index] = replace(
        message,
        insertion_point=depth,
        anchor_point=anchor_point,
        anchor_target=anchor if anchor_point else None,
        order=order,
    )
    preset = replace(preset, messages=tuple(messages))
    if neighbor is None:
        keeps_index = slot.neighbor == index or kind != "list"
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
        if is_ahead and (slot.place[2] != 0 or slot.neighbor is not None):
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
    own = _own_place(row) if row.message is not None else ("ghost", row.anchor, row.depth)
    if _counts_from_end(own):
        return _counts_from_end(slot.place)
    return own[:2] == slot.place[:2]


def _counts_from_end(place: tuple[str, str, int | None]) -> bool:
    """True for a place at a depth; the end of the history is depth 0."""
    kind, _, depth = place
    return place == _END or (kind == "depth" and depth is not None and depth < 0)


def _rank(slot: Slot) -> int:
    """Return how late a kind of place is chosen among those between two rows."""
    if _counts_from_end(slot.place):
        return 0
    return ("list", "system", "after", "before", "depth").index(slot.place[0]) + 1


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


# --- recipes ---------------------------------------------------------------------------------


RECIPES = (
    ("system", "System prompt", "what the model is and does, before all else"),
    ("example", "Example pair", "a question and its answer, before the chat"),
    ("reminder", "Reminder", "depth 1: before what you type"),
    ("note", "Author's note", "depth 4: four messages follow it"),
    ("prefill", "Prefill", "the beginning of the reply, at the end"),
    ("message", "Message", "below the cursor"),
    ("placeholder", "Placeholder", "a named anchor for other messages"),
    ("user_profile", "User profile", "the anchor where the profile goes"),
    ("example_dialogues", "Example dialogues", "the anchor where a card's examples go"),
    ("chat_history", "Chat history", "the anchor where the conversation goes"),
)
"""What can be added: the id of each, its label and a detail."""
_TYPES: tuple[PresetMessageType, ...] = (
    "message",
    "placeholder",
    "user_profile",
    "example_dialogues",
    "chat_history",
)


def add_from_recipe(outline: Outline, row: int, recipe: str) -> Preset:
    """Return the preset with what a recipe adds; a plain message and an anchor go below row `row`.

    If system messages go first, a reminder and a note are the user's: their place would be ignored.
    """
    preset = outline.preset
    deep: MessageRole = "system" if preset.system_placement == "in_place" else "user"
    match recipe:
        case "system":
            message = PresetMessage("system", "system", name="System prompt")
            others = (n for n, m in enumerate(preset.messages) if m.is_anchor or m.role != "system")
            return add_message(preset, message, next(others, None))
        case "example":
            question = PresetMessage("example-question", "user", name="Example: question")
            answer = PresetMessage("example-answer", "assistant", name="Example: answer")
            anchors = (n for n, m in enumerate(preset.messages) if m.type == "chat_history")
            place = next(anchors, None)
            if place is None:
                return add_message(add_message(preset, question), answer)
            return add_message(add_message(preset, answer, place), question, place)
        case "reminder":
            return add_message(preset, _at_depth(1, "reminder", "Reminder", deep))
        case "note":
            return add_message(preset, _at_depth(4, "note", "Author's note", deep))
        case "prefill":
            return add_message(preset, _at_depth(0, "prefill", "Prefill", "assistant"))
        case _:
            kind: PresetMessageType = next(kind for kind in _TYPES if kind == recipe)
            message = PresetMessage(kind, "user", type=kind)
            added, slot = add_message(preset, message), nearest_slot(outline, message, row)
            return added if slot is None else put_in_slot(added, len(preset.messages), slot)


def _at_depth(depth: int, id: str, name: str, role: MessageRole) -> PresetMessage:
    return replace(PresetMessage(id, role, name=name), **depth_fields(depth))
