"""Imported chats of SillyTavern get the role of their character and the profile of their user."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.plugins.sillytavern.test_characters import CARD
from tests.support.exports import lines, tavern, tavern_header
from tests.support.reading import import_into
from tests.support.workspace import put
from tui_chat.models.role import Role
from tui_chat.workspace.workspace import Workspace


def write_chat(path: Path, integrity: str = "one", **note: Any) -> Path:
    header = tavern_header(integrity=integrity, **note)
    path.write_bytes(lines(header, tavern("Yes?"), tavern("Who are you, {{char}}?", user=True)))
    return path


def write_card(folder: Path) -> Path:
    path = folder / "ada.json"
    path.write_text(json.dumps(CARD))
    return path


async def opened(workspace: Workspace, *files: Path, **options: Any) -> Workspace:
    """Import files, and open the last session."""
    reports = await import_into(workspace, files, **options)
    assert [report.faults for report in reports] == [[]] * len(files)
    await workspace.sessions.open(reports[-1].session_ids[-1])
    return workspace


def names(workspace: Workspace) -> tuple[str, str]:
    inputs = workspace.requests.inputs("")
    return inputs.char_name, inputs.user_name


@pytest.mark.parametrize("order", ["card first", "chat first", "card before"])
async def test_the_role_is_found_by_its_name(make_workspace, tmp_path, order: str):
    workspace, _ = await make_workspace()
    files = [write_card(tmp_path), write_chat(tmp_path / "chat.jsonl")]
    put(tmp_path / "profiles", "me", {"name": "kim", "content": "Kim sails."})
    if order == "card before":
        await import_into(workspace, [files.pop(0)])
    if order == "chat first":  # in another import; its card comes too late for this chat
        await import_into(workspace, [files[1]])
        assert names(await opened(workspace, files[1])) == ("Ada", "kim")
        assert workspace.state.role is None
        return
    await opened(workspace, *files)
    role, profile = workspace.state.role, workspace.state.profile
    assert role is not None
    assert role.character is not None
    assert (role.name, workspace.state.profile_name) == ("Ada", "me")
    assert profile is not None
    assert profile.content == "Kim sails."
    assert names(workspace) == ("Ada", "kim")
    assert workspace.state.settings.char_name is None


async def test_the_names_hold_without_role_and_profile(make_workspace, tmp_path):
    workspace, _ = await make_workspace()
    note = {"note_prompt": "Rain on {{user}}.", "note_depth": 0, "note_role": 1}
    await opened(workspace, write_chat(tmp_path / "chat.jsonl", **note))
    assert workspace.state.role is None
    assert names(workspace) == ("Ada", "Kim")
    turns = workspace.requests.compose("").envelope.turns
    assert (turns[-1].role, turns[-1].text.plain) == ("user", "Rain on Kim.")


async def test_disabled_roles_are_not_taken_and_the_newest_of_a_name_is(make_workspace, tmp_path):
    workspace, _ = await make_workspace()
    old, new = Role("old", "Ada", "Old."), Role("new", "ADA", "New.")
    for role in (old, new, replace(new, role_id="off", status="disabled")):
        await workspace.store.roles.save(role)
    await opened(workspace, write_chat(tmp_path / "chat.jsonl"))
    assert workspace.state.role == new
