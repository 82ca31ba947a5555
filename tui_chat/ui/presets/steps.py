"""What a key does to the message under the cursor: one edit, with words for the undo list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tui_chat.library.editing import (
    Outline,
    OutlineRow,
    add_message,
    change_message,
    duplicate_message,
    next_slot,
    place_like,
    put_in_slot,
    remove_message,
)
from tui_chat.models.message import MessageRole
from tui_chat.models.preset import (
    CHAT_HISTORY,
    CacheLifetime,
    Preset,
    PresetMessage,
    PresetMessageType,
)
from tui_chat.models.visible import one_line

KINDS: tuple[tuple[PresetMessageType, str, str], ...] = (
    ("message", "Message", "something to send"),
    ("chat_history", "Chat history", "anchor: where the conversation goes"),
    ("user_profile", "User profile", "anchor: where the profile goes"),
    ("placeholder", "Placeholder", "anchor: a place for others to stand at"),
)
_NEXT_MARK: dict[CacheLifetime | None, CacheLifetime | None] = {None: "5m", "5m": "1h", "1h": None}
_ROLES: tuple[MessageRole, ...] = ("system", "user", "assistant")


@dataclass(frozen=True, slots=True)
class Step:
    """One edit."""

    preset: Preset
    label: str


def step(drawn: Outline, index: int, what: str) -> Step | None:
    """Return what an action makes of a preset; None where it makes nothing of it."""
    preset = drawn.preset
    message = preset.messages[index]
    name = quoted(message)
    match what:
        case "enable":
            word = "disable" if message.enabled else "enable"
            return Step(
                change_message(preset, index, enabled=not message.enabled), f"{word} {name}"
            )
        case "duplicate":
            return Step(duplicate_message(preset, index), f"duplicate {name}")
        case "delete":
            return Step(remove_message(preset, index), f"delete {name}")
        case "up" | "down":
            slot = next_slot(drawn, index, -1 if what == "up" else 1)
            if slot is None:
                return None
            return Step(put_in_slot(preset, index, slot), f"move {name} {slot.description}")
        case "role":
            at = _ROLES.index(message.role) + 1 if message.role in _ROLES else 0
            role = _ROLES[at % len(_ROLES)]
            return Step(change_message(preset, index, role=role), f"let {role} say {name}")
        case "mark" if message.type != "placeholder":
            lifetime = _NEXT_MARK[message.cache_control]
            words = f"mark {name} for {lifetime}" if lifetime else f"take the mark off {name}"
            return Step(change_message(preset, index, cache_control=lifetime), words)
        case "higher" | "lower":
            return _deeper(preset, index, -1 if what == "higher" else 1)
        case _:
            return None


def _deeper(preset: Preset, index: int, by: int) -> Step | None:
    """Change a depth, which keeps the end that it counts from; what has none, gets one."""
    message = preset.messages[index]
    depth = message.insertion_point
    if message.is_anchor:
        return None
    if depth is None:
        fields = {"insertion_point": -1, "anchor_point": None, "anchor_target": None}
    elif (depth < 0) != (depth + by < 0):
        return None
    else:
        fields = {"insertion_point": depth + by}
    after = change_message(preset, index, **fields)
    return Step(after, f"move {quoted(message)} to depth {fields['insertion_point']}")


def after_delete(drawn: Outline, index: int) -> int:
    """Return the list index, once a message is deleted, of the row that stood next to its row."""
    rows, at = drawn.rows, drawn.row_of(index)
    near = (*rows[at + 1 :], *reversed(rows[:at]))
    found = next((row.index for row in near if row.message is not None), -1)
    return found - (found > index)


def with_new(preset: Preset, row: OutlineRow | None, kind: str) -> Preset:
    """Return the preset with a new message or anchor behind the one under the cursor."""
    at = row.index + 1 if row is not None and row.index >= 0 else None
    found: PresetMessageType = next(each for each, _, _ in KINDS if each == kind)
    if found == "message":
        return add_message(preset, place_like(PresetMessage("message", "user"), row), at)
    return add_message(preset, PresetMessage(found, "user", type=found), at)


def where(row: OutlineRow, names: Mapping[str, str]) -> str:
    """Tell in a sentence where a row stands; `names` are what its anchors are called."""
    message = row.message
    assert message is not None
    called = names.get(row.anchor, row.anchor)
    at = "the history" if row.anchor == CHAT_HISTORY else f"“{one_line(called, 40)}”"
    match row.placement:
        case "system":
            words = "It goes first, with the other system messages."
        case "before" | "after":
            words = f"It is anchored {row.placement} {at}."
        case "depth":
            words = f"It stands in the history at depth {row.depth}."
        case "anchor":
            words = f"Others can stand before and after it, as “{message.anchor_id}”."
        case "unplaced":
            words = "It has no place in the context."
        case _:
            words = "It stands in the list."
    return f"Off. {words}" if row.disabled else words


def quoted(message: PresetMessage) -> str:
    """Return what a message is called in the undo list."""
    return f"“{one_line(message.name or message.id, 40)}”"
