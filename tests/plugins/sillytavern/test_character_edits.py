"""Edits of a character card: only what was typed changes, wherever the card has it."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from tui_chat.errors import FieldError
from tui_chat.models.role import Character, DepthPrompt, Role
from tui_chat.plugins.sillytavern.card_files import CardFile
from tui_chat.plugins.sillytavern.cards import (
    character_fields,
    character_values,
    edit_character,
    role_of_card,
)

CARD: dict[str, Any] = {
    "spec": "chara_card_v2",
    "description": "A clerk.",
    "creatorcomment": "old",
    "data": {
        "name": "Ada",
        "description": "A clerk.",
        "creator_notes": "old",
        "alternate_greetings": ["Closed.", "a\n---\nb"],
        "extensions": {"kept": 1, "depth_prompt": {"prompt": "Stay.", "depth": 2, "more": 3}},
        "character_book": {"entries": [{"keys": ["lamp"], "content": "Green."}]},
        "house_rule": True,
    },
}


def ada(card: dict[str, Any] = CARD) -> Role:
    return role_of_card(CardFile(card), "ada", "card")


def edited(role: Role, **values: str) -> dict[str, Any]:
    assert role.character is not None
    return edit_character(role, {**character_values(role.character), **values})


def test_a_form_that_nobody_typed_into_changes_nothing() -> None:
    assert edited(ada()) == CARD


def test_what_was_typed_is_written_wherever_the_card_has_it() -> None:
    expected = deepcopy(CARD)
    expected["description"] = expected["data"]["description"] = "A keeper."
    expected["creatorcomment"] = expected["data"]["creator_notes"] = "new"
    expected["data"]["extensions"]["depth_prompt"] |= {"depth": 3, "role": "system"}
    card = edited(ada(), description="A keeper.", creator_notes="new", depth="3")
    assert card == expected
    assert ada(card).character == replace(
        ada().character or Character(), description="A keeper.", creator_notes="new",
        depth_prompt=DepthPrompt("Stay.", 3), card=expected,
    )  # fmt: skip


def test_greetings_are_separated_by_a_line_that_none_of_them_has() -> None:
    role = ada()
    assert role.character is not None
    shown = character_values(role.character)["alternate_greetings"]
    assert shown == "Closed.\n----\na\n---\nb"
    card = edited(role, alternate_greetings=f"{shown}\n----\nOpen!")
    assert card["data"]["alternate_greetings"] == ["Closed.", "a\n---\nb", "Open!"]


def test_an_older_card_keeps_its_form() -> None:
    flat = {"name": "Ada", "description": "A.", "personality": "B.", "first_mes": "C."}
    assert edited(ada(flat), description="D.") == {**flat, "description": "D."}
    pygmalion = {"char_name": "Ada", "char_persona": "A.", "char_greeting": "C."}
    assert edited(ada(pygmalion), description="D.") == {**pygmalion, "char_persona": "D."}


@pytest.mark.parametrize("character", [None, Character(scenario="A shop.", tags=("a", "b"))])
def test_a_role_without_a_card_gets_one(character: Character | None) -> None:
    role = Role("r", "Ada", "You are Ada.", character=character)
    values = character_values(character or Character())
    card = edit_character(role, {**values, "description": "A clerk."})
    found = ada(card).character
    assert card["data"]["name"] == "Ada"
    assert found == replace(character or Character(), description="A clerk.", card=card)


def test_every_field_of_a_character_is_in_the_form() -> None:
    shown = {each.name for row in character_fields(Character()) for each in row}
    assert shown == character_values(Character()).keys()
    hidden = {"book", "card", "scripts", "depth_prompt"}
    assert shown - {"depth_text", "depth", "depth_role"} == set(Character.__slots__) - hidden - {
        "__weakref__"
    }


def test_a_value_that_is_not_accepted_is_named() -> None:
    with pytest.raises(FieldError, match="a whole number from 0 to 10,000, not “x”") as error:
        edited(ada(), depth="x")
    assert error.value.field == "depth"
