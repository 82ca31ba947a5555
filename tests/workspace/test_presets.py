"""Presets that are edited: what is composed is what is in the editor; files are kept whole."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.conftest import settled
from tests.workspace.test_choosing import preset_with, put, words
from tui_chat.library.editing import EditHistory, change_message
from tui_chat.workspace import Desk, PresetChanged, Trouble


def edits_of(desk: Desk) -> EditHistory:
    edits = desk.preset_edits
    assert edits is not None
    return edits


def rewrite(desk: Desk, content: str) -> None:
    edits = edits_of(desk)
    preset = change_message(edits.preset, 0, content=content)
    desk.edit_preset(desk.preset_name, edits.record(preset, "edit"))


def contents(file: Path) -> list[str]:
    return [m.get("content", "") for m in json.loads(file.read_text())["presetMessages"]]


async def test_what_is_edited_is_what_is_sent(make_desk, tmp_path: Path):
    put(tmp_path / "presets", "mine", preset_with("first"))
    received = []
    desk, heard = await make_desk(on_request=received.append)
    await desk.choose_preset("mine")
    rewrite(desk, "second")
    shown = desk.composed("hi").payload.body
    assert b"second" in shown
    assert await desk.submit("hi")
    await settled(desk, heard)
    assert received[0].body == shown
    desk.edit_preset("mine", edits_of(desk).undo())
    assert "first" in words(desk)
    assert desk.unsaved_presets == ()


async def test_edits_survive_other_sessions_and_presets(make_desk, tmp_path: Path):
    put(tmp_path / "presets", "mine", preset_with("first"))
    desk, heard = await make_desk()
    await desk.choose_preset("mine")
    assert await desk.submit("hi")
    await settled(desk, heard)
    session = desk.session_id
    rewrite(desk, "second")
    await desk.new()
    assert "second" not in words(desk)
    assert desk.unsaved_presets == ("mine",)
    await desk.open(session)
    assert "second" in words(desk)
    assert len(edits_of(desk).past) == 1


async def test_a_save_keeps_what_we_do_not_know(make_desk, tmp_path: Path):
    file = put(tmp_path / "presets", "mine", preset_with("first") | {"x-mine": [1]})
    desk, _ = await make_desk()
    await desk.choose_preset("mine")
    rewrite(desk, "second")
    assert await desk.save_preset() == file
    assert contents(file) == ["second"]
    assert json.loads(file.read_text())["x-mine"] == [1]
    assert desk.unsaved_presets == ()
    assert desk.look_at_preset_file() == "same"
    desk.edit_preset("mine", edits_of(desk).undo())
    assert "first" in words(desk)


async def test_ours_are_saved_as_the_users_own(make_desk, tmp_path: Path):
    desk, _ = await make_desk()
    assert desk.preset_is_ours
    rewrite(desk, "mine now")
    path = await desk.save_preset()
    assert path == tmp_path / "presets" / "plain.json"
    assert contents(path)[0] == "mine now"
    assert not desk.preset_is_ours
    await desk.delete_preset()
    assert desk.preset_is_ours
    assert "mine now" not in words(desk)


async def test_a_copy_goes_on_and_the_first_stays(make_desk, tmp_path: Path):
    file = put(tmp_path / "presets", "mine", preset_with("first"))
    desk, heard = await make_desk()
    await desk.choose_preset("mine")
    rewrite(desk, "second")
    assert await desk.save_preset("other") == tmp_path / "presets" / "other.json"
    assert (desk.preset_name, contents(file)) == ("other", ["first"])
    assert await desk.save_preset("mine") is None
    assert "already" in str(heard.of(Trouble)[-1].error)
    await desk.rename_preset("third")
    assert desk.preset_name == "third"
    assert "second" in words(desk)
    assert desk.presets.count("other") == 0
    await desk.delete_preset()
    assert desk.preset_name == "plain"


async def test_a_file_changed_outside_is_followed(make_desk, tmp_path: Path):
    put(tmp_path / "presets", "mine", preset_with("first"))
    desk, heard = await make_desk()
    await desk.choose_preset("mine")
    assert desk.look_at_preset_file() == "same"
    put(tmp_path / "presets", "mine", preset_with("changed outside"))
    assert desk.look_at_preset_file() == "followed"
    assert "changed outside" in words(desk)
    assert len(heard.of(PresetChanged)) == 1


async def test_both_changed_is_a_conflict(make_desk, tmp_path: Path):
    put(tmp_path / "presets", "mine", preset_with("first"))
    desk, _ = await make_desk()
    await desk.choose_preset("mine")
    rewrite(desk, "by me")
    put(tmp_path / "presets", "mine", preset_with("changed outside"))
    assert desk.look_at_preset_file() == "conflict"
    assert desk.look_at_preset_file() == "same"
    assert "by me" in words(desk)
    desk.revert_preset()
    assert "changed outside" in words(desk)
    desk.edit_preset("mine", edits_of(desk).undo())
    assert "by me" in words(desk)


async def test_a_broken_file_is_told_once_and_stops_nothing(make_desk, tmp_path: Path):
    file = put(tmp_path / "presets", "mine", preset_with("first"))
    desk, heard = await make_desk()
    await desk.choose_preset("mine")
    assert not desk.save_loses()
    file.write_text('{"presetMessages": [\n{"role": 3}]}')
    assert [desk.look_at_preset_file() for _ in range(3)] == ["same"] * 3
    assert desk.save_loses()  # somebody may be writing it: a save asks first
    (trouble,) = heard.of(Trouble)
    assert "mine.json" in str(trouble.error)
    assert "line 2" in str(trouble.error)
    assert "first" in words(desk)
    put(tmp_path / "presets", "mine", preset_with("mended"))
    assert desk.look_at_preset_file() == "followed"
    assert not desk.save_loses()
    assert "mended" in words(desk)


async def test_a_broken_file_is_never_written_over(make_desk, tmp_path: Path):
    file = put(tmp_path / "presets", "mine", preset_with("first"))
    desk, heard = await make_desk()
    await desk.choose_preset("mine")
    assert await desk.submit("hi")
    await settled(desk, heard)
    session = desk.session_id
    await desk.close()
    file.write_text("{")
    desk, heard = await make_desk()
    assert desk.session_id == session
    assert desk.preset_edits is None
    assert await desk.save_preset() is None
    assert file.read_text() == "{"
    assert desk.preset_text() == "{"
    desk.edit_preset_text(json.dumps(preset_with("mended here")))
    assert "mended here" in words(desk)
    assert not desk.save_loses()
    assert await desk.save_preset() == file
    assert contents(file) == ["mended here"]


@pytest.mark.parametrize("theirs", ["{", json.dumps(preset_with("theirs"))])
async def test_saving_all_writes_over_nobodys_file(make_desk, tmp_path: Path, theirs: str):
    file = put(tmp_path / "presets", "mine", preset_with("first"))
    desk, heard = await make_desk()
    await desk.choose_preset("mine")
    desk.edit_preset_text(json.dumps(preset_with("by me")))
    before = file.read_text()
    file.write_text(theirs)
    assert not desk.save_presets()
    assert "changed by another program" in str(heard.of(Trouble)[-1].error)
    assert file.read_text() == theirs
    assert "by me" in words(desk)
    file.write_text(before)  # written again, and nothing changed by it
    assert desk.save_presets()
    assert contents(file) == ["by me"]
