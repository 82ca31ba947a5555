"""What can be added to a preset: messages that are ready at their place, and anchors."""

from __future__ import annotations

from dataclasses import replace

from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.editing.edits import add_message
from tui_chat.library.editing.outline import Outline
from tui_chat.library.editing.slots import depth_fields, nearest_slot, put_in_slot
from tui_chat.models.message import MessageRole
from tui_chat.models.preset import Preset, PresetMessage, PresetMessageType


@dataclass(frozen=True, slots=True)
class RowRecipe:
    """Something to add."""

    id: str
    label: str
    detail: str


RECIPES = (
    RowRecipe("system", "System prompt", "what the model is and does, before all else"),
    RowRecipe("example", "Example pair", "a question and its answer, before the chat"),
    RowRecipe("reminder", "Reminder", "depth 1: before what you type"),
    RowRecipe("note", "Author's note", "depth 4: four messages follow it"),
    RowRecipe("prefill", "Prefill", "the beginning of the reply, at the end"),
    RowRecipe("message", "Message", "below the cursor"),
    RowRecipe("placeholder", "Placeholder", "a named anchor for other messages"),
    RowRecipe("user_profile", "User profile", "the anchor where the profile goes"),
    RowRecipe("example_dialogues", "Example dialogues", "the anchor where a card's examples go"),
    RowRecipe("chat_history", "Chat history", "the anchor where the conversation goes"),
)
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
            return add_message(preset, message, _behind_system(preset))
        case "example":
            question = PresetMessage("example-question", "user", name="Example: question")
            answer = PresetMessage("example-answer", "assistant", name="Example: answer")
            place = _before_history(preset)
            return add_message(add_message(preset, answer, place), question, place)
        case "reminder":
            return add_message(preset, _at_depth(1, "reminder", "Reminder", deep))
        case "note":
            return add_message(preset, _at_depth(4, "note", "Author's note", deep))
        case "prefill":
            return add_message(preset, _at_depth(0, "prefill", "Prefill", "assistant"))
        case _:
            kind: PresetMessageType = next(kind for kind in _TYPES if kind == recipe)
            return _add_below(outline, row, PresetMessage(kind, "user", type=kind))


def _at_depth(depth: int, id: str, name: str, role: MessageRole) -> PresetMessage:
    return replace(PresetMessage(id, role, name=name), **depth_fields(depth))


def _behind_system(preset: Preset) -> int:
    """Return the list index behind the system messages that the list begins with."""
    others = (n for n, m in enumerate(preset.messages) if m.is_anchor or m.role != "system")
    return next(others, len(preset.messages))


def _before_history(preset: Preset) -> int:
    anchors = (n for n, m in enumerate(preset.messages) if m.type == "chat_history")
    return next(anchors, len(preset.messages))


def _add_below(outline: Outline, row: int, message: PresetMessage) -> Preset:
    preset = add_message(outline.preset, message)
    slot = nearest_slot(outline, message, row)
    return preset if slot is None else put_in_slot(preset, len(preset.messages) - 1, slot)
