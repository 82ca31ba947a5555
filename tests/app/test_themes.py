"""Themes by their short names, on the real screen."""

from __future__ import annotations

from pathlib import Path

from tests.support.screen import open_screen

OFFLINE = 'model = "mirror"\n'


async def test_our_themes_go_by_their_short_names(tmp_path: Path):
    """In config.toml, and in the command that the next start remembers."""
    async with open_screen(tmp_path, config=OFFLINE + 'theme = "light"\n') as screen:
        assert screen.app.theme == "tui-chat-light"
        await screen.type("/theme dark")
        await screen.press("escape", "enter")
        await screen.until(lambda: screen.app.theme == "tui-chat-dark", "not dark")
    async with open_screen(tmp_path) as screen:
        assert screen.app.theme == "tui-chat-dark"


async def test_an_unknown_theme_names_those_that_there_are(tmp_path: Path):
    async with open_screen(tmp_path, config=OFFLINE + 'theme = "nope"\n') as screen:
        await screen.sees("There is no theme “nope”.", "tui-chat-light", "tui-chat-mono")
        assert screen.app.theme == "tui-chat-dark"
