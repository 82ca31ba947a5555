"""Editing a preset, without a screen: pure functions on immutable values.

outline  the preset's messages in the order of the context that they make
slots    the places in an outline where a message can go, and moving it there
recipes  what can be added: messages that are ready at their place, and anchors
edits    the other edits, their undo history, and groups that are switched together
"""

from tui_chat.library.editing.edits import (
    EditHistory,
    MessageGroup,
    add_message,
    change_message,
    duplicate_message,
    groups_of,
    move_message,
    remove_message,
    switch_group,
)
from tui_chat.library.editing.outline import Outline, OutlineRow, outline_preset
from tui_chat.library.editing.recipes import RECIPES, add_from_recipe
from tui_chat.library.editing.slots import (
    Slot,
    depth_fields,
    depth_of,
    first_changed,
    next_slot,
    put_in_slot,
    slots_for,
)

__all__ = [
    "RECIPES",
    "EditHistory",
    "MessageGroup",
    "Outline",
    "OutlineRow",
    "Slot",
    "add_from_recipe",
    "add_message",
    "change_message",
    "depth_fields",
    "depth_of",
    "duplicate_message",
    "first_changed",
    "groups_of",
    "move_message",
    "next_slot",
    "outline_preset",
    "put_in_slot",
    "remove_message",
    "slots_for",
    "switch_group",
]
