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


async def test_an_edited_theme_is_applied_and_a_broken_one_reported(tmp_path: Path):
    folder = tmp_path / "themes"
    folder.mkdir()
    mine = folder / "mine.toml"
    mine.write_text('name = "mine"\n[colors]\nprimary = "#123456"\n')
    async with make_app(tmp_path, theme="mine").run_test(size=(80, 24)) as pilot:
        app = await opened(pilot)
        mine.write_text('name = "mine"\n[colors]\nprimary = "#654321"\nbackground = "#fffff0"\n')
        app.theme_files.reload_if_changed()
        await until(pilot, lambda: app.screen.styles.background.hex6 == "#FFFFF0")
        mine.write_text('name = "mine"\n[colors]\nprimary = "#6543"\n')
        app.theme_files.reload_if_changed()
        await until(pilot, lambda: bool(app.notifications.shown))
        assert app.screen.styles.background.hex6 == "#FFFFF0"


async def test_a_theme_nested_too_deeply_is_reported_while_the_app_runs(tmp_path: Path):
    folder = tmp_path / "themes"
    folder.mkdir()
    async with make_app(tmp_path).run_test(size=(80, 24)) as pilot:
        app = await opened(pilot)
        (folder / "deep.toml").write_text("x = " + "[" * 100_000)
        app.theme_files.reload_if_changed()
        await until(pilot, lambda: bool(app.notifications.shown))
        told = "".join(notice.message for notice in app.notifications.shown)
        assert "deep.toml is nested too deeply" in told
