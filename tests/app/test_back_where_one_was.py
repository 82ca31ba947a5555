"""What was looked at or edited for a moment leads back to where one was."""

from __future__ import annotations

from pathlib import Path

from tests.support.screen import Screen, open_screen
from tests.support.server import Provider, chat_text


async def begin(screen: Screen, words: str) -> None:
    await screen.type(words)
    await screen.press("enter")
    await screen.has_messages(2)
    await screen.loses("Esc stops")


async def test_a_previewed_protocol_ends_when_the_inspector_is_closed(tmp_path: Path):
    async with open_screen(tmp_path, size=(120, 35)) as screen:
        await screen.press("f4", "3")
        await screen.sees("Enter sends OpenAI Chat")
        await screen.press("f4")
        await screen.loses("Payload")
        await screen.press("f4")
        await screen.sees("Payload", "1 OpenAI")
        await screen.loses("Enter sends OpenAI Chat")


async def test_a_previewed_protocol_ends_with_its_session(tmp_path: Path):
    with Provider(chat_text("A reply.")) as provider:
        async with open_screen(tmp_path, config=provider.config()) as screen:
            await begin(screen, "hello")
            await screen.press("f4", "3")
            await screen.sees("Enter sends OpenAI Chat")
            await screen.press("ctrl+n")
            await screen.sees("New session")
            await screen.loses("Enter sends OpenAI Chat", seconds=5)
