"""Files of presets in the app, with import and export."""

from __future__ import annotations

import json
from pathlib import Path

from textual.containers import Vertical
from textual.pilot import Pilot
from textual.widgets import Input

from tests.support.app import until
from tests.support.preset_app import body, dialog_text, editing, ids, ids_in, press, said_yes
from tui_chat.ui.dialogs.base import TextPrompt
from tui_chat.ui.dialogs.choices import ChoiceDialog
from tui_chat.ui.presets.dialogs import TextDialog


async def more(pilot: Pilot[None], words: str) -> None:
    """Choose from what can be done with preset files."""
    await pilot.press("o")
    await until(pilot, lambda: isinstance(pilot.app.screen, ChoiceDialog))
    await press(pilot, *words, "enter")


async def test_presets_are_copied_renamed_and_deleted(tmp_path: Path) -> None:
    async with editing(tmp_path) as (pilot, pane):
        await press(pilot, "d")
        await more(pilot, "save as")
        await until(pilot, lambda: isinstance(pilot.app.screen, TextPrompt))
        await press(pilot, "enter")
        assert (tmp_path / "presets" / "mine copy.json").is_file()
        assert ids(pane)[0] == "world"
        assert ids_in(tmp_path / "presets" / "mine.json")[0] == "rule"

        await press(pilot, "Y")
        await more(pilot, "rename")
        await until(pilot, lambda: isinstance(pilot.app.screen, TextPrompt))
        await press(pilot, *(["backspace"] * 9), *"other", "enter")
        assert not (tmp_path / "presets" / "mine copy.json").exists()
        assert pilot.app.workspace.state.preset_name == "other"  # type: ignore[attr-defined]
        assert "world-2" in ids(pane), "what was not saved goes along"
        assert "world-2" not in ids_in(tmp_path / "presets" / "other.json")

        await more(pilot, "delete")
        await said_yes(pilot)
        assert not (tmp_path / "presets" / "other.json").exists()
        assert pilot.app.workspace.state.preset_name == "plain"  # type: ignore[attr-defined]

        theirs = tmp_path / "calm.json"
        prompts = [
            {"identifier": name, "content": "Be calm."} for name in ("main", *map(str, range(30)))
        ]
        rows = [{"identifier": each["identifier"], "enabled": True} for each in prompts]
        order = [{"character_id": 100001, "order": rows}]
        theirs.write_text(json.dumps({"prompts": prompts, "prompt_order": order}))
        await more(pilot, "import")
        await until(pilot, lambda: isinstance(pilot.app.screen, TextPrompt))
        pilot.app.screen.query_one(Input).value = str(theirs)
        await press(pilot, "enter")
        await until(pilot, lambda: "Be calm." in body(pane))
        assert pilot.app.workspace.state.preset_name == "calm"  # type: ignore[attr-defined]
        assert isinstance(pilot.app.screen, TextDialog)
        told = dialog_text(pilot)
        assert "Import of “calm”" in str(pilot.app.screen.query_one(Vertical).border_title)
        assert "does not send custom prompts with “system_prompt”: “0”" in told
        assert "and 25 more." in told, "not one line for each of them"
        await press(pilot, "escape")
        assert (tmp_path / "presets" / "calm.json").is_file()
        await more(pilot, "report")
        assert isinstance(pilot.app.screen, TextDialog), "it can be seen again"
        assert dialog_text(pilot) == told
        await press(pilot, "escape")

        await press(pilot, "space")
        await more(pilot, "export")
        await until(pilot, lambda: isinstance(pilot.app.screen, TextPrompt))
        out = tmp_path / "out.json"
        pilot.app.screen.query_one(Input).value = str(out)
        await press(pilot, "enter")
        rows[0]["enabled"] = False
        assert json.loads(out.read_text()) == json.loads(theirs.read_text()) | {
            "prompt_order": [{"character_id": 100001, "order": rows}]
        }
