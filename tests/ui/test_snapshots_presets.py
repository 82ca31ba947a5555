"""Pictures of the preset editor."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.support.preset_app import app_with, at_rest, edited, press

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
