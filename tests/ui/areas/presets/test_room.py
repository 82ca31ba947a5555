"""Where the preset editor is: in the chat's place while it is edited, the request beside it."""

from __future__ import annotations

from pathlib import Path

from tests.support.preset_app import app_with, edited, press
from tui_chat.ui.app import TuiChat
from tui_chat.ui.areas.chat.composer import Composer


async def test_the_editor_has_the_chats_place_until_the_chat_is_used(tmp_path: Path) -> None:
    app = app_with(tmp_path)
    async with app.run_test(size=(160, 45)) as pilot:
        pane = await edited(pilot)
        chat, inspector = app.panes.chat, app.panes.inspector
        place, width = chat.region, inspector.region.width
        assert pane.region.x == place.x
        assert app.panes.presets.region.height == place.height == inspector.region.height
        assert pane.region.width == place.width
        assert inspector.region.x == pane.region.right
        await press(pilot, "f4")
        assert inspector.has_focus_within
        assert pane.region.width == place.width, "the request is read beside it"
        await press(pilot, "f4")
        assert pane.rows.has_focus
        app.panes.action_move_border(-10)
        await press(pilot)
        assert inspector.region.width == width + 10
        await press(pilot, "escape")
        composer = app.query_one(Composer)
        assert composer.has_focus
        assert composer.region.x == place.x
        assert pane.region.x > place.x
        assert pane.region.bottom <= inspector.region.y
        await press(pilot, "f3")
        assert pane.region.x == place.x
        await press(pilot, "f3")
        assert composer.has_focus
        assert not pane.is_on_screen


async def test_beside_one_pane_the_request_is_beside_the_editor(tmp_path: Path) -> None:
    app = app_with(tmp_path)
    async with app.run_test(size=(120, 24)) as pilot:
        pane = await edited(pilot)
        assert pane.region.x == 0
        assert app.panes.inspector.region.right == 120
        assert pane.region.width + app.panes.inspector.region.width == 120
        await pilot.resize_terminal(80, 24)
        await press(pilot)
        assert pane.region.width == 80
        assert pane.rows.has_focus


async def test_on_a_small_screen_one_key_shows_the_request_and_returns(tmp_path: Path) -> None:
    app = app_with(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        pane = await edited(pilot)
        await press(pilot, "down", "enter", "f4")
        assert isinstance(app, TuiChat)
        inspector = app.panes.inspector
        assert inspector.has_focus_within
        keys = app.panes.keys.region
        assert inspector.region.size == (80, 23 - keys.height)
        assert keys.bottom == 23
        await press(pilot, "f4")
        assert pane.form.has_focus_within
        assert pane.region.width == 80
        await press(pilot, "escape", "escape")
        assert app.query_one(Composer).has_focus
        assert not pane.is_on_screen
