"""Pictures of the editor with a preset of SillyTavern."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.support.preset_app import app_with, at_rest, edited, press
from tests.ui.test_snapshots_presets import MESSAGES
from tui_chat.library.presets import dump_preset
from tui_chat.plugins.sillytavern.presets import import_preset
from tui_chat.ui.app import TuiChat

TAVERN: dict[str, object] = {
    "prompts": [
        {"identifier": "main", "name": "Main", "role": "system", "content": "Tell a sea story."},
        {"identifier": "h1", "name": "━━━ STYLE ━━━", "content": "", "system_prompt": False},
        {"identifier": "dry", "name": "Dry", "content": "Dry words.", "system_prompt": False},
        {"identifier": "rich", "name": "Rich", "content": "Rich words.", "system_prompt": False},
        {"identifier": "h2", "name": "━━━ LENGTH ━━━", "content": "", "system_prompt": False},
        {"identifier": "short", "name": "Short", "content": "Be short.", "system_prompt": False},
        {"identifier": "tone", "name": "Tone", "role": "system", "content": "Quietly.",
         "injection_position": 1, "injection_depth": 1},
        {"identifier": "mood", "name": "Mood", "role": "system", "content": "Gloomily.",
         "injection_position": 1, "injection_depth": 1},
    ],
    "prompt_order": [{"character_id": 100001, "order": [
        {"identifier": each, "enabled": each not in ("rich", "h1", "h2")}
        for each in ("main", "worldInfoBefore", "charDescription", "scenario", "h1", "dry", "rich",
                     "h2", "short", "dialogueExamples", "chatHistory", "tone", "mood",
                     "charPersonality", "worldInfoAfter", "personaDescription")
    ]}],
    "new_chat_prompt": "[A new story]",
    "temperature": 0.9,
    "openai_max_context": 8000,
}  # fmt: skip


async def from_tavern(pilot: Pilot[None]) -> None:
    pane = await edited(pilot, "tale")
    await press(pilot, *(["down"] * 4))
    await at_rest(pilot, pane)


def with_tavern(folder: Path) -> TuiChat:
    app = app_with(folder, MESSAGES)
    preset = import_preset(TAVERN, "tale").preset
    (folder / "presets" / "tale.json").write_text(dump_preset(preset))
    return app


@pytest.mark.parametrize("size", [(160, 45), (80, 24)])
def test_a_preset_of_sillytavern(size: tuple[int, int], tmp_path: Path, snap_compare):
    assert snap_compare(with_tavern(tmp_path), terminal_size=size, run_before=from_tavern)


async def policies_shown(pilot: Pilot[None]) -> None:
    pane = await edited(pilot, "tale")
    await press(pilot, "p")
    await at_rest(pilot, pane)


def test_the_policies_of_a_preset_of_sillytavern(tmp_path: Path, snap_compare):
    assert snap_compare(with_tavern(tmp_path), terminal_size=(160, 45), run_before=policies_shown)
