"""Settings of a session: presets, profiles, lorebooks, parameters, and missing ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.reading import import_into
from tests.support.stores import give_variables
from tests.support.tables import each_row
from tests.support.workspace import (
    contents,
    ids,
    preset_with,
    put,
    say,
    words,
)
from tui_chat.errors import InputError
from tui_chat.models.role import Profile, Role
from tui_chat.models.settings import Settings, WebSearch
from tui_chat.workspace.events import Failed


async def test_a_session_stores_the_file_name_of_its_preset(make_workspace, tmp_path: Path):
    put(tmp_path / "presets", "mine", preset_with("mind this"))
    workspace, heard = await make_workspace()
    await workspace.presets.choose("mine")
    await say(workspace, heard, "hi")
    await workspace.close()
    workspace, heard = await make_workspace()
    assert workspace.state.preset_name == "mine"
    assert "mind this" in words(workspace)
    assert heard.of(Failed) == []


async def test_a_session_with_a_missing_preset_can_be_opened(make_workspace, tmp_path: Path):
    file = put(tmp_path / "presets", "mine", preset_with("mind this"))
    workspace, heard = await make_workspace()
    await workspace.presets.choose("mine")
    await say(workspace, heard, "hi")
    await workspace.close()
    file.unlink()
    workspace, heard = await make_workspace()
    assert contents(workspace) == ["hi", "hi"]
    assert "continues without a preset" in str(heard.of(Failed)[0].error)


async def test_a_new_file_can_be_chosen(make_workspace, tmp_path: Path):
    workspace, _ = await make_workspace()
    assert "late" not in workspace.library.names("presets")
    put(tmp_path / "presets", "late", preset_with("late"))
    put(tmp_path / "lorebooks", "sea", [])
    assert "late" in workspace.library.names("presets")
    assert workspace.library.names("lorebooks") == ("sea",)


async def test_the_profile_is_sent_at_its_anchor(make_workspace, tmp_path: Path):
    put(tmp_path / "profiles", "me", {"name": "Ada", "content": "Ada counts."})
    workspace, heard = await make_workspace()
    assert workspace.library.names("profiles") == ("me",)
    await workspace.presets.choose("roleplay")
    await workspace.settings.set_profile("me")
    assert any("Ada counts." in each for each in words(workspace))
    await say(workspace, heard, "hi")
    assert workspace.state.session.profile == "me"
    await workspace.sessions.new()
    assert workspace.state.profile == Profile("Ada", "Ada counts."), (
        "new chats begin as the same person"
    )
    await workspace.settings.set_profile("")
    assert workspace.state.profile is None


async def test_a_profile_created_in_the_app_is_a_file(make_workspace, tmp_path: Path):
    workspace, _ = await make_workspace()
    await workspace.settings.save_profile(Profile("Bo/b: 1", "Likes “quotes”."))
    assert workspace.library.names("profiles") == ("Bo b 1",)
    assert workspace.state.profile == Profile("Bo/b: 1", "Likes “quotes”.")
    with pytest.raises(InputError, match="name is empty"):
        await workspace.settings.save_profile(Profile("  ", ""))


async def test_a_deleted_profile_is_used_by_nobody(make_workspace, tmp_path):
    for name in ("me", "other", "third"):
        put(tmp_path / "profiles", name, {"name": name})
    workspace, heard = await make_workspace(sent=["hi"])
    await workspace.settings.set_profile("other")
    first = workspace.state.session_id
    await workspace.sessions.new()
    await workspace.settings.set_profile("me")
    await workspace.settings.delete_profile("me")
    assert workspace.library.names("profiles") == ("other", "third")
    assert workspace.state.profile_name == ""
    await workspace.sessions.new()
    assert not heard.of(Failed), "new chats do not look for it"
    await workspace.settings.set_profile("third")
    await workspace.sessions.open(first)
    await workspace.settings.delete_profile("third")
    assert workspace.state.profile_name == "other"
    await workspace.sessions.new()
    assert not heard.of(Failed)
    with pytest.raises(InputError, match="no profile"):
        await workspace.settings.delete_profile("nobody")


@each_row(("theirs", "asked"), [("gpt-4o", "mirror"), ("lorem", "lorem")])
async def test_an_imported_session_continues_with_an_available_model(
    make_workspace, tmp_path: Path, theirs: str, asked: str
):
    workspace, _ = await make_workspace()
    session = {"session_id": "s", "title": "A walk", "model": theirs, "head_id": "q"}
    messages = [{"id": "q", "role": "user", "content": "Hi"}]
    exported = {"format": "tui-chat", "version": 1,
                "sessions": [{"session": session, "messages": messages}]}  # fmt: skip
    file = put(tmp_path, "c", exported)
    [report] = await import_into(workspace, (file,))
    await workspace.sessions.open(report.session_ids[0])
    assert [each.model for each in workspace.state.sessions] == [theirs]
    assert json.loads(workspace.requests.compose("more").payload.body)["model"] == asked


async def test_settings_belong_to_the_session(make_workspace):
    workspace, heard = await make_workspace()
    for name, text in (("temperature", "0.3"), ("max-tokens", "77"), ("web_search", "off")):
        assert await workspace.settings.set_parameter(name, text)
    await say(workspace, heard, "hi")
    await workspace.close()
    workspace, heard = await make_workspace()
    body = json.loads(workspace.requests.compose("more").payload.body)
    assert body["temperature"] == 0.3
    assert 77 in body.values()
    assert workspace.state.settings == Settings(
        temperature=0.3, max_tokens=77, web_search=WebSearch(enabled=False)
    )
    assert not await workspace.settings.set_parameter("temperature", "3.0")
    assert not await workspace.settings.set_parameter("max_tokens", "0")
    assert not await workspace.settings.set_parameter("nothing", "0")
    sentences = [str(each.error) for each in heard.of(Failed)]
    assert sentences[0] == "temperature must be a number from 0 to 2, not 3.0."
    assert len(sentences) == 3
    assert workspace.state.settings.temperature == 0.3


async def test_a_reset_setting_is_inherited_again(make_workspace):
    workspace, _ = await make_workspace()
    role = await workspace.roles.save(Role("", "Cold", settings=Settings(temperature=0.1)))
    await workspace.sessions.choose_role(role.role_id)
    await workspace.settings.set_parameter("temperature", "1.5")
    assert json.loads(workspace.requests.compose("x").payload.body)["temperature"] == 1.5
    await workspace.settings.set_parameter("temperature", "default")
    composed = workspace.requests.compose("x")
    assert json.loads(composed.payload.body)["temperature"] == 0.1
    found = composed.envelope.parameters.origin("temperature")
    assert found.name == "temperature, set by the role Cold"
    await workspace.settings.set_parameter("service_tier", "default")
    assert workspace.state.settings == Settings(service_tier="default"), "a tier of that name"
    await workspace.settings.set_parameter("service_tier", "inherit")
    assert workspace.state.settings == Settings()


async def test_random_choices_are_stable_within_a_session(make_workspace, tmp_path: Path):
    many = "::".join(map(str, range(500)))
    put(
        tmp_path / "presets", "pick", preset_with("{{pick::" + many + "}} {{random::" + many + "}}")
    )
    workspace, heard = await make_workspace()
    await workspace.presets.choose("pick")
    seen = words(workspace, "one")
    assert words(workspace, "one two")[-2:][:1] == seen[-2:][:1], "it stands still while one types"
    await say(workspace, heard, "one")
    again = words(workspace, "two")
    first, then = (
        next(each for each in all_ if each[0].isdigit()).split() for all_ in (seen, again)
    )
    assert first[0] == then[0]
    assert first[1] != then[1]


async def test_macros_read_the_variables_of_their_session(make_workspace, tmp_path: Path):
    put(tmp_path / "presets", "mood", preset_with("You are {{getvar::mood}}."))
    workspace, heard = await make_workspace()
    await workspace.presets.choose("mood")
    await say(workspace, heard, "hi")
    session_id = workspace.state.session_id
    await give_variables(workspace.store, session_id, {"mood": "merry"})
    await workspace.sessions.open(session_id)
    assert "You are merry." in words(workspace)
    await say(workspace, heard, "and now")
    sent = await workspace.sent.sent_request(ids(workspace)[-1])
    assert b"merry" in (sent.body or b"")
    assert sent.is_exact
    await workspace.sessions.new("")
    await workspace.presets.choose("mood")
    assert "You are merry." not in words(workspace)


async def test_new_sessions_keep_the_model_that_was_chosen_last(make_workspace):
    workspace, heard = await make_workspace("loopback", "echo")
    await workspace.settings.set_model("loopback", "thinker")
    await workspace.sessions.new()
    assert workspace.state.model == "thinker"
    await say(workspace, heard, "hi")
    await workspace.close()
    workspace, _ = await make_workspace("loopback", "echo")
    await workspace.sessions.new()
    assert workspace.state.model == "thinker"
    await workspace.close()
    workspace, _ = await make_workspace("loopback", "mirror")
    await workspace.sessions.new()
    assert workspace.state.model == "mirror", "what the config says now is newer"


async def test_the_command_line_goes_before_the_default_model_until_one_is_chosen(make_workspace):
    workspace, _ = await make_workspace("loopback", "echo")
    await workspace.settings.set_default_model("loopback-gemini", "lorem")
    await workspace.close()
    workspace, _ = await make_workspace("loopback", "echo", named=("", "thinker"))
    await workspace.sessions.new("")
    assert workspace.state.model == "thinker"
    assert workspace.state.endpoint.name == "loopback-gemini", "the default's, which has it"
    await workspace.settings.set_model("loopback", "mirror")
    await workspace.sessions.new("")
    assert workspace.state.model == "lorem"
    await workspace.close()
    workspace, _ = await make_workspace("loopback", "echo", named=("google", ""))
    await workspace.sessions.new("")
    assert (workspace.state.endpoint.name, workspace.state.model) == ("google", "")


async def test_a_default_model_goes_before_the_one_that_was_chosen_last(make_workspace):
    workspace, heard = await make_workspace("loopback", "echo")
    await workspace.settings.set_default_model("loopback-gemini", "lorem")
    await workspace.settings.set_model("loopback", "thinker")
    await workspace.sessions.new()
    assert (workspace.state.endpoint.name, workspace.state.model) == ("loopback-gemini", "lorem")
    role = await workspace.roles.save(Role("", "Own", model="mirror"))
    await workspace.sessions.choose_role(role.role_id)
    assert workspace.state.effective_model == "mirror", "a role's own model goes before it"
    await workspace.close()
    workspace, _ = await make_workspace("loopback", "echo")
    await workspace.sessions.new("")
    assert workspace.state.model == "lorem"
    await workspace.settings.set_default_model("", "")
    await workspace.sessions.new("")
    assert workspace.state.model == "thinker"
    await workspace.settings.set_default_model("gone", "x")
    await workspace.sessions.new("")
    assert workspace.state.model == "thinker", "its endpoint is not configured any more"
    assert heard.of(Failed) == []
