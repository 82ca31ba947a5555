"""Pictures of the preset editor."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.scroll_view import ScrollView

from tests.ui.app_under_test import settle
from tests.ui.areas.presets.preset_app import app_with, edited, followed, press
from tui_chat.library.presets import dump_preset
from tui_chat.plugins.sillytavern.presets import import_preset
from tui_chat.ui.app import TuiChat
from tui_chat.ui.areas.inspector.inspector import Inspector
from tui_chat.ui.areas.presets.pane import PresetPane

MESSAGES: list[dict[str, object]] = [
    {"id": "rules", "name": "Rules", "role": "system", "content": "Write plainly, {{user}}."},
    {"id": "who", "type": "user_profile"},
    {"id": "world", "name": "World", "type": "placeholder"},
    {"id": "sea", "name": "The sea", "role": "user", "content": "It is cold.", "order": 2,
     "anchorTarget": "world"},
    {"id": "moon", "name": "The moon", "role": "user", "content": "There are two.",
     "anchorTarget": "world", "enabled": False},
    {"id": "lost", "name": "Lost", "role": "user", "content": "Where?", "anchorTarget": "nowhere"},
    {"id": "history", "type": "chat_history"},
    {"id": "note", "name": "Author's note", "role": "user", "content": "[Quiet.]",
     "insertionPoint": -4},
    {"id": "start", "name": "Prefill", "role": "assistant", "content": "Then", "anchorPoint":
     "after"},
]  # fmt: skip


async def at_rest(pilot: Pilot[None], pane: PresetPane) -> None:
    """Wait for the request, and show its beginning; how far it scrolled depends on haste."""
    await followed(pilot, pane)
    for view in pilot.app.query_one(Inspector).query(ScrollView):
        view.scroll_to(y=0, animate=False, force=True)
    await settle(pilot)


async def listed(pilot: Pilot[None]) -> None:
    pane = await edited(pilot)
    await press(pilot, "down", "space")
    await press(pilot, "end")
    await at_rest(pilot, pane)


async def formed(pilot: Pilot[None]) -> None:
    pane = await edited(pilot)
    pane.rows.light(7)
    await press(pilot, "enter", *"{{la")
    await at_rest(pilot, pane)


@pytest.mark.parametrize(
    ("theme", "size"),
    [("tui-chat-dark", (160, 45)), ("tui-chat-light", (120, 35)), ("tui-chat-dark", (80, 24))],
)
def test_the_list(theme: str, size: tuple[int, int], tmp_path: Path, snap_compare):
    app = app_with(tmp_path, MESSAGES, theme=theme)
    assert snap_compare(app, terminal_size=size, run_before=listed)


@pytest.mark.parametrize(
    ("theme", "size"), [("tui-chat-light", (160, 45)), ("tui-chat-dark", (80, 24))]
)
def test_the_form(theme: str, size: tuple[int, int], tmp_path: Path, snap_compare):
    app = app_with(tmp_path, MESSAGES, theme=theme)
    assert snap_compare(app, terminal_size=size, run_before=formed)


async def set_up(pilot: Pilot[None]) -> None:
    pane = await edited(pilot)
    await press(pilot, "p", "tab", "tab", *"tone", "tab", *"dry")
    await at_rest(pilot, pane)


def test_the_presets_own_form(tmp_path: Path, snap_compare):
    app = app_with(tmp_path, MESSAGES, theme="tui-chat-dark")
    assert snap_compare(app, terminal_size=(120, 35), run_before=set_up)


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
