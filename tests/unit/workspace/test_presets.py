"""Editing presets: the request has the edited preset, and files are never damaged."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tests.support.tables import each_row
from tests.support.workspace import (
    edits_of,
    last_failure,
    preset_with,
    put,
    rewrite,
    say,
    words,
)
from tui_chat import hooks
from tui_chat.api import Part, Plugin
from tui_chat.errors import InputError
from tui_chat.workspace.events import Failed, PresetChanged, PresetRenamed, PresetSaved
from tui_chat.workspace.state import DiffBase
from tui_chat.workspace.workspace import Workspace


async def with_preset(make_workspace, folder: Path):
    """Return a workspace whose preset is a file of the user's, and the file."""
    file = put(folder / "presets", "mine", preset_with("first"))
    workspace, heard = await make_workspace()
    await workspace.presets.choose("mine")
    return workspace, heard, file


def contents(file: Path) -> list[str]:
    return [m.get("content", "") for m in json.loads(file.read_text())["presetMessages"]]


async def test_an_edited_preset_is_sent(make_workspace, tmp_path: Path):
    workspace, heard, _ = await with_preset(make_workspace, tmp_path)
    rewrite(workspace, "second")
    shown = workspace.requests.compose("hi").payload.body
    assert b"second" in shown
    await say(workspace, heard, "hi")
    assert heard.received[0].body == shown
    workspace.presets.edit("mine", edits_of(workspace).undo())
    assert "first" in words(workspace)
    assert workspace.state.unsaved_presets == ()


async def test_edits_survive_other_sessions_and_presets(make_workspace, tmp_path: Path):
    workspace, heard, _ = await with_preset(make_workspace, tmp_path)
    await say(workspace, heard, "hi")
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
    workspace, heard, file = await with_preset(make_workspace, tmp_path)
    rewrite(workspace, "second")
    assert await workspace.presets.save("other") == tmp_path / "presets" / "other.json"
    assert (workspace.state.preset_name, contents(file)) == ("other", ["first"])
    assert await workspace.presets.save("mine") is None
    assert "already" in last_failure(heard)
    await workspace.presets.rename("third")
    assert workspace.state.preset_name == "third"
    assert "second" in words(workspace)
    assert workspace.library.names("presets").count("other") == 0
    await workspace.presets.delete()
    assert workspace.state.preset_name == "plain"


async def test_an_external_change_of_a_file_is_loaded(make_workspace, tmp_path: Path):
    workspace, heard, _ = await with_preset(make_workspace, tmp_path)
    assert workspace.presets.check_file() == "same"
    put(tmp_path / "presets", "mine", preset_with("changed outside"))
    assert workspace.presets.check_file() == "reloaded"
    assert "changed outside" in words(workspace)
    assert len(heard.of(PresetChanged)) == 1


async def test_an_external_change_of_an_edited_preset_is_a_conflict(make_workspace, tmp_path: Path):
    workspace, _, _ = await with_preset(make_workspace, tmp_path)
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
    workspace, heard, file = await with_preset(make_workspace, tmp_path)
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
    workspace, heard, file = await with_preset(make_workspace, tmp_path)
    await say(workspace, heard, "hi")
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


@each_row("theirs", ["{", json.dumps(preset_with("theirs"))])
async def test_saving_all_overwrites_no_external_change(make_workspace, tmp_path, theirs: str):
    workspace, heard, file = await with_preset(make_workspace, tmp_path)
    workspace.presets.edit_text(json.dumps(preset_with("by me")))
    before = file.read_text()
    file.write_text(theirs)
    assert not workspace.presets.save_all()
    assert "changed by another program" in last_failure(heard)
    assert file.read_text() == theirs
    assert "by me" in words(workspace)
    file.write_text(before)  # written again, and nothing changed by it
    assert workspace.presets.save_all()
    assert contents(file) == ["by me"]


def saved_contents(heard) -> list[tuple[str, str, str | None]]:
    """Return name, content and replaced content of each saved state of a preset."""
    return [
        (
            event.name,
            event.preset.messages[0].content,
            event.before.edits.saved.messages[0].content if event.before else None,
        )
        for event in heard.of(PresetSaved)
    ]


async def test_every_saved_state_is_told_with_the_one_before(make_workspace, tmp_path: Path):
    workspace, heard, file = await with_preset(make_workspace, tmp_path)
    rewrite(workspace, "second")
    await workspace.presets.save()
    rewrite(workspace, "third")
    assert workspace.presets.save_all()
    put(tmp_path / "presets", "mine", preset_with("by another program"))
    os.utime(file, ns=(1, 1))
    assert workspace.presets.check_file() == "reloaded"
    rewrite(workspace, "copied")
    await workspace.presets.save("other")
    assert saved_contents(heard) == [
        ("mine", "second", "first"),
        ("mine", "third", "second"),
        ("mine", "by another program", "third"),
        ("other", "copied", None),
    ]


async def test_a_rename_is_told(make_workspace, tmp_path: Path):
    workspace, heard, _ = await with_preset(make_workspace, tmp_path)
    await workspace.presets.rename("ours")
    assert heard.of(PresetRenamed) == [PresetRenamed("ours", "mine")]


async def test_plugins_hear_events_one_after_the_other(make_workspace, tmp_path, monkeypatch):
    put(tmp_path / "presets", "mine", preset_with("first"))
    path = f"{__name__}:hear_slowly"
    plugin = Plugin(name="p", summary="Listens.", parts=(Part("listener", path, "PresetSaved"),))
    monkeypatch.setattr(hooks, "plugins", lambda: (plugin,))
    workspace, heard = await make_workspace()
    await workspace.presets.choose("mine")
    _SLOW.clear()
    for content in ("second", "third"):
        rewrite(workspace, content)
        await workspace.presets.save()
    await workspace.plugin_listeners.finish()
    assert _SLOW == ["begin second", "end second", "begin third", "end third"]
    (failure,) = heard.of(Failed)
    assert str(failure.error) == "third is too much"


_SLOW: list[str] = []


async def hear_slowly(workspace: Workspace, event: PresetSaved) -> None:
    content = event.preset.messages[0].content
    _SLOW.append(f"begin {content}")
    await workspace.active_store.sessions.get("none")
    _SLOW.append(f"end {content}")
    if content == "third":
        raise InputError("third is too much")


async def test_a_request_is_compared_with_a_state_of_its_preset(make_workspace, tmp_path: Path):
    workspace, _, _ = await with_preset(make_workspace, tmp_path)
    earlier = workspace.state.preset
    rewrite(workspace, "second")
    workspace.requests.set_draft("hi")
    workspace.requests.compare_with(DiffBase("state", "the state of 12:00", preset=earlier))
    compared = workspace.requests.comparison()
    assert compared.name == "the state of 12:00"
    assert b"first" in compared.payload.body
    assert b"hi" in compared.payload.body
