"""The preset editor by mouse alone."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.app import settle
from tests.support.preset_app import body, editing, ids, line_of, message
from tui_chat.ui.areas.presets.header import PresetToolbar
from tui_chat.ui.areas.presets.rows import PresetRows


async def test_a_click_on_the_box_enables(tmp_path: Path) -> None:
    async with editing(tmp_path) as (pilot, pane):
        y = line_of(pane, "lore")
        await pilot.click(PresetRows, offset=(2, y))
        await settle(pilot)
        assert not message(pane, "lore").enabled
        assert "It rains." not in body(pane)
        await pilot.click(PresetRows, offset=(20, line_of(pane, "rule")))
        await settle(pilot)
        assert message(pane, "rule").enabled
        assert pane.index == 0


def bar_at(word: str) -> int:
    """The column on which a word of the bar begins."""
    return 1 + "+ Add  Edit  Delete  Undo  Redo  Save  Preset  More …".index(word)


async def test_a_drag_can_be_cancelled(tmp_path: Path) -> None:
    async with editing(tmp_path) as (pilot, pane):
        start = line_of(pane, "Note")
        await pilot.mouse_down(PresetRows, offset=(20, start))
        await pilot.hover(PresetRows, offset=(20, 1))
        await settle(pilot)
        assert pane.rows.drop is not None
        await pilot.press("escape")
        await pilot.mouse_up(PresetRows, offset=(20, 1))
        await settle(pilot)
        assert pane.rows.drop is None
        assert pane.edits is not None
        assert not pane.edits.is_changed


async def test_every_button_of_the_bar_works(tmp_path: Path) -> None:
    async with editing(tmp_path) as (pilot, pane):
        await pilot.click(PresetToolbar, offset=(bar_at("Delete"), 0))
        await settle(pilot)
        assert ids(pane)[0] == "world"
        await pilot.click(PresetToolbar, offset=(bar_at("Save"), 0))
        await settle(pilot)
        saved = json.loads((tmp_path / "presets" / "mine.json").read_text())
        assert saved["presetMessages"][0]["id"] == "world"
        await pilot.click(PresetToolbar, offset=(bar_at("Undo"), 0))
        await pilot.click(PresetToolbar, offset=(bar_at("Redo"), 0))
        await pilot.click(PresetToolbar, offset=(bar_at("Edit"), 0))
        await settle(pilot)
        assert pane.has_class("-form")
        assert ids(pane)[0] == "world"


async def test_two_clicks_open_the_form(tmp_path: Path) -> None:
    async with editing(tmp_path) as (pilot, pane):
        await pilot.double_click(PresetRows, offset=(20, line_of(pane, "lore")))
        await settle(pilot)
        assert pane.form.content.has_focus
        assert pane.form.content.text == "It rains."
