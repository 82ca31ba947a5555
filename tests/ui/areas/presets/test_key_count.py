"""How many keys a preset takes: the usual one, made in the app from nothing and saved."""

from __future__ import annotations

import json
from pathlib import Path

from textual.pilot import Pilot

from tests.support.app import asked, make_app, opened, settle
from tests.support.preset_app import body, followed, press
from tui_chat.ui.areas.presets.pane import PresetPane

MOST = 20
"""Keys besides text."""


class CountedKeys:
    """Presses keys, and counts those that are not text."""

    def __init__(self, pilot: Pilot[None]) -> None:
        self.pilot = pilot
        self.count = 0

    async def press(self, *keys: str) -> None:
        self.count += len(keys)
        for key in keys:
            await press(self.pilot, key)

    async def choose(self, *keys: str) -> None:
        """Press the key that opens a dialog, and those that choose in it."""
        await self.press(keys[0])
        await asked(self.pilot)
        await self.press(*keys[1:])

    async def write(self, text: str) -> None:
        await press(self.pilot, *text)


async def test_the_usual_preset_takes_few_keys(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        keys = CountedKeys(pilot)
        await keys.press("f3")
        await keys.choose("n")
        await keys.write("tutor")
        await keys.press("enter")
        await keys.choose("a", "enter")  # the system prompt is offered first
        await keys.write("Teach.")
        await keys.press("escape")
        await keys.choose("a", "e", "x", "enter")
        await keys.write("2+2?")
        await keys.press("ctrl+down")
        await keys.write("Count.")
        await keys.press("escape")
        await keys.choose("a", "r", "e", "m", "enter")
        await keys.write("Briefly.")
        await keys.press("escape", "ctrl+s")
        assert keys.count <= MOST
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
