"""The edits that keys make of the message under the cursor, each with a label for the undo list."""

from __future__ import annotations

from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.editing.edits import (
    change_message,
    duplicate_message,
    remove_message,
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
