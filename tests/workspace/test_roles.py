"""Roles on the desk: who starts a session, and what becomes of sessions whose role is gone."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from tests.e2e.conftest import settled
from tui_chat.models.role import Role
from tui_chat.models.text import OriginKind
from tui_chat.workspace import Trouble

PIRATE = Role("", "Pirate", "Talk like a pirate.", temperature=0.5)


def role_words(desk, draft: str = "hi") -> str:
    turns = desk.composed(draft).envelope.turns
    return "\n".join(turn.text.plain for turn in turns if turn.origin.kind is OriginKind.SYSTEM)


async def a_pirate(desk) -> Role:
    role = await desk.save_role(PIRATE)
    assert role is not None
    return role


async def test_a_new_chat_has_the_role_that_was_used_last(make_desk):
    desk, heard = await make_desk()
    pirate = await a_pirate(desk)
    assert [role.name for role in desk.roles] == ["Assistant", "Pirate"]
    assert desk.role is not None
    assert desk.role.name == "Assistant"
    await desk.new(pirate.role_id)
    assert await desk.submit("ahoy")
    await settled(desk, heard)
    await desk.new()
    assert desk.role == pirate
    assert [role.name for role in desk.roles] == ["Pirate", "Assistant"]


async def test_the_role_says_how_the_model_is_asked(make_desk):
    desk, _ = await make_desk()
    await desk.new((await a_pirate(desk)).role_id)
    assert role_words(desk) == "Talk like a pirate."
    body = json.loads(desk.composed("hi").payload.body)
    assert body["temperature"] == 0.5


async def test_a_role_with_a_model_is_asked_where_that_is_to_be_had(make_desk):
    desk, _ = await make_desk(model="echo")
    role = await desk.save_role(replace(PIRATE, model="mirror"))
    assert role is not None
    await desk.new(role.role_id)
    assert desk.composed("hi").model == "mirror"
    other = await desk.save_role(
        replace(PIRATE, model=desk.config.endpoint_named("anthropic").models[0])
    )
    assert other is not None
    await desk.new(other.role_id)
    assert desk.endpoint.name == "anthropic"
    assert desk.composed("hi").model == other.model


async def test_a_chat_without_a_role(make_desk):
    desk, heard = await make_desk()
    await desk.new("")
    assert desk.role is None
    assert role_words(desk) == ""
    assert await desk.submit("hi")
    await settled(desk, heard)
    await desk.new()
    assert desk.role is None, "what was used last was no role"


async def test_the_role_can_be_chosen_until_the_session_begins(make_desk):
    desk, heard = await make_desk()
    pirate = await a_pirate(desk)
    await desk.choose_role(pirate.role_id)
    assert desk.role == pirate
    assert await desk.submit("ahoy")
    await settled(desk, heard)
    assert desk.session.role_id == pirate.role_id
    await desk.choose_role("assistant")
    assert "keeps the role" in str(heard.of(Trouble)[-1].error)
    assert desk.role == pirate


async def test_a_disabled_role_starts_nothing(make_desk):
    desk, heard = await make_desk()
    pirate = await a_pirate(desk)
    await desk.save_role(replace(pirate, status="disabled"))
    assert desk.roles[-1].name == "Pirate"
    await desk.new(pirate.role_id)
    assert "disabled" in str(heard.of(Trouble)[-1].error)
    assert desk.role is not None
    assert desk.role.name == "Assistant"
    await desk.choose_role(pirate.role_id)
    assert len(heard.of(Trouble)) == 2


async def test_disabling_the_role_of_a_chat_that_was_not_begun_takes_another(make_desk):
    desk, _ = await make_desk()
    pirate = await a_pirate(desk)
    await desk.choose_role(pirate.role_id)
    await desk.save_role(replace(pirate, status="disabled"))
    assert desk.role is not None
    assert desk.role.name == "Assistant"


async def test_a_session_whose_role_was_disabled_or_deleted_works_without_it(make_desk):
    desk, heard = await make_desk()
    pirate = await a_pirate(desk)
    await desk.new(pirate.role_id)
    assert await desk.submit("ahoy")
    await settled(desk, heard)
    session_id = desk.session.session_id

    await desk.save_role(replace(pirate, status="disabled"))
    assert desk.role_fault == "disabled"
    assert role_words(desk) == ""
    assert "role-disabled" in {note.code for note in desk.composed("hi").notes}

    await desk.save_role(pirate)
    assert desk.role_fault == ""
    await desk.delete_role(pirate.role_id)
    await desk.new()
    await desk.open(session_id)
    assert desk.role is None
    assert desk.role_fault == "deleted"
    assert desk.session.lost_role == "Pirate"
    assert "role-missing" in {note.code for note in desk.composed("hi").notes}
    assert await desk.submit("still there?")
    await settled(desk, heard)
    assert desk.entries[-1].status == "complete"


async def test_a_changed_role_is_seen_at_once(make_desk):
    desk, _ = await make_desk()
    pirate = await a_pirate(desk)
    await desk.choose_role(pirate.role_id)
    await desk.save_role(replace(pirate, system_prompt="Arr!"))
    assert role_words(desk) == "Arr!"


async def test_a_role_with_faults_is_refused_with_words(make_desk):
    desk, heard = await make_desk()
    for faulty in (
        replace(PIRATE, name="  "),
        replace(PIRATE, temperature=9.0),
        replace(PIRATE, max_tokens=0),
    ):
        assert await desk.save_role(faulty) is None
    assert len(heard.of(Trouble)) == 3
    assert len(desk.roles) == 1


async def test_who_deletes_the_first_role_means_it(make_desk):
    desk, _ = await make_desk()
    await desk.delete_role("assistant")
    assert desk.roles == ()
    await desk.close()
    desk, _ = await make_desk()
    assert desk.roles == ()
    assert desk.role is None


async def test_role_files_are_taken_in_when_they_change(make_desk, tmp_path: Path):
    folder = tmp_path / "roles"
    folder.mkdir()
    file = folder / "cook.json"
    file.write_text('{"name": "Cook", "system_prompt": "Cook."}')
    (folder / "broken.json").write_text('{"name": 1}')
    desk, heard = await make_desk()
    assert [role.name for role in desk.roles] == ["Cook"]
    assert "broken.json" in str(heard.of(Trouble)[0].error)
    cook = desk.roles[0]
    await desk.save_role(replace(cook, system_prompt="Cook well."))
    await desk.close()

    desk, _ = await make_desk()
    assert desk.roles[0].system_prompt == "Cook well.", "the file did not change"
    await desk.close()

    file.write_text('{"name": "Cook", "system_prompt": "Cook better."}')
    desk, _ = await make_desk()
    assert desk.roles[0].system_prompt == "Cook better."
