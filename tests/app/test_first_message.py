"""The first message of a first start, on the real screen."""

from __future__ import annotations

from pathlib import Path

from tests.support.screen import open_screen
from tests.support.server import Provider, chat_text


async def test_a_reply_is_on_the_screen_and_its_request_at_the_provider(tmp_path: Path):
    with Provider(chat_text("Good ", "morning.")) as provider:
        async with open_screen(tmp_path, config=provider.config()) as screen:
            await screen.type("hello")
            await screen.press("enter")
            await screen.sees("Good morning.")
    [body] = provider.bodies
    assert body["messages"][-1] == {"role": "user", "content": "hello"}
