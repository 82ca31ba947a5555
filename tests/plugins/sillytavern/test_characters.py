"""Roles with character cards: imported, kept in the store, edited; their greetings open a chat."""

from __future__ import annotations

import json
import zipfile
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.plugins.sillytavern.test_character_cards import PIXEL, V1, V3, picture, text_chunk
from tests.support.reading import import_into
from tests.support.workspace import say
from tui_chat.errors import FieldError
from tui_chat.models.role import Character, DepthPrompt, Role
from tui_chat.plugins.sillytavern.card_files import CardFile, dump_json, read_card
from tui_chat.plugins.sillytavern.cards import (
    card_of_role,
    character_fields,
    character_values,
    edit_character,
    role_of_card,
)
from tui_chat.store import Store

CARD: dict[str, Any] = {
    "spec": "chara_card_v2",
    "data": {
        "name": "Ada",
        "description": "{{char}} is a clerk.",
        "first_mes": "{{char}} looks at {{user}}. Yes?",
        "alternate_greetings": ["Closed today.", "*nods*"],
        "character_book": {"entries": [{"keys": ["lamp"], "content": "The lamp is green."}]},
        "house_rule": {"kept": True},
    },
}


def ada() -> Role:
    return role_of_card(CardFile(CARD), "ada", "card")


async def test_a_card_is_stored_and_written_back(make_workspace) -> None:
    workspace, _ = await make_workspace()
    store: Store = workspace.store
    await store.roles.save(ada(), PIXEL)
    assert await store.roles.get("ada") == ada()
    listed, _assistant = await store.roles.list()
    assert listed == replace(ada(), character=None)
    assert await store.roles.picture("ada") == PIXEL
    # The form of a role knows nothing of its card.
    await store.roles.save(replace(listed, name="Ada L."))
    changed = await store.roles.get("ada")
    assert changed is not None
    assert changed == replace(ada(), name="Ada L.")
    assert await store.roles.picture("ada") == PIXEL
    again = card_of_role(changed, PIXEL)
    assert again.name == "Ada L."
    assert again.fields["house_rule"] == {"kept": True}
    await store.roles.delete("ada")
    assert await store.roles.picture("ada") == b""


def test_a_card_is_exported_as_it_was() -> None:
    for whole in (V1, V3, CARD):
        assert card_of_role(role_of_card(CardFile(whole), "x", "card")).json == whole
    plain = Role("x", "Bo", system_prompt="Be brief.")
    read = role_of_card(read_card(dump_json(card_of_role(plain)).encode(), "card"), "x", "card")
    assert read.character is not None
    assert (read.name, read.character.system_prompt) == ("Bo", "Be brief.")


async def test_greetings_open_a_new_chat(make_workspace) -> None:
    workspace, heard = await make_workspace(model="mirror")
    await workspace.store.roles.save(ada())
    await workspace.sessions.new("ada")
    (greeting,) = workspace.state.entries
    assert greeting.message.content == "Ada looks at User. Yes?"
    assert (greeting.sibling, greeting.siblings) == (0, 3)
    assert await workspace.store.sessions.list() == ()
    await workspace.branches.show_version(greeting.message.id, -1)
    assert workspace.state.entries == (greeting,)
    await workspace.branches.show_version(greeting.message.id, 1)
    (second,) = workspace.state.entries
    assert second.message.content == "Closed today."

    await say(workspace, heard, "Is the lamp lit?")
    first, said, reply = workspace.state.entries
    assert (first.message.content, said.message.content) == ("Closed today.", "Is the lamp lit?")
    assert (first.sibling, first.siblings) == (1, 3)
    assert "Closed today." in reply.message.content
    assert "The lamp is green." in reply.message.content
    await workspace.branches.show_version(first.message.id, 1)
    assert [entry.message.content for entry in workspace.state.entries] == ["*nods*"]


async def test_a_temporary_session_begins_with_a_greeting(make_workspace) -> None:
    workspace, heard = await make_workspace()
    await workspace.store.roles.save(ada())
    await workspace.sessions.new_temporary("ada")
    assert [entry.siblings for entry in workspace.state.entries] == [3]
    await say(workspace, heard, "Hello")
    assert len(workspace.state.entries) == 3


async def test_a_role_without_a_card_begins_empty(make_workspace) -> None:
    workspace, _ = await make_workspace()
    await workspace.store.roles.save(ada())
    await workspace.sessions.new("ada")
    await workspace.sessions.new("assistant")
    assert workspace.state.entries == ()


# --- Character cards are imported as roles ------------------------------------------------


def archive(path: Path, card: dict[str, Any] = CARD) -> None:
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("card.json", json.dumps(card))


def named(name: str) -> dict[str, Any]:
    return {**CARD, "data": {**CARD["data"], "name": name}}


@pytest.mark.parametrize(
    ("name", "kept"),
    [("ada.png", PIXEL), ("ada.json", b""), ("ada.charx", b"")],
    ids=["png", "json", "charx"],
)
async def test_every_kind_of_card_becomes_a_role(make_workspace, tmp_path, name: str, kept: bytes):
    workspace, _ = await make_workspace()
    path = tmp_path / name
    match path.suffix:
        case ".png":
            path.write_bytes(picture(text_chunk("chara", CARD)))
        case ".json":
            path.write_text(json.dumps(CARD, indent=1))
        case _:
            archive(path)
    for dry_run in (True, False, False):  # a second import replaces the first
        (report,) = await import_into(workspace, [path], dry_run=dry_run)
        assert (report.faults, [role.name for role in report.cards]) == ([], ["Ada"])
        names = [role.name for role in workspace.state.roles]
        assert names.count("Ada") == (0 if dry_run else 1)
    role = await workspace.store.roles.get(report.cards[0].role_id)
    assert role.character.greetings[1] == "Closed today."
    assert await workspace.store.roles.picture(role.role_id) == kept


