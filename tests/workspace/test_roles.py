"""Roles on the workspace: who starts a session, and what becomes of sessions whose role is gone."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from tests.e2e.conftest import settled
from tui_chat.models.role import Role
from tui_chat.models.text import OriginKind
from tui_chat.workspace import Failed

PIRATE = Role("", "Pirate", "Talk like a pirate.", temperature=0.5)


def role_words(workspace, draft: str = "hi") -> str:
    turns = workspace.requests.compose(draft).envelope.turns
    return "\n".join(turn.text.plain for turn in turns if turn.origin.kind is OriginKind.SYSTEM)


async def a_pirate(workspace) -> Role:
    role = await workspace.roles.save(PIRATE)
    assert role is not None
    return role


async def test_a_new_chat_has_the_role_that_was_used_last(make_workspace):
    workspace, heard = await make_workspace()
    pirate = await a_pirate(workspace)
    assert [role.name for role in workspace.state.roles] == ["Assistant", "Pirate"]
    assert workspace.state.role is not None
    assert workspace.state.role.name == "Assistant"
    await workspace.sessions.new(pirate.role_id)
    assert await workspace.replies.submit("ahoy")
    await settled(workspace, heard)
    await workspace.sessions.new()
    assert workspace.state.role == pirate
    assert [role.name for role in workspace.state.roles] == ["Pirate", "Assistant"]


async def test_the_role_says_how_the_model_is_asked(make_workspace):
    workspace, _ = await make_workspace()
    await workspace.sessions.new((await a_pirate(workspace)).role_id)
    assert role_words(workspace) == "Talk like a pirate."
    body = json.loads(workspace.requests.compose("hi").payload.body)
    assert body["temperature"] == 0.5


async def test_a_role_with_a_model_is_asked_where_that_is_to_be_had(make_workspace):
    workspace, _ = await make_workspace(model="echo")
    role = await workspace.roles.save(replace(PIRATE, model="mirror"))
    assert role is not None
    await workspace.sessions.new(role.role_id)
    assert workspace.requests.compose("hi").model == "mirror"
    other = await workspace.roles.save(
        replace(PIRATE, model=workspace.state.config.endpoint_named("anthropic").models[0])
    )
    assert other is not None
    await workspace.sessions.new(other.role_id)
    assert workspace.state.endpoint.name == "anthropic"
    assert workspace.requests.compose("hi").model == other.model


async def test_a_chat_without_a_role(make_workspace):
    workspace, heard = await make_workspace()
    await workspace.sessions.new("")
    assert workspace.state.role is None
    assert role_words(workspace) == ""
    assert await workspace.replies.submit("hi")
    await settled(workspace, heard)
    await workspace.sessions.new()
    assert workspace.state.role is None, "what was used last was no role"


async def test_the_role_can_be_chosen_until_the_session_begins(make_workspace):
    workspace, heard = await make_workspace()
    pirate = await a_pirate(workspace)
    await workspace.roles.choose(pirate.role_id)
    assert workspace.state.role == pirate
    assert await workspace.replies.submit("ahoy")
    await settled(workspace, heard)
    assert workspace.state.session.role_id == pirate.role_id
    await workspace.roles.choose("assistant")
    assert "keeps the role" in str(heard.of(Failed)[-1].error)
    assert workspace.state.role == pirate


async def test_a_disabled_role_starts_nothing(make_workspace):
    workspace, heard = await make_workspace()
    pirate = await a_pirate(workspace)
    await workspace.roles.save(replace(pirate, status="disabled"))
    assert workspace.state.roles[-1].name == "Pirate"
    await workspace.sessions.new(pirate.role_id)
    assert "disabled" in str(heard.of(Failed)[-1].error)
    assert workspace.state.role is not None
    assert workspace.state.role.name == "Assistant"
    await workspace.roles.choose(pirate.role_id)
    assert len(heard.of(Failed)) == 2


async def test_disabling_the_role_of_a_chat_that_was_not_begun_takes_another(make_workspace):
    workspace, _ = await make_workspace()
    pirate = await a_pirate(workspace)
    await workspace.roles.choose(pirate.role_id)
    await workspace.roles.save(replace(pirate, status="disabled"))
    assert workspace.state.role is not None
    assert workspace.state.role.name == "Assistant"


async def test_a_session_whose_role_was_disabled_or_deleted_works_without_it(make_workspace):
    workspace, heard = await make_workspace()
    pirate = await a_pirate(workspace)
    await workspace.sessions.new(pirate.role_id)
    assert await workspace.replies.submit("ahoy")
    await settled(workspace, heard)
    session_id = workspace.state.session.session_id

    await workspace.roles.save(replace(pirate, status="disabled"))
    assert workspace.state.role_fault == "disabled"
    assert role_words(workspace) == ""
    assert "role-disabled" in {note.code for note in workspace.requests.compose("hi").notes}

    await workspace.roles.save(pirate)
    assert workspace.state.role_fault == ""
    await workspace.roles.delete(pirate.role_id)
    await workspace.sessions.new()
    await workspace.sessions.open(session_id)
    assert workspace.state.role is None
    assert workspace.state.role_fault == "deleted"
    assert workspace.state.session.lost_role == "Pirate"
    assert "role-missing" in {note.code for note in workspace.requests.compose("hi").notes}
    assert await workspace.replies.submit("still there?")
    await settled(workspace, heard)
    assert workspace.state.entries[-1].status == "complete"


async def test_a_changed_role_is_seen_at_once(make_workspace):
    workspace, _ = await make_workspace()
    pirate = await a_pirate(workspace)
    await workspace.roles.choose(pirate.role_id)
    await workspace.roles.save(replace(pirate, system_prompt="Arr!"))
    assert role_words(workspace) == "Arr!"


async def test_a_role_with_faults_is_refused_with_words(make_workspace):
    workspace, heard = await make_workspace()
    for faulty in (
        replace(PIRATE, name="  "),
        replace(PIRATE, temperature=9.0),
        replace(PIRATE, max_tokens=0),
    ):
        assert await workspace.roles.save(faulty) is None
    assert len(heard.of(Failed)) == 3
    assert len(workspace.state.roles) == 1


async def test_who_deletes_the_first_role_means_it(make_workspace):
    workspace, _ = await make_workspace()
    await workspace.roles.delete("assistant")
    assert workspace.state.roles == ()
    await workspace.close()
    workspace, _ = await make_workspace()
    assert workspace.state.roles == ()
    assert workspace.state.role is None


async def test_role_files_are_taken_in_when_they_change(make_workspace, tmp_path: Path):
    folder = tmp_path / "roles"
    folder.mkdir()
    file = folder / "cook.json"
    file.write_text('{"name": "Cook", "system_prompt": "Cook."}')
    (folder / "broken.json").write_text('{"name": 1}')
    workspace, heard = await make_workspace()
    assert [role.name for role in workspace.state.roles] == ["Cook"]
    assert "broken.json" in str(heard.of(Failed)[0].error)
    cook = workspace.state.roles[0]
    await workspace.roles.save(replace(cook, system_prompt="Cook well."))
    await workspace.close()

    workspace, _ = await make_workspace()
    assert workspace.state.roles[0].system_prompt == "Cook well.", "the file did not change"
    await workspace.close()

    file.write_text('{"name": "Cook", "system_prompt": "Cook better."}')
    workspace, _ = await make_workspace()
    assert workspace.state.roles[0].system_prompt == "Cook better."
