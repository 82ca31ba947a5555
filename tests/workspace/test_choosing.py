"""Setting a session: presets, profiles, lorebooks, parameters; what is gone hides no session."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.conftest import settled
from tests.interop.exports import chatgpt, node
from tui_chat.models.profile import Profile
from tui_chat.workspace import Trouble


def put(folder: Path, name: str, value: object) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(json.dumps(value))
    return path


def preset_with(content: str) -> dict[str, object]:
    return {"name": "Called otherwise", "presetMessages": [{"role": "user", "content": content}]}


def words(desk, draft: str = "hi") -> list[str]:
    return [turn.text.plain for turn in desk.composed(draft).envelope.turns]


async def test_a_preset_is_kept_by_the_name_of_its_file(make_desk, tmp_path: Path):
    put(tmp_path / "presets", "mine", preset_with("mind this"))
    desk, heard = await make_desk()
    await desk.choose_preset("mine")
    assert await desk.submit("hi")
    await settled(desk, heard)
    await desk.close()
    desk, heard = await make_desk()
    assert desk.preset_name == "mine"
    assert "mind this" in words(desk)
    assert heard.of(Trouble) == []


async def test_a_preset_that_is_gone_hides_no_session(make_desk, tmp_path: Path):
    file = put(tmp_path / "presets", "mine", preset_with("mind this"))
    desk, heard = await make_desk()
    await desk.choose_preset("mine")
    assert await desk.submit("hi")
    await settled(desk, heard)
    await desk.close()
    file.unlink()
    desk, heard = await make_desk()
    assert [entry.message.content for entry in desk.entries] == ["hi", "hi"]
    assert "goes on without a preset" in str(heard.of(Trouble)[0].error)


async def test_a_file_put_there_a_moment_ago_can_be_chosen(make_desk, tmp_path: Path):
    desk, _ = await make_desk()
    assert "late" not in desk.presets
    put(tmp_path / "presets", "late", preset_with("late"))
    put(tmp_path / "lorebooks", "sea", [])
    assert "late" in desk.presets
    assert desk.lorebooks == ("sea",)


async def test_the_profile_is_told_where_a_preset_has_its_place(make_desk, tmp_path: Path):
    put(tmp_path / "profiles", "me", {"name": "Ada", "content": "Ada counts."})
    desk, heard = await make_desk()
    assert desk.profiles == ("me",)
    await desk.choose_preset("roleplay")
    await desk.choose_profile("me")
    assert any("Ada counts." in each for each in words(desk))
    assert await desk.submit("hi")
    await settled(desk, heard)
    assert desk.session.profile == "me"
    await desk.new()
    assert desk.profile == Profile("Ada", "Ada counts."), "new chats begin as the same person"
    await desk.choose_profile("")
    assert desk.profile is None


async def test_a_profile_made_in_the_app_is_a_file(make_desk, tmp_path: Path):
    desk, heard = await make_desk()
    await desk.save_profile(Profile("Bo/b: 1", "Likes “quotes”."))
    assert desk.profiles == ("Bo b 1",)
    assert desk.profile == Profile("Bo/b: 1", "Likes “quotes”.")
    await desk.save_profile(Profile("  ", ""))
    assert "name is needed" in str(heard.of(Trouble)[-1].error)


async def test_lorebooks_speak_when_the_talk_comes_to_them(make_desk, tmp_path: Path):
    entry = {"keys": ["salt"], "content": "Salt comes from the marsh."}
    put(tmp_path / "lorebooks", "sea", {"name": "Sea", "entries": [entry]})
    desk, heard = await make_desk()
    await desk.choose_lorebooks(("sea",))
    assert "Salt comes from the marsh." in words(desk, "Where does salt come from?")
    assert "Salt comes from the marsh." not in words(desk, "Hello")
    await desk.choose_lorebooks(("sea", "nowhere"))
    assert "There is no lorebook “nowhere”" in str(heard.of(Trouble)[-1].error)
    assert desk.lore_names == ("sea",)
    assert await desk.submit("Hello")
    await settled(desk, heard)
    await desk.close()
    desk, _ = await make_desk()
    assert desk.lore_names == ("sea",), "it stays with the session"
    assert [book.name for book in desk.lore] == ["Sea"]


@pytest.mark.parametrize(("theirs", "asked"), [("gpt-4o", "mirror"), ("lorem", "lorem")])
async def test_a_conversation_from_elsewhere_goes_on_with_a_model_that_is_to_be_had(
    make_desk, tmp_path: Path, theirs: str, asked: str
):
    desk, _ = await make_desk()
    told = chatgpt(node("q", None, "user", "Hi"), default_model_slug=theirs)
    file = put(tmp_path, "c", told)
    [report] = await desk.import_files((file,), lambda _: None)
    await desk.open(report.session_ids[0])
    assert [each.model for each in desk.sessions] == [theirs]
    assert json.loads(desk.composed("more").payload.body)["model"] == asked


async def test_temperature_and_reply_limit_are_the_sessions(make_desk):
    desk, heard = await make_desk()
    await desk.choose_parameters(0.3, 77)
    assert await desk.submit("hi")
    await settled(desk, heard)
    await desk.close()
    desk, heard = await make_desk()
    body = json.loads(desk.composed("more").payload.body)
    assert body["temperature"] == 0.3
    assert 77 in body.values()
    await desk.choose_parameters(3.0, None)
    await desk.choose_parameters(None, 0)
    assert len(heard.of(Trouble)) == 2
    assert desk.temperature == 0.3


async def test_what_is_picked_is_the_same_for_as_long_as_the_session_lives(
    make_desk, tmp_path: Path
):
    many = "::".join(map(str, range(500)))
    put(
        tmp_path / "presets", "pick", preset_with("{{pick::" + many + "}} {{random::" + many + "}}")
    )
    desk, heard = await make_desk()
    await desk.choose_preset("pick")
    seen = words(desk, "one")
    assert words(desk, "one two")[-2:][:1] == seen[-2:][:1], "it stands still while one types"
    assert await desk.submit("one")
    await settled(desk, heard)
    again = words(desk, "two")
    first, then = (
        next(each for each in all_ if each[0].isdigit()).split() for all_ in (seen, again)
    )
    assert first[0] == then[0]
    assert first[1] != then[1]


async def test_macros_read_the_variables_of_their_session(make_desk, tmp_path: Path):
    put(tmp_path / "presets", "mood", preset_with("You are {{getvar::mood}}."))
    desk, heard = await make_desk()
    await desk.choose_preset("mood")
    assert await desk.submit("hi")
    await settled(desk, heard)
    session_id = desk.session_id
    await desk._outside.store.sessions.save_variables(session_id, {"mood": "merry"})
    await desk.open(session_id)
    assert "You are merry." in words(desk)
    assert await desk.submit("and now")
    await settled(desk, heard)
    sent = await desk.sent_request(desk.entries[-1].message.id)
    assert sent is not None
    assert b"merry" in (sent.body or b"")
    assert sent.is_exact
    await desk.new("")
    await desk.choose_preset("mood")
    assert "You are merry." not in words(desk)
