"""What the screen says, it says once."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.screen import Screen, open_screen
from tests.support.server import Answer, Provider, chat_text, events


async def send(screen: Screen, words: str, messages: int) -> None:
    await screen.type(words)
    await screen.press("enter")
    await screen.has_messages(messages)
    await screen.loses("Esc stop")


async def test_messages_that_do_not_fit_are_counted_once(tmp_path: Path):
    with Provider(chat_text("word " * 150)) as provider:
        config = provider.config() + "\n[models.m]\ncontext_limit = 600\n"
        async with open_screen(tmp_path, config=config) as screen:
            for number in range(1, 5):
                await send(screen, f"message {number}", 2 * number)
            await screen.press("f4", "right")
            await screen.sees("left out to fit")
            assert len(screen.lines_with("left out to fit")) == 1
            assert "of the history" not in screen.text


async def test_usage_lists_this_month_once(tmp_path: Path):
    usage = events({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}})
    with Provider(chat_text("Fine.").removesuffix("data: [DONE]\n\n") + usage) as provider:
        async with open_screen(tmp_path, config=provider.config()) as screen:
            await send(screen, "hello", 2)
            await screen.type("/usage")
            await screen.press("enter")
            await screen.sees("Usage and cost", "This month")
            months = re.findall(r"\b20\d\d-\d\d\b(?!-)", screen.text)
            assert not months, screen.text


async def test_a_reply_has_one_clock(tmp_path: Path):
    words = [chat_text(f"w{number} ", finish=None) for number in range(60)]
    clocks: set[int] = set()
    with Provider(Answer([*words, chat_text("end")], pause=0.05)) as provider:
        async with open_screen(tmp_path, config=provider.config()) as screen:
            await screen.type("hello")
            await screen.press("enter")
            await screen.sees("● ", "Esc stop")

            def has_ended() -> bool:
                conversation = "\n".join(line.partition("▏")[0] for line in screen.lines)
                clocks.add(len(re.findall(r"\d s\b|tokens/s", conversation)))
                return "Esc stop" not in screen.text

            await screen.until(has_ended, "The reply did not end")
            assert re.search(r"[\d.]+ s · \d\d:\d\d", screen.text)
    assert clocks <= {0, 1}