async def test_a_damaged_card_is_a_fault(make_workspace, tmp_path):
    workspace, _ = await make_workspace()
    path = tmp_path / "ada.png"
    path.write_bytes(PIXEL)
    (report,) = await import_into(workspace, [path])
    assert "without a character card" in report.faults[0].sentence
    assert not report.cards


@pytest.mark.parametrize("is_archive", [False, True], ids=["folder", "archive"])
async def test_a_folder_has_cards_chats_and_other_pictures(make_workspace, tmp_path, is_archive):
    workspace, _ = await make_workspace()
    folder = tmp_path / "data"
    (folder / "characters").mkdir(parents=True)
    (folder / "a chat.jsonl").write_text(
        json.dumps({"user_name": "Kim", "character_name": "Ada", "create_date": "2025-1-1"})
        + "\n"
        + json.dumps({"name": "Ada", "is_user": False, "mes": "Closed.", "send_date": "2025-1-1"})
    )
    (folder / "characters" / "Ada.PNG").write_bytes(picture(text_chunk("chara", CARD)))
    archive(folder / "characters" / "bo.charx", named("Bo"))
    (folder / "characters" / "cy.json").write_text(json.dumps(named("Cy")))
    (folder / "characters" / "plain.png").write_bytes(PIXEL)
    (folder / "characters" / "no.png").write_bytes(b"GIF89a")
    (folder / "characters" / "no.charx").write_bytes(b"PK\x03\x04")
    broken = picture(text_chunk("chara", CARD)).replace(b"chara\0", b"chara\0-")
    (folder / "characters" / "broken.png").write_bytes(broken)
    (folder / "characters" / "photo.jpg").write_bytes(b"\xff\xd8\xff")
    path = folder
    if is_archive:
        path = tmp_path / "data.zip"
        with zipfile.ZipFile(path, "w") as file:
            for each in sorted(folder.rglob("*.*")):
                file.write(each, each.relative_to(folder))
    for dry_run in (True, False):
        [report] = await import_into(workspace, [path], dry_run=dry_run)
        assert [role.name for role in report.cards] == ["Ada", "Bo", "Cy"]
        assert sorted(report.skipped) == ["characters/no.png", "characters/plain.png"]
        assert [fault.place for fault in report.faults] == [
            "characters/broken.png",
            "characters/no.charx",
        ]
        assert report.read == report.size
        assert report.new == 1
    names = [role.name for role in workspace.state.roles]
    assert sorted(names) == ["Ada", "Assistant", "Bo", "Cy"]
    ada, bo = report.cards[:2]
    assert await workspace.store.roles.picture(ada.role_id) == PIXEL
    assert not await workspace.store.roles.picture(bo.role_id)
    session = await workspace.store.sessions.get(report.session_ids[0])
    assert session.role_id == ada.role_id, "cards are read before chats"


# --- Edits of a character card: only what was typed changes, wherever the card has it -----


EDITED_CARD: dict[str, Any] = {
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


def edited_ada(card: dict[str, Any] = EDITED_CARD) -> Role:
    return role_of_card(CardFile(card), "ada", "card")


def edited(role: Role, **values: str) -> dict[str, Any]:
    assert role.character is not None
    return edit_character(role, {**character_values(role.character), **values})


def test_a_form_that_nobody_typed_into_changes_nothing() -> None:
    assert edited(edited_ada()) == EDITED_CARD


def test_what_was_typed_is_written_wherever_the_card_has_it() -> None:
    expected = deepcopy(EDITED_CARD)
    expected["description"] = expected["data"]["description"] = "A keeper."
    expected["creatorcomment"] = expected["data"]["creator_notes"] = "new"
    expected["data"]["extensions"]["depth_prompt"] |= {"depth": 3, "role": "system"}
    card = edited(edited_ada(), description="A keeper.", creator_notes="new", depth="3")
    assert card == expected
    assert edited_ada(card).character == replace(
        edited_ada().character or Character(), description="A keeper.", creator_notes="new",
        depth_prompt=DepthPrompt("Stay.", 3), card=expected,
    )  # fmt: skip


def test_greetings_are_separated_by_a_line_that_none_of_them_has() -> None:
    role = edited_ada()
    assert role.character is not None
    shown = character_values(role.character)["alternate_greetings"]
    assert shown == "Closed.\n----\na\n---\nb"
    card = edited(role, alternate_greetings=f"{shown}\n----\nOpen!")
    assert card["data"]["alternate_greetings"] == ["Closed.", "a\n---\nb", "Open!"]


def test_an_older_card_keeps_its_form() -> None:
    flat = {"name": "Ada", "description": "A.", "personality": "B.", "first_mes": "C."}
    assert edited(edited_ada(flat), description="D.") == {**flat, "description": "D."}
    pygmalion = {"char_name": "Ada", "char_persona": "A.", "char_greeting": "C."}
    assert edited(edited_ada(pygmalion), description="D.") == {**pygmalion, "char_persona": "D."}


@pytest.mark.parametrize("character", [None, Character(scenario="A shop.", tags=("a", "b"))])
def test_a_role_without_a_card_gets_one(character: Character | None) -> None:
    role = Role("r", "Ada", "You are Ada.", character=character)
    values = character_values(character or Character())
    card = edit_character(role, {**values, "description": "A clerk."})
    found = edited_ada(card).character
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
        edited(edited_ada(), depth="x")
    assert error.value.field == "depth"
