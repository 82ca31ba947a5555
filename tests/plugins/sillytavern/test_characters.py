"""Roles with character cards: kept in the store, and their greetings open a new chat."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.plugins.sillytavern.test_character_cards import PIXEL, V1, V3
from tests.support.workspace import say
from tui_chat.models.role import Role
from tui_chat.plugins.sillytavern.card_files import CardFile, dump_json, read_card
from tui_chat.plugins.sillytavern.cards import card_of_role, role_of_card
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
    for json in (V1, V3, CARD):
        assert card_of_role(role_of_card(CardFile(json), "x", "card")).json == json
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
