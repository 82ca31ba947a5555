"""A reply that arrives: what is followed, and who is left in peace."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.support.conversations import PHONE, store_conversation
from tests.support.screen import Screen, open_screen
from tests.support.server import Answer, Provider, chat_text
from tui_chat.models.message import Message


class Pieces:
    """Pieces of a reply, each of which arrives when the test says so."""

    def __init__(self, *pieces: str) -> None:
        self._pieces = pieces
        self._may = threading.Semaphore(0)

    def __iter__(self) -> Iterator[str]:
        for piece in self._pieces:
            self._may.acquire(timeout=30)
            yield chat_text(piece, finish=None)
        yield chat_text("")

    def let(self, count: int = 1) -> None:
        """Let so many more pieces arrive."""
        self._may.release(count)


@asynccontextmanager
async def arriving(
    folder: Path, *pieces: str, before: int = 20
) -> AsyncGenerator[tuple[Screen, Pieces]]:
    """A conversation of `before` messages, in which a reply arrives in pieces."""
    answer = Pieces(*pieces)
    said = (Message.of("assistant" if n % 2 else "user", f"said {n}") for n in range(before))
    await store_conversation(folder, *said, endpoint="local", model="m")
    with Provider(Answer(answer)) as provider:
        async with open_screen(folder, config=provider.config(), size=PHONE) as screen:
            await screen.sees(f"said {before - 1}")
            await screen.press("ctrl+home")
            await screen.sees("said 0")
            await screen.type("mine")
            await screen.press("enter")
            await screen.sees("mine", "Esc stop")  # what one sends is seen
            yield screen, answer
            answer.let(len(pieces))


def rows(screen: Screen, first: str) -> list[str]:
    """The rows of the conversation from one with some words on."""
    _, y = screen.place(first)
    return [row[2:76].rstrip() for row in screen.lines[y:18]]


async def test_the_end_is_followed_and_stays_when_the_reply_ends(tmp_path: Path):
    fence = ("Here:\n\n``", "`py\nx = ", "1\n", "``", "`")
    lines = [f"line {number}\n\n" for number in range(20)]
    async with arriving(tmp_path, *lines, *fence) as (screen, answer):
        for number in range(20):
            answer.let()
            await screen.sees(f"line {number}")
            assert "mine" in screen.text or number > 3
        answer.let(len(fence))
        await screen.sees("x = 1")
        arrived = rows(screen, "Here:")
        await screen.loses("Esc stop")
        await screen.until(lambda: rows(screen, "Here:") == arrived, f"It was {arrived}")


async def test_a_reader_is_left_in_peace_while_it_grows(tmp_path: Path):
    async with arriving(tmp_path, "word\n\n" * 9, "more\n\n" * 20, "the end") as (screen, answer):
        answer.let()
        await screen.sees("word")
        await screen.press("shift+tab", "pageup", "pageup")
        await screen.sees("said 17")
        before = rows(screen, "said 17")
        answer.let()
        await screen.sees("↓ new text")
        assert rows(screen, "said 17")[:5] == before[:5]
        await screen.click_on("↓ new text")
        await screen.sees("more")
        assert "↓ new text" not in screen.text
        answer.let()
        await screen.sees("the end")


async def test_a_selection_survives_it(tmp_path: Path):
    async with arriving(tmp_path, "word\n\n", "more\n\n" * 40, "end") as (screen, answer):
        answer.let()
        await screen.sees(" ▎ word")
        await screen.drag("said 19", "said 19")
        answer.let()
        await screen.loses("said 19")  # it scrolls away
        await screen.press("ctrl+c")
        await screen.until(lambda: screen.app.clipboard == "said 19", screen.app.clipboard)
