"""Words that people look for find the command, in the palette and behind a slash."""

from __future__ import annotations

from pathlib import Path

from tests.support.screen import open_screen

LIMITS = (
    *("limit", "token limit", "context limit", "context window", "context size"),
    *("budget", "token budget", "max tokens", "max output tokens", "num_ctx"),
)


async def test_words_for_limits_find_the_settings_of_the_session(tmp_path: Path):
    missed: list[str] = []
    async with open_screen(tmp_path, size=(120, 35)) as screen:
        for words in LIMITS:
            await screen.press("ctrl+p")
            await screen.sees("Type what you want to do")
            await screen.type(words)
            await screen.rests()
            if "Session settings" not in screen.text:
                missed.append(words)
            await screen.press("escape")
            await screen.loses("Esc close")
        for words in ("limit", "budget", "max_tokens"):
            await screen.type(f"/{words}")
            await screen.sees(f"/{words}")
            await screen.rests()
            if "Session settings" not in screen.text:
                missed.append(f"/{words}")
            await screen.press("escape", "ctrl+u")
    assert not missed
