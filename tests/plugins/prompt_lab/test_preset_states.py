"""Saved states of presets: kept once, listed, restored."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.workspace import edits_of, preset_with, put, rewrite, words
from tui_chat.models.preset import Preset, PresetMessage
from tui_chat.plugins.prompt_lab.preset_states import PresetStates, changes
from tui_chat.workspace.workspace import Workspace


async def listed(workspace: Workspace, name: str = "mine") -> list[str]:
    """Return the content of the first message of each state of a preset, oldest first."""
    await workspace.plugin_listeners.finish()
    states = await PresetStates.open(workspace.store)
    found = [await states.read(state) for state in await states.of_preset(name)]
    return [preset.messages[0].content for preset in reversed(found)]


async def save(workspace: Workspace, *contents: str) -> None:
    for content in contents:
        rewrite(workspace, content)
        assert await workspace.presets.save()


@pytest.fixture
async def workspace(make_workspace, tmp_path: Path) -> Workspace:
    put(tmp_path / "presets", "mine", preset_with("first") | {"x-mine": [1]})
    made, _ = await make_workspace()
    await made.presets.choose("mine")
    return made


async def test_every_saved_state_is_kept_with_the_first_one(workspace: Workspace):
    await save(workspace, "second", "third", "second")
    assert await listed(workspace) == ["first", "second", "third", "second"]
    row = await workspace.store.database.row("SELECT count(*) FROM revisions")
    assert row == (3,)  # one copy of each


async def test_saving_without_a_change_keeps_no_further_state(workspace: Workspace):
    await save(workspace, "second")
    assert await workspace.presets.save()
    assert await listed(workspace) == ["first", "second"]
    states = await PresetStates.open(workspace.store)
    last = await states.read((await states.of_preset("mine"))[0])
    assert last == workspace.state.preset
    assert last.extras == {"x-mine": [1]}, "what the program does not read is kept"


async def test_states_follow_a_rename(workspace: Workspace):
    await save(workspace, "second")
    await workspace.presets.rename("ours")
    assert await listed(workspace, "ours") == ["first", "second"]
    assert await listed(workspace) == []


async def test_restoring_is_an_edit_that_can_be_undone(workspace: Workspace):
    await save(workspace, "second")
    await workspace.plugin_listeners.finish()
    states = await PresetStates.open(workspace.store)
    first = await states.read((await states.of_preset("mine"))[-1])
    workspace.presets.edit("mine", edits_of(workspace).record(first, "restore"))
    assert "first" in words(workspace)
    assert workspace.state.unsaved_presets == ("mine",)
    workspace.presets.edit("mine", edits_of(workspace).undo())
    assert "second" in words(workspace)


def make_preset(**contents: str) -> Preset:
    messages = (PresetMessage(name, content=text) for name, text in contents.items())
    return Preset("mine", tuple(messages))


def test_changes_are_told_in_a_few_words():
    one = make_preset(a="A", b="B", c="C")
    assert changes(None, one) == "the first state kept"
    assert changes(one, make_preset(a="A", b="B", c="C")) == "the same"
    assert changes(one, make_preset(a="A", b="2", d="D")) == "1 added, 1 removed, 1 changed"
    assert changes(one, make_preset(b="B", a="A", c="C")) == "moved"
