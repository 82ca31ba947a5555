"""The live request follows what is typed and chosen."""

from __future__ import annotations

from pathlib import Path

from tests.support.screen import open_screen


async def test_it_follows_after_a_setting_was_changed_and_saved_at_once(tmp_path: Path):
    """The dialog is closed by the key that follows the last digit, before it could be drawn."""
    async with open_screen(tmp_path) as screen:
        await screen.press("f4")
        await screen.sees('"messages"')
        for digit in "345":
            await screen.press("f5")
            await screen.sees("Session settings")
            await screen.press("ctrl+u", "0", "full_stop")
            screen.press_at_once((digit, digit), ("enter", "\r"))
            await screen.loses("Session settings")
            await screen.sees(f"0.{digit}")
        await screen.press("escape", "escape")
        await screen.type("the ferry leaves")
        await screen.sees('"the ferry leaves"')
