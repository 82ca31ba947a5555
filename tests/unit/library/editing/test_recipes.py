"""What recipes add: the messages, their places, and where they are in the context."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.support.strategies import presets
from tests.support.tables import each_row
from tui_chat.library.editing.outline import outline_preset
from tui_chat.library.editing.slots import RECIPES, add_from_recipe, depth_of
from tui_chat.models.preset import Preset, PresetMessage

HISTORY = PresetMessage("history", "user", type="chat_history")
RULE = PresetMessage("rule", "system", "Be brief.")
HELLO = PresetMessage("hello", "user", "Hello.")
PRESET = Preset("p", (RULE, HELLO, HISTORY), system_placement="in_place")


def ids(preset: Preset) -> list[str]:
    return [message.id for message in preset.messages]


def added(recipe: str, preset: Preset = PRESET, row: int = 0) -> Preset:
    return add_from_recipe(outline_preset(preset), row, recipe)


def test_a_system_prompt_follows_those_that_the_list_begins_with() -> None:
    assert ids(added("system")) == ["rule", "system", "hello", "history"]
    assert ids(added("system", Preset("p", (HISTORY,)))) == ["system", "history"]


def test_an_example_is_a_question_and_its_answer_before_the_history() -> None:
    twice = added("example", added("example"))
    pairs = ["example-question", "example-answer", "example-question-2", "example-answer-2"]
    assert ids(twice) == ["rule", "hello", *pairs, "history"]
    assert [m.role for m in twice.messages[2:4]] == ["user", "assistant"]


@each_row(
    ("recipe", "role", "depth"),
    [("reminder", "system", 1), ("note", "system", 4), ("prefill", "assistant", 0)],
)
def test_what_stands_at_a_depth(recipe: str, role: str, depth: int) -> None:
    message = added(recipe).messages[-1]
    assert (message.role, depth_of(message)) == (role, depth)


def test_where_system_messages_go_first_a_reminder_is_the_users() -> None:
    hoisted = replace(PRESET, system_placement="hoist")
    assert added("reminder", hoisted).messages[-1].role == "user"


def test_a_message_goes_below_the_row_of_the_cursor() -> None:
    outline = outline_preset(PRESET)
    assert ids(added("message", row=outline.row_of(1))) == ["rule", "hello", "message", "history"]
    late = Preset("p", (HISTORY, RULE))  # shown first
    below = added("message", late, outline_preset(late).row_of(1))
    assert outline_preset(below).rows[2].message is below.messages[0]
    deep = Preset("p", (HISTORY, replace(HELLO, insertion_point=-3, order=2)))
    new = added("message", deep, outline_preset(deep).row_of(1)).messages[-1]
    assert (depth_of(new), new.order) == (3, 2)


@given(presets(), st.data())
def test_each_recipe_adds_its_messages_and_keeps_all_others(
    preset: Preset, data: st.DataObject
) -> None:
    outline = outline_preset(preset)
    row = data.draw(st.integers(-1, len(outline.rows)))
    for recipe, *_ in RECIPES:
        if recipe != "lore":
            after = add_from_recipe(outline, row, recipe)
            count = 2 if recipe == "example" else 1
            assert len(after.messages) == len(preset.messages) + count
            rest = [message for message in after.messages if message in preset.messages]
            assert len(rest) >= len(preset.messages)
