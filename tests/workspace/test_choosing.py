"""Setting a session: presets, profiles, lorebooks, parameters; what is gone hides no session."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.conftest import settled
from tests.interop.exports import chatgpt, node
from tests.store.direct import replace_variables
from tui_chat.models.profile import Profile
from tui_chat.workspace import Failed


def put(folder: Path, name: str, value: object) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(json.dumps(value))
    return path


def preset_with(content: str) -> dict[str, object]:
    return {"name": "Called otherwise", "presetMessages": [{"role": "user", "content": content}]}


def words(workspace, draft: str = "hi") -> list[str]:
    return [turn.text.plain for turn in workspace.requests.compose(draft).envelope.turns]


async def test_a_preset_is_kept_by_the_name_of_its_file(make_workspace, tmp_path: Path):
    put(tmp_path / "presets", "mine", preset_with("mind this"))
    workspace, heard = await make_workspace()
    await workspace.presets.choose("mine")
    assert await workspace.replies.submit("hi")
    await settled(workspace, heard)
    await workspace.close()
    workspace, heard = await make_workspace()
    assert workspace.state.preset_name == "mine"
    assert "mind this" in words(workspace)
    assert heard.of(Failed) == []


async def test_a_preset_that_is_gone_hides_no_session(make_workspace, tmp_path: Path):
    file = put(tmp_path / "presets", "mine", preset_with("mind this"))
    workspace, heard = await make_workspace()
    await workspace.presets.choose("mine")
    assert await workspace.replies.submit("hi")
    await settled(workspace, heard)
    await workspace.close()
    file.unlink()
    workspace, heard = await make_workspace()
    assert [entry.message.content for entry in workspace.state.entries] == ["hi", "hi"]
    assert "goes on without a preset" in str(heard.of(Failed)[0].error)


async def test_a_file_put_there_a_moment_ago_can_be_chosen(make_workspace, tmp_path: Path):
    workspace, _ = await make_workspace()
    assert "late" not in workspace.library.names("presets")
    put(tmp_path / "presets", "late", preset_with("late"))
    put(tmp_path / "lorebooks", "sea", [])
    assert "late" in workspace.library.names("presets")
    assert workspace.library.names("lorebooks") == ("sea",)


async def test_the_profile_is_told_where_a_preset_has_its_place(make_workspace, tmp_path: Path):
    put(tmp_path / "profiles", "me", {"name": "Ada", "content": "Ada counts."})
    workspace, heard = await make_workspace()
    assert workspace.library.names("profiles") == ("me",)
    await workspace.presets.choose("roleplay")
    await workspace.settings.set_profile("me")
    assert any("Ada counts." in each for each in words(workspace))
    assert await workspace.replies.submit("hi")
    await settled(workspace, heard)
    assert workspace.state.session.profile == "me"
    await workspace.sessions.new()
    assert workspace.state.profile == Profile("Ada", "Ada counts."), (
        "new chats begin as the same person"
    )
    await workspace.settings.set_profile("")
    assert workspace.state.profile is None


async def test_a_profile_made_in_the_app_is_a_file(make_workspace, tmp_path: Path):
    workspace, heard = await make_workspace()
    await workspace.settings.save_profile(Profile("Bo/b: 1", "Likes “quotes”."))
    assert workspace.library.names("profiles") == ("Bo b 1",)
    assert workspace.state.profile == Profile("Bo/b: 1", "Likes “quotes”.")
    await workspace.settings.save_profile(Profile("  ", ""))
    assert "name is needed" in str(heard.of(Failed)[-1].error)


async def test_lorebooks_speak_when_the_talk_comes_to_them(make_workspace, tmp_path: Path):
    entry = {"keys": ["salt"], "content": "Salt comes from the marsh."}
    put(tmp_path / "lorebooks", "sea", {"name": "Sea", "entries": [entry]})
    workspace, heard = await make_workspace()
    await workspace.settings.set_lorebooks(("sea",))
    assert "Salt comes from the marsh." in words(workspace, "Where does salt come from?")
    assert "Salt comes from the marsh." not in words(workspace, "Hello")
    await workspace.settings.set_lorebooks(("sea", "nowhere"))
    assert "There is no lorebook “nowhere”" in str(heard.of(Failed)[-1].error)
    assert workspace.state.lorebook_names == ("sea",)
    assert await workspace.replies.submit("Hello")
    await settled(workspace, heard)
    await workspace.close()
    workspace, _ = await make_workspace()
    assert workspace.state.lorebook_names == ("sea",), "it stays with the session"
    assert [book.name for book in workspace.state.lorebooks] == ["Sea"]


@pytest.mark.parametrize(("theirs", "asked"), [("gpt-4o", "mirror"), ("lorem", "lorem")])
async def test_a_conversation_from_elsewhere_goes_on_with_a_model_that_is_to_be_had(
    make_workspace, tmp_path: Path, theirs: str, asked: str
):
    workspace, _ = await make_workspace()
    told = chatgpt(node("q", None, "user", "Hi"), default_model_slug=theirs)
    file = put(tmp_path, "c", told)
    [report] = await workspace.import_export.import_files((file,), lambda _: None)
    await workspace.sessions.open(report.session_ids[0])
    assert [each.model for each in workspace.state.sessions] == [theirs]
    assert json.loads(workspace.requests.compose("more").payload.body)["model"] == asked


async def test_temperature_and_reply_limit_are_the_sessions(make_workspace):
    workspace, heard = await make_workspace()
    await workspace.settings.set_parameters(0.3, 77)
    assert await workspace.replies.submit("hi")
    await settled(workspace, heard)
    await workspace.close()
    workspace, heard = await make_workspace()
    body = json.loads(workspace.requests.compose("more").payload.body)
    assert body["temperature"] == 0.3
    assert 77 in body.values()
    await workspace.settings.set_parameters(3.0, None)
    await workspace.settings.set_parameters(None, 0)
    assert len(heard.of(Failed)) == 2
    assert workspace.state.temperature == 0.3


async def test_what_is_picked_is_the_same_for_as_long_as_the_session_lives(
    make_workspace, tmp_path: Path
):
    many = "::".join(map(str, range(500)))
    put(
        tmp_path / "presets", "pick", preset_with("{{pick::" + many + "}} {{random::" + many + "}}")
    )
    workspace, heard = await make_workspace()
    await workspace.presets.choose("pick")
    seen = words(workspace, "one")
    assert words(workspace, "one two")[-2:][:1] == seen[-2:][:1], "it stands still while one types"
    assert await workspace.replies.submit("one")
    await settled(workspace, heard)
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
    assert await workspace.replies.submit("hi")
    await settled(workspace, heard)
    session_id = workspace.state.session_id
    await replace_variables(workspace.store, session_id, {"mood": "merry"})
    await workspace.sessions.open(session_id)
    assert "You are merry." in words(workspace)
    assert await workspace.replies.submit("and now")
    await settled(workspace, heard)
    sent = await workspace.request_history.sent_request(workspace.state.entries[-1].message.id)
    assert sent is not None
    assert b"merry" in (sent.body or b"")
    assert sent.is_exact
    await workspace.sessions.new("")
    await workspace.presets.choose("mood")
    assert "You are merry." not in words(workspace)
