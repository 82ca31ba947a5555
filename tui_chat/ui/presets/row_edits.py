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
from tui_chat.library.editing.slots import depth_fields, depth_of, next_slot, put_in_slot
from tui_chat.models.message import MessageRole
from tui_chat.models.preset import (
    CacheLifetime,
    Preset,
    PresetMessage,
    depth_words,
)
from tui_chat.models.sanitize import one_line

_NEXT_MARK: dict[CacheLifetime | None, CacheLifetime | None] = {None: "5m", "5m": "1h", "1h": None}
_ROLES: tuple[MessageRole, ...] = ("system", "user", "assistant")


@dataclass(frozen=True, slots=True)
class LabeledEdit:
    """The preset after an edit."""

    preset: Preset
    label: str


def switch_heading(
    preset: Preset, group: MessageGroup, before: frozenset[str]
) -> tuple[LabeledEdit, frozenset[str]]:
    """Return the edit that switches a group, and the ids of its messages that were on; `before` are
    those that were on when it was switched off last.
    """
    on = frozenset(preset.messages[index].id for index in group.enabled(preset))
    word = "disable" if on else "enable"
    name = one_line(group.title, 40)
    return LabeledEdit(switch_group(preset, group, before), f"{word} the group “{name}”"), on


def edit_for(outline: Outline, index: int, action: str, depth: int = 0) -> LabeledEdit | None:
    """Return the edit of an action (`depth`: of that action); None if it changes nothing."""
    preset = outline.preset
    message = preset.messages[index]
    name = quoted(message)
    match action:
        case "enable":
            word = "disable" if message.enabled else "enable"
            return LabeledEdit(
                change_message(preset, index, enabled=not message.enabled), f"{word} {name}"
            )
        case "duplicate":
            return LabeledEdit(duplicate_message(preset, index), f"duplicate {name}")
        case "delete":
            return LabeledEdit(remove_message(preset, index), f"delete {name}")
        case "up" | "down":
            slot = next_slot(outline, index, -1 if action == "up" else 1)
            if slot is None:
                return None
            return LabeledEdit(put_in_slot(preset, index, slot), f"move {name} {slot.description}")
        case "role":
            at = _ROLES.index(message.role) + 1 if message.role in _ROLES else 0
            role = _ROLES[at % len(_ROLES)]
            return LabeledEdit(change_message(preset, index, role=role), f"let {role} say {name}")
        case "mark" if message.type != "placeholder":
            lifetime = _NEXT_MARK[message.cache_control]
            words = f"mark {name} for {lifetime}" if lifetime else f"take the mark off {name}"
            return LabeledEdit(change_message(preset, index, cache_control=lifetime), words)
        case "earlier" | "later" | "depth":
            return _move_in_history(preset, index, action, depth)
        case _:
            return None


def _move_in_history(preset: Preset, index: int, action: str, depth: int) -> LabeledEdit | None:
    """Move a message to a depth, or by one message of the history; it keeps the end that it counts
    from. A message that is not in the history goes to depth 1.
    """
    message, step = preset.messages[index], {"earlier": 1, "later": -1}.get(action, 0)
    if message.is_anchor:
        return None
    point, old = message.insertion_point, depth_of(message)
    if step and point is not None and point >= 0:
        point = point - step
        if point < 0:
            return None
        after = change_message(preset, index, insertion_point=point)
        return LabeledEdit(after, f"move {quoted(message)} {depth_words(point)}")
    if step:
        depth = 1 if old is None else old + step
    if depth < 0:
        return None
    after = change_message(preset, index, **depth_fields(depth))
    return LabeledEdit(after, f"move {quoted(message)} to depth {depth}")


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
