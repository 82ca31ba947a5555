"""Themes while the program runs: chosen, kept, edited."""

from __future__ import annotations

from pathlib import Path

from tests.support.app import make_app, opened, settle, until
from tui_chat.ui.chat.composer import Composer


async def test_a_theme_is_previewed_chosen_and_remembered(tmp_path: Path):
    async with make_app(tmp_path).run_test(size=(80, 24)) as pilot:
        app = await opened(pilot)
        app.query_one(Composer).text = "/theme"
        await pilot.press("enter")
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await pilot.press(*"-mono")
        await until(pilot, lambda: app.theme == "tui-chat-mono")
        await pilot.press("escape")
        await until(pilot, lambda: app.theme == "tui-chat-dark")
        app.query_one(Composer).text = "/theme tui-chat-contrast"
        await settle(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: app.theme == "tui-chat-contrast")
    assert make_app(tmp_path).theme == "tui-chat-contrast"
    assert make_app(tmp_path, theme="tui-chat-light").theme == "tui-chat-light"
