"""One edit: a preset in, a preset out. What a message or a preset has besides is kept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tui_chat.library.editing.slots import Slot
from tui_chat.models.preset import CHAT_HISTORY, Preset, PresetMessage


def changed(preset: Preset, index: int, **fields: Any) -> Preset:
    """Change fields of one message. A new id of an anchor is told to all who stand at it."""
    before = preset.messages[index]
    after = replace(before, **fields)
    messages = list(preset.messages)
    messages[index] = after
    if before.is_anchor and after.is_anchor:
        # The history goes by two names: one that never changes, and its own id unless that is
        # another anchor's.
        taken = {m.anchor_id for m in preset.messages if m.is_anchor and m is not before}
        for old, new in ((before.anchor_id, after.anchor_id), (before.id, after.id)):
            if old != new and (old == before.anchor_id or old not in taken):
                messages = [_retargeted(m, old, new) for m in messages]
    return replace(preset, messages=tuple(messages))


def _retargeted(message: PresetMessage, old: str, new: str) -> PresetMessage:
    return replace(message, anchor_target=new) if message.anchor_target == old else message


def added(preset: Preset, message: PresetMessage, at: int | None = None) -> Preset:
    """Add a message in front of list index `at` (None: at the end), under an id of its own."""
    message = replace(message, id=free_id(preset, message.id))
    place = len(preset.messages) if at is None else at
    return replace(preset, messages=(*preset.messages[:place], message, *preset.messages[place:]))


def free_id(preset: Preset, wanted: str) -> str:
    """Return the id, with a number behind it where it is taken."""
    taken = {message.id for message in preset.messages}
    wanted = wanted or "message"
    number, found = 2, wanted
    while found in taken:
        found = f"{wanted}-{number}"
        number += 1
    return found


def removed(preset: Preset, index: int) -> Preset:
    """Take a message out. What stood at an anchor keeps its target, and a note will say so."""
    return replace(preset, messages=(*preset.messages[:index], *preset.messages[index + 1 :]))


def duplicated(preset: Preset, index: int) -> Preset:
    """Put a copy, under an id of its own, right behind a message."""
    return added(preset, preset.messages[index], index + 1)


def moved(preset: Preset, index: int, to: int) -> Preset:
    """Move a message so that it stands at list index `to`."""
    rest = [*preset.messages[:index], *preset.messages[index + 1 :]]
    rest.insert(to, preset.messages[index])
    return replace(preset, messages=tuple(rest))


def put(preset: Preset, index: int, slot: Slot) -> Preset:
    """Put a message into a slot of the preset's sketch."""
    message = preset.messages[index]
    neighbour = None if slot.neighbour in (None, index) else slot.neighbour
    order = message.order
    if neighbour is not None and slot.kind != "list":
        order = preset.messages[neighbour].order
    beside = slot.kind in ("before", "after")
    there = replace(
        message,
        insertion_point=slot.depth if slot.kind == "depth" else None,
        anchor_point=slot.kind if slot.kind in ("before", "after") else None,
        anchor_target=(slot.anchor or CHAT_HISTORY) if beside else None,
        order=order,
    )
    messages = list(preset.messages)
    messages[index] = there
    preset = replace(preset, messages=tuple(messages))
    if neighbour is None:
        is_here = slot.neighbour == index or slot.kind != "list"
        return preset if is_here else moved(preset, index, len(messages) - 1)
    to = neighbour - (index < neighbour) + (slot.side == "after")
    return moved(preset, index, to)
