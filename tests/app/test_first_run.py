"""The first screen: what it says, and what it offers."""

from __future__ import annotations

from pathlib import Path

from tests.support.app import make_app, opened, settle, until
from tests.support.screen import Screen
from tui_chat.ui.chat.welcome import Welcome, welcome_rows

KEYS = {"ANTHROPIC_API_KEY": "k", "GEMINI_API_KEY": "k"}


def words(shown: Welcome, width: int = 64) -> str:
    return "\n".join(line.text for line in welcome_rows(shown, width))


async def test_each_offer_does_what_it_says(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        transcript = app.chat.transcript

        async def click(words: str) -> None:
            rows = [transcript.render_line(y).text for y in range(transcript.size.height)]
            row = next(y for y, text in enumerate(rows) if words in text)
            await pilot.click(transcript, offset=(rows[row].index(words) + 1, row))
            await settle(pilot)

        await click("switch model")
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await pilot.press("escape")
        await click("/key")
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await pilot.press("escape")
        await click("F4 ")
        await until(pilot, lambda: app.panes.inspector.has_focus_within)


async def test_a_key_that_was_found(tmp_path: Path) -> None:
    async with make_app(tmp_path, environ=KEYS).run_test(size=(160, 45)) as pilot:
        await opened(pilot)
        await Screen(pilot).sees("/model anthropic", "/model google", "its key is set")
