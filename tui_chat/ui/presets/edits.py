"""The edits that keys make of the message under the cursor, each with a label for the undo list."""

from __future__ import annotations

from dataclasses import replace

from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.editing.edits import (
    MessageGroup,
    change_message,
    duplicate_message,
    groups_of,
    remove_message,
    switch_group,
)
from tui_chat.library.editing.outline import Outline
from tui_chat.library.editing.slots import depth_of, next_slot, put_in_slot
from tui_chat.models.preset import Preset, PresetMessage
from tui_chat.models.sanitize import one_line


@dataclass(frozen=True, slots=True)
class LabeledEdit:
    """The preset after an edit."""

    preset: Preset
    label: str


def switch_heading(preset: Preset, group: MessageGroup) -> LabeledEdit:
    """Return the edit that switches a group off, or on if all of it is off."""
    word = "disable" if group.enabled(preset) else "enable"
    label = f"{word} the group “{one_line(group.title, 40)}”"
    return LabeledEdit(switch_group(preset, group, frozenset()), label)


def edit_for(outline: Outline, index: int, action: str) -> LabeledEdit | None:
    """Return the edit of an action; None if it changes nothing."""
    preset = outline.preset
    message = preset.messages[index]
    name = quoted(message)
    match action:
        case "enable":
            word = "disable" if message.enabled else "enable"
            after = change_message(preset, index, enabled=not message.enabled)
            return LabeledEdit(after, f"{word} {name}")
        case "duplicate":
            return LabeledEdit(duplicate_message(preset, index), f"duplicate {name}")
        case "delete":
            return LabeledEdit(remove_message(preset, index), f"delete {name}")
        case "up" | "down":
            slot = next_slot(outline, index, -1 if action == "up" else 1)
            if slot is None:
                return None
            where = slot.description(preset)
            return LabeledEdit(put_in_slot(preset, index, slot), f"move {name} {where}")
        case _:
            return None


def keep_shown_order(preset: Preset, placement: str) -> tuple[Preset, int]:
    """Return the preset with another placement of system messages, and how many were moved in the
    list to stay where they are shown: in front. Those that have a place of their own, or are in a
    group, keep their index.
    """
    after = replace(preset, system_placement=placement)
    if placement != "in_place":
        return after, 0
    groups = groups_of(preset).values()
    grouped = {index for group in groups for index in (group.heading, *group.members)}
    first = [
        message
        for index, message in enumerate(preset.messages)
        if message.role == "system"
        and index not in grouped
        and placement_kind(message) == "list"
        and not message.is_anchor
    ]
    chosen = set(map(id, first))
    order = (*first, *(message for message in preset.messages if id(message) not in chosen))
    moved = sum(one is not other for one, other in zip(order, preset.messages, strict=True))
    return (replace(after, messages=order), len(first)) if moved else (after, 0)


def after_delete(outline: Outline, index: int) -> int:
    """Return the list index, after a deletion, of the message next to the deleted one."""
    rows, at = outline.rows, outline.row_of(index)
    near = (*rows[at + 1 :], *reversed(rows[:at]))
    nearest = next((row.index for row in near if row.message is not None), -1)
    return nearest - (nearest > index)


def quoted(message: PresetMessage) -> str:
    """Return the name of a message in the undo list."""
    return f"“{one_line(message.name or message.id, 40)}”"


def placement_kind(message: PresetMessage) -> str:
    """Return the kind of a message's place: `list`, `before`, `after`, `depth` (from the end) or
    `start` (from the oldest message).
    """
    if depth_of(message) is not None:
        return "depth"
    if message.insertion_point is not None:
        return "start"
    if message.anchor_point is None and message.anchor_target is None:
        return "list"
    return message.anchor_point or "after"
