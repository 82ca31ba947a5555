"""Roles of the workspace: choosing one, and sessions whose role no longer exists."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from tests.support.workspace import ids, last_failure, say
from tui_chat.models.role import Role
from tui_chat.models.settings import Settings
from tui_chat.models.text import OriginKind
from tui_chat.workspace.events import Done, Failed

PIRATE = Role("", "Pirate", "Talk like a pirate.", settings=Settings(temperature=0.5))


def role_words(workspace, draft: str = "hi") -> str:
    turns = workspace.requests.compose(draft).envelope.turns
    return "\n".join(turn.text.plain for turn in turns if turn.origin.kind is OriginKind.SYSTEM)


async def a_pirate(workspace) -> Role:
    role = await workspace.roles.save(PIRATE)
    assert role is not None
    return role


async def test_a_new_session_has_the_last_used_role(make_workspace):
    workspace, heard = await make_workspace()
    pirate = await a_pirate(workspace)
    assert [role.name for role in workspace.state.roles] == ["Assistant", "Pirate"]
    assert workspace.state.role.name == "Assistant"
    await workspace.sessions.new(pirate.role_id)
    await say(workspace, heard, "ahoy")
    await workspace.sessions.new()
    assert workspace.state.role == pirate
    assert [role.name for role in workspace.state.roles] == ["Pirate", "Assistant"]


async def test_the_role_sets_the_parameters(make_workspace):
    workspace, _ = await make_workspace()
    await workspace.sessions.new((await a_pirate(workspace)).role_id)
    assert role_words(workspace) == "Talk like a pirate."
    body = json.loads(workspace.requests.compose("hi").payload.body)
    assert body["temperature"] == 0.5


async def test_the_model_of_a_role_selects_the_endpoint(make_workspace):
    workspace, _ = await make_workspace(model="echo")
    role = await workspace.roles.save(replace(PIRATE, model="mirror"))
    await workspace.sessions.new(role.role_id)
    assert workspace.requests.compose("hi").model == "mirror"
    other = await workspace.roles.save(
        replace(PIRATE, model=workspace.state.config.endpoint_named("anthropic").models[0])
    )
    await workspace.sessions.new(other.role_id)
    assert workspace.state.endpoint.name == "anthropic"
    assert workspace.requests.compose("hi").model == other.model


async def test_a_session_without_a_role(make_workspace):
    workspace, heard = await make_workspace()
    await workspace.sessions.new("")
    assert workspace.state.role is None
    assert role_words(workspace) == ""
    await say(workspace, heard, "hi")
    await workspace.sessions.new()
    assert workspace.state.role is None, "what was used last was no role"


async def test_the_role_can_be_chosen_until_the_session_begins(make_workspace):
    workspace, heard = await make_workspace()
    pirate = await a_pirate(workspace)
    await workspace.sessions.choose_role(pirate.role_id)
    assert workspace.state.role == pirate
    await say(workspace, heard, "ahoy")
    assert workspace.state.session.role_id == pirate.role_id
    await workspace.sessions.choose_role("assistant")
    assert "keeps the role" in last_failure(heard)
    assert workspace.state.role == pirate


async def test_a_disabled_role_cannot_be_chosen(make_workspace):
    workspace, heard = await make_workspace()
    pirate = await a_pirate(workspace)
    await workspace.roles.save(replace(pirate, status="disabled"))
    assert workspace.state.roles[-1].name == "Pirate"
    await workspace.sessions.new(pirate.role_id)
    assert "disabled" in last_failure(heard)
    assert workspace.state.role.name == "Assistant"
    await workspace.sessions.choose_role(pirate.role_id)
    assert len(heard.of(Failed)) == 2


async def test_disabling_the_role_of_an_empty_session_selects_another(make_workspace):
    workspace, _ = await make_workspace()
    pirate = await a_pirate(workspace)
    await workspace.sessions.choose_role(pirate.role_id)
    await workspace.roles.save(replace(pirate, status="disabled"))
    assert workspace.state.role.name == "Assistant"


async def test_a_session_whose_role_was_disabled_or_deleted_sends_nothing(make_workspace):
    workspace, heard = await make_workspace()
    pirate = await a_pirate(workspace)
    await workspace.sessions.new(pirate.role_id)
    await say(workspace, heard, "ahoy")
    session_id = workspace.state.session.session_id

    await workspace.roles.save(replace(pirate, status="disabled"))
    assert workspace.state.role_fault == "disabled"
    told = "The role was disabled: this session sends nothing with it."
    assert [each.sentence for each in heard.of(Done)] == [told]
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
    assert not await workspace.replies.submit("still there?")
    assert not await workspace.replies.regenerate(ids(workspace)[-1])
    assert "was deleted" in last_failure(heard)

    await workspace.roles.go_on_without()
    assert workspace.state.role_fault == ""
    await say(workspace, heard, "still there?")
    assert workspace.state.entries[-1].status == "complete"


async def test_a_first_system_message_is_added_to_the_role_s_prompt(make_workspace):
    workspace, heard = await make_workspace()
    pirate = await a_pirate(workspace)
    await workspace.sessions.choose_role(pirate.role_id)
    prompt = role_words(workspace)
    assert prompt
    assert await workspace.branches.add_system_message("Be brief.")
    composed = workspace.requests.compose("hi")
    assert role_words(workspace) == prompt
    system = [turn.text.plain for turn in composed.envelope.turns if turn.role == "system"]
    assert (system[0], system[-1]) == (prompt, "Be brief.")
    await say(workspace, heard, "hi")
    sent = await workspace.sent.sent_request(ids(workspace)[-1])
    assert sent.is_exact, "its recipe says so too"


async def test_a_changed_role_takes_effect_at_once(make_workspace):
    workspace, _ = await make_workspace()
    pirate = await a_pirate(workspace)
    await workspace.sessions.choose_role(pirate.role_id)
    await workspace.roles.save(replace(pirate, system_prompt="Arr!"))
    assert role_words(workspace) == "Arr!"


async def test_an_invalid_role_is_refused(make_workspace):
    workspace, heard = await make_workspace()
    for faulty in (
        replace(PIRATE, name="  "),
        replace(PIRATE, settings=Settings(temperature=9.0)),
        replace(PIRATE, settings=Settings(max_tokens=0)),
    ):
        assert await workspace.roles.save(faulty) is None
    assert len(heard.of(Failed)) == 3
    assert len(workspace.state.roles) == 1


async def test_the_deleted_default_role_does_not_come_back(make_workspace):
    workspace, _ = await make_workspace()
    await workspace.roles.delete("assistant")
    assert workspace.state.roles == ()
    await workspace.close()
    workspace, _ = await make_workspace()
    assert workspace.state.roles == ()
    assert workspace.state.role is None


async def test_changed_role_files_are_loaded(make_workspace, tmp_path: Path):
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
    await workspace.windows.check()
    file.write_text('{"name": "Cook", "system_prompt": "Cook while it runs."}')
    await workspace.windows.check()
    assert workspace.state.roles[0].system_prompt == "Cook while it runs."
