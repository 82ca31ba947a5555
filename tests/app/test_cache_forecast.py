"""The forecast of the prompt cache, on the real screen."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.screen import Screen, open_screen
from tests.support.server import Provider, chat_text, events

USAGE = {"prompt_tokens": 60, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 8}}


async def say(screen: Screen, words: str, answer: str) -> None:
    await screen.type(words)
    await screen.press("enter")
    await screen.sees(answer)
    await screen.loses("Esc stop")


async def test_the_next_request_says_what_the_cache_can_serve(tmp_path: Path):
    """Also after a restart."""
    counted = chat_text("Aye.").replace("data: [DONE]\n\n", "") + events(
        {"choices": [], "usage": USAGE}
    )
    with Provider(counted, counted) as provider:
        async with open_screen(tmp_path, config=provider.config(), size=(200, 50)) as screen:
            await say(screen, "First", "Aye.")
            await screen.sees("Cache: ", " tokens")
            await say(screen, "Second", "Second")
        async with open_screen(tmp_path, size=(200, 50)) as screen:
            await screen.type("Third")
            await screen.sees("Cache: ", " tokens")
        assert json.dumps(provider.bodies[1]).count("First") == 1


async def test_a_practice_model_has_no_forecast(tmp_path: Path):
    async with open_screen(tmp_path, config='model = "mirror"\n', size=(200, 50)) as screen:
        await screen.sees("5 Ollama")
        await say(screen, "First", "mirror")
        await screen.type("Second")
        await screen.sees('"content": "Second"')
        await screen.rests()
        assert "Cache:" not in screen.text
