"""Pictures of the editor with a preset of SillyTavern."""

from __future__ import annotations

from pathlib import Path

from tests.support.pictures import Album
from tests.support.preset_app import app_with, at_rest, edited, press
from tui_chat.library.presets import dump_preset
from tui_chat.plugins.sillytavern.presets import import_preset

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


async def test_a_preset_and_its_policies(album: Album, tmp_path: Path):
    app = app_with(tmp_path)
    preset = import_preset(TAVERN, "tale").preset
    (tmp_path / "presets" / "tale.json").write_text(dump_preset(preset))
    async with album.of(app) as pilot:
        pane = await edited(pilot, "tale")
        await press(pilot, *(["down"] * 4))
        await at_rest(pilot, pane)
        await album.take(pilot, "preset")
        await press(pilot, "s")
        await at_rest(pilot, pane)
        await album.take(pilot, "policies")
