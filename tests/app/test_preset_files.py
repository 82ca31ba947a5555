"""Files of presets in the app, and new ones."""

from __future__ import annotations

import json
import shlex
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.support.app import asked, make_app, opened, settle, until
from tests.support.preset_app import (
    SIZE,
    body,
    dialog_text,
    editing,
    followed,
    ids,
    ids_in,
    message,
    preset_of,
    press,
    said_yes,
)
from tui_chat.ui.app import TuiChat
from tui_chat.ui.dialogs.base import Confirm
from tui_chat.ui.notifications import Notice
from tui_chat.ui.presets.pane import PresetPane

EDITOR = """
import sys
before, after, path = sys.argv[1:]
text = open(path, encoding="utf-8").read()
if before not in text:
    sys.exit(3)
open(path, "w", encoding="utf-8").write(text.replace(before, after))
"""


async def test_external_changes_are_loaded_and_a_conflict_loses_nothing(tmp_path: Path) -> None:
    async with editing(tmp_path) as (pilot, pane):
        file = tmp_path / "presets" / "mine.json"
        app = pilot.app
        assert isinstance(app, TuiChat)

        async def written(before: str, after: str) -> None:
            file.write_text(file.read_text().replace(before, after))
            app.presets.check_file()
            await settle(pilot)

        await written("It rains.", "The sun shines.")
        assert message(pane, "lore").content == "The sun shines."
        assert "The sun shines." in body(pane)
        assert preset_of(pane).messages[pane.index].id == "lore"

        # Both changed it: what is not saved stays, whatever is answered.
        await press(pilot, "home", "d")
        await written("The sun shines.", "It snows all day.")
        await said_yes(pilot, "no")
        assert ids(pane)[0] == "world"
        assert message(pane, "lore").content == "The sun shines."
        assert "It snows all day." in file.read_text()
        await written("It snows all day.", "It hails.")
        await said_yes(pilot)
        assert ids(pane)[0] == "rule"
        assert message(pane, "lore").content == "It hails."
        pane.focus()
        await press(pilot, "u")
        assert ids(pane)[0] == "world"

        # A save asks as well, where nobody has looked at the file since.
        file.write_text(file.read_text().replace("It hails.", "There is fog over the sea."))
        await press(pilot, "ctrl+s")
        await said_yes(pilot, "no")
        assert "There is fog over the sea." in file.read_text()
        await press(pilot, "ctrl+s")
        await settle(pilot)
        assert ids_in(file)[0] == "world"


async def test_a_broken_file_is_reported_and_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "presets").mkdir()
    file = tmp_path / "presets" / "plain.json"
    file.write_text('{"presetMessages": [\n 1]}')
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        app = await opened(pilot)
        await press(pilot, "f3", "d", "Y", "enter", "ctrl+s")
        assert app.workspace is not None
        assert app.workspace.state.preset_edits is None
        assert file.read_text() == '{"presetMessages": [\n 1]}'


async def test_the_users_own_editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "editor.py"
    script.write_text(EDITOR)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setattr(TuiChat, "suspend", lambda _: nullcontext())

    async def edits(pilot: Pilot[None], pane: PresetPane, key: str, before: str, after: str):
        command = [sys.executable, str(script), before, after]
        monkeypatch.setenv("EDITOR", shlex.join(command))
        past = len(pane.edits.past) if pane.edits else 0
        await pilot.press(key)
        await until(
            pilot,
            lambda: (
                isinstance(pilot.app.screen, Confirm)
                or len(pane.edits.past if pane.edits else ()) > past
                or bool(notices(pilot))
            ),
        )
        await settle(pilot)

    async with editing(tmp_path) as (pilot, pane):
        await press(pilot, "enter")
        await edits(pilot, pane, "ctrl+g", "brief", "brisk")
        assert message(pane, "rule").content == "Be brisk."
        assert "Be brisk." in body(pane)
        await press(pilot, "escape")
        await edits(pilot, pane, "ctrl+g", "It rains.", "It pours.")
        assert message(pane, "lore").content == "It pours."
        await press(pilot, "u", "u")
        assert message(pane, "rule").content == "Be brief."

        # What cannot be read is told, with its place, and can be dropped.
        await edits(pilot, pane, "ctrl+g", "presetMessages", 'presetMessages" "')
        assert "mine.json: line 4, column 20" in dialog_text(pilot)
        await said_yes(pilot, "yes")
        assert message(pane, "lore").content == "It rains."

        # An editor that fails changes nothing, and says so.
        await edits(pilot, pane, "ctrl+g", "not there", "?")
        assert "ended with 3" in notices(pilot)
        assert message(pane, "rule").content == "Be brief."
        assert pane.edits is not None
        assert not pane.edits.is_changed


def told_in(pilot: Pilot[None]) -> tuple[Notice, ...]:
    assert isinstance(pilot.app, TuiChat)
    return pilot.app.notifications.shown


def notices(pilot: Pilot[None]) -> str:
    return "\n".join(notice.message for notice in told_in(pilot))


# --- The usual preset, made in the app from nothing and saved -----------------------------


async def choose(pilot: Pilot[None], *keys: str) -> None:
    """Press the key that opens a dialog, and those that choose in it."""
    await press(pilot, keys[0])
    await asked(pilot)
    await press(pilot, *keys[1:])


async def test_the_usual_preset_is_made_from_nothing(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        await press(pilot, "f3")
        await choose(pilot, "o", *"new", "enter")
        await asked(pilot)
        await press(pilot, *"tutor")
        await press(pilot, "enter")
        await choose(pilot, "a", "enter")  # the system prompt is offered first
        await press(pilot, *"Teach.")
        await press(pilot, "escape")
        await choose(pilot, "a", "e", "x", "enter")
        await press(pilot, *"2+2?")
        await press(pilot, "ctrl+down")
        await press(pilot, *"Count.")
        await press(pilot, "escape")
        await choose(pilot, "a", "r", "e", "m", "enter")
        await press(pilot, *"Briefly.")
        await press(pilot, "escape", "ctrl+s")
        pane = app.query_one(PresetPane)
        await followed(pilot, pane)
        assert not pane.edits.is_changed  # type: ignore[union-attr]
        await press(pilot, "escape", *"What is 3+4?")
        await settle(pilot)
        assert [(m["role"], m["content"]) for m in json.loads(body(pane))["messages"][1:]] == [
            ("system", "Teach."),
            ("user", "2+2?"),
            ("assistant", "Count."),
            ("system", "Briefly."),
            ("user", "What is 3+4?"),
        ]
    file = json.loads((tmp_path / "presets" / "tutor.json").read_text())
    assert file["systemPlacement"] == "in_place"
    messages = file["presetMessages"]
    assert [(m["id"], m.get("content", ""), m.get("insertionPoint")) for m in messages] == [
        ("system", "Teach.", None),
        ("example-question", "2+2?", None),
        ("example-answer", "Count.", None),
        ("history", "", None),
        ("reminder", "Briefly.", -1),
    ]
