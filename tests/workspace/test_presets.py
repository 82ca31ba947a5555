"""Editing presets: the request has the edited preset, and files are never damaged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.conftest import settled
from tests.workspace.test_settings import preset_with, put, words
from tui_chat.library.editing import EditHistory, change_message
from tui_chat.workspace.events import Failed, PresetChanged
from tui_chat.workspace.workspace import Workspace


def edits_of(workspace: Workspace) -> EditHistory:
    edits = workspace.state.preset_edits
    assert edits is not None
    return edits


def rewrite(workspace: Workspace, content: str) -> None:
    edits = edits_of(workspace)
    preset = change_message(edits.preset, 0, content=content)
    workspace.presets.edit(workspace.state.preset_name, edits.record(preset, "edit"))


def contents(file: Path) -> list[str]:
    return [m.get("content", "") for m in json.loads(file.read_text())["presetMessages"]]


async def test_an_edited_preset_is_sent(make_workspace, tmp_path: Path):
    put(tmp_path / "presets", "mine", preset_with("first"))
    received = []
    workspace, heard = await make_workspace(on_request=received.append)
    await workspace.presets.choose("mine")
    rewrite(workspace, "second")
    shown = workspace.requests.compose("hi").payload.body
    assert b"second" in shown
    assert await workspace.replies.submit("hi")
    await settled(workspace, heard)
    assert received[0].body == shown
    workspace.presets.edit("mine", edits_of(workspace).undo())
    assert "first" in words(workspace)
    assert workspace.state.unsaved_presets == ()


async def test_edits_survive_other_sessions_and_presets(make_workspace, tmp_path: Path):
    put(tmp_path / "presets", "mine", preset_with("first"))
    workspace, heard = await make_workspace()
    await workspace.presets.choose("mine")
    assert await workspace.replies.submit("hi")
    await settled(workspace, heard)
    session = workspace.state.session_id
    rewrite(workspace, "second")
    await workspace.sessions.new()
    assert "second" not in words(workspace)
    assert workspace.state.unsaved_presets == ("mine",)
    await workspace.sessions.open(session)
    assert "second" in words(workspace)
    assert len(edits_of(workspace).past) == 1


async def test_saving_keeps_unknown_keys(make_workspace, tmp_path: Path):
    file = put(tmp_path / "presets", "mine", preset_with("first") | {"x-mine": [1]})
    workspace, _ = await make_workspace()
    await workspace.presets.choose("mine")
    rewrite(workspace, "second")
    assert await workspace.presets.save() == file
    assert contents(file) == ["second"]
    assert json.loads(file.read_text())["x-mine"] == [1]
    assert workspace.state.unsaved_presets == ()
    assert workspace.presets.check_file() == "same"
    workspace.presets.edit("mine", edits_of(workspace).undo())
    assert "first" in words(workspace)


async def test_an_edited_bundled_preset_is_saved_as_the_users(make_workspace, tmp_path: Path):
    workspace, _ = await make_workspace()
    assert workspace.library.is_ours(workspace.state.preset_name)
    rewrite(workspace, "mine now")
    path = await workspace.presets.save()
    assert path == tmp_path / "presets" / "plain.json"
    assert contents(path)[0] == "mine now"
    assert not workspace.library.is_ours(workspace.state.preset_name)
    await workspace.presets.delete()
    assert workspace.library.is_ours(workspace.state.preset_name)
    assert "mine now" not in words(workspace)


async def test_saving_as_a_copy_keeps_the_original(make_workspace, tmp_path: Path):
    file = put(tmp_path / "presets", "mine", preset_with("first"))
    workspace, heard = await make_workspace()
    await workspace.presets.choose("mine")
    rewrite(workspace, "second")
    assert await workspace.presets.save("other") == tmp_path / "presets" / "other.json"
    assert (workspace.state.preset_name, contents(file)) == ("other", ["first"])
    assert await workspace.presets.save("mine") is None
    assert "already" in str(heard.of(Failed)[-1].error)
    await workspace.presets.rename("third")
    assert workspace.state.preset_name == "third"
    assert "second" in words(workspace)
    assert workspace.library.names("presets").count("other") == 0
    await workspace.presets.delete()
    assert workspace.state.preset_name == "plain"


async def test_an_external_change_of_a_file_is_loaded(make_workspace, tmp_path: Path):
    put(tmp_path / "presets", "mine", preset_with("first"))
    workspace, heard = await make_workspace()
    await workspace.presets.choose("mine")
    assert workspace.presets.check_file() == "same"
    put(tmp_path / "presets", "mine", preset_with("changed outside"))
    assert workspace.presets.check_file() == "reloaded"
    assert "changed outside" in words(workspace)
    assert len(heard.of(PresetChanged)) == 1


async def test_an_external_change_of_an_edited_preset_is_a_conflict(make_workspace, tmp_path: Path):
    put(tmp_path / "presets", "mine", preset_with("first"))
    workspace, _ = await make_workspace()
    await workspace.presets.choose("mine")
    rewrite(workspace, "by me")
    put(tmp_path / "presets", "mine", preset_with("changed outside"))
    assert workspace.presets.check_file() == "conflict"
    assert workspace.presets.check_file() == "same"
    assert "by me" in words(workspace)
    workspace.presets.revert()
    assert "changed outside" in words(workspace)
    workspace.presets.edit("mine", edits_of(workspace).undo())
    assert "by me" in words(workspace)


async def test_a_broken_file_is_reported_once(make_workspace, tmp_path: Path):
    file = put(tmp_path / "presets", "mine", preset_with("first"))
    workspace, heard = await make_workspace()
    await workspace.presets.choose("mine")
    assert not workspace.presets.would_overwrite()
    file.write_text('{"presetMessages": [\n{"role": 3}]}')
    assert [workspace.presets.check_file() for _ in range(3)] == ["same"] * 3
    assert workspace.presets.would_overwrite()  # somebody may be writing it: a save asks first
    (trouble,) = heard.of(Failed)
    assert "mine.json" in str(trouble.error)
    assert "line 2" in str(trouble.error)
    assert "first" in words(workspace)
    put(tmp_path / "presets", "mine", preset_with("mended"))
    assert workspace.presets.check_file() == "reloaded"
    assert not workspace.presets.would_overwrite()
    assert "mended" in words(workspace)


async def test_a_broken_file_is_never_overwritten(make_workspace, tmp_path: Path):
    file = put(tmp_path / "presets", "mine", preset_with("first"))
    workspace, heard = await make_workspace()
    await workspace.presets.choose("mine")
    assert await workspace.replies.submit("hi")
    await settled(workspace, heard)
    session = workspace.state.session_id
    await workspace.close()
    file.write_text("{")
    workspace, heard = await make_workspace()
    assert workspace.state.session_id == session
    assert workspace.state.preset_edits is None
    assert await workspace.presets.save() is None
    assert file.read_text() == "{"
    assert workspace.presets.text() == "{"
    workspace.presets.edit_text(json.dumps(preset_with("mended here")))
    assert "mended here" in words(workspace)
    assert not workspace.presets.would_overwrite()
    assert await workspace.presets.save() == file
    assert contents(file) == ["mended here"]


@pytest.mark.parametrize("theirs", ["{", json.dumps(preset_with("theirs"))])
async def test_saving_all_overwrites_no_external_change(
    make_workspace, tmp_path: Path, theirs: str
):
    file = put(tmp_path / "presets", "mine", preset_with("first"))
    workspace, heard = await make_workspace()
    await workspace.presets.choose("mine")
    workspace.presets.edit_text(json.dumps(preset_with("by me")))
    before = file.read_text()
    file.write_text(theirs)
    assert not workspace.presets.save_all()
    assert "changed by another program" in str(heard.of(Failed)[-1].error)
    assert file.read_text() == theirs
    assert "by me" in words(workspace)
    file.write_text(before)  # written again, and nothing changed by it
    assert workspace.presets.save_all()
    assert contents(file) == ["by me"]
