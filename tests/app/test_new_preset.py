"""The usual preset, made in the app from nothing and saved."""

from __future__ import annotations

import json
from pathlib import Path

from textual.pilot import Pilot

from tests.support.app import asked, make_app, opened, settle
from tests.support.preset_app import body, followed, press
from tui_chat.ui.presets.pane import PresetPane


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
