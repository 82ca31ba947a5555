"""A start: what is typed before the session is open goes where the screen says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.support.databases import write_elsewhere
from tests.support.screen import Screen, open_screen
from tests.support.server import Provider, chat_text


@asynccontextmanager
async def start(folder: Path, **options: str) -> AsyncGenerator[Screen]:
    """Start the app, and go on as soon as the composer is drawn."""
    async with open_screen(folder, waits=("╭──",), **options) as screen:
        yield screen


async def begin_session(folder: Path, provider: Provider, words: str = "the first words") -> None:
    """Leave a folder in which a session was open last."""
    async with open_screen(folder, config=provider.config()) as screen:
        await screen.type(words)
        await screen.press("enter")
        await screen.has_messages(2)
        await screen.loses("Esc stop")


def title_of(screen: Screen) -> str:
    """Return what the chat pane's first row says."""
    return screen.lines[0]


async def sent(screen: Screen, provider: Provider) -> list[str]:
    """Wait for the second request, and return its user messages."""
    await screen.until(lambda: len(provider.received) == 2, "Nothing was sent")
    return [each["content"] for each in provider.bodies[-1]["messages"] if each["role"] == "user"]


async def test_the_last_session_is_named_while_the_store_opens(
    tmp_path: Path, slow_store: asyncio.Event
):
    with Provider(chat_text("Fine.")) as provider:
        slow_store.set()
        await begin_session(tmp_path, provider)
        slow_store.clear()
        async with start(tmp_path) as screen:
            await screen.type("typed early")
            await screen.press("enter")
            await screen.type("a draft")
            await screen.rests()
            assert "the first words" in title_of(screen)
            assert len(provider.received) == 1
            slow_store.set()
            await screen.has_messages(4)
            await screen.sees("a draft")
            assert await sent(screen, provider) == ["the first words", "typed early"]


async def test_a_new_chat_is_never_shown_while_the_last_session_opens(tmp_path: Path):
    with Provider(chat_text("Fine.")) as provider:
        await begin_session(tmp_path, provider)
        titles: set[str] = set()
        async with start(tmp_path) as screen:

            def is_open() -> bool:
                titles.add(title_of(screen).partition("▕")[2].strip()[:15])
                return screen.messages == 2

            await screen.until(is_open, "The session was not opened")
        assert titles == {"the first words"}


async def test_early_words_begin_a_session_where_a_new_chat_was_left(tmp_path: Path):
    with Provider(chat_text("Fine.")) as provider:
        await begin_session(tmp_path, provider)
        async with open_screen(tmp_path) as screen:
            await screen.has_messages(2)
            await screen.press("ctrl+n")
            await screen.sees("New session")
        async with start(tmp_path) as screen:
            assert "New session" in title_of(screen)
            await screen.type("typed early")
            await screen.press("enter")
            await screen.has_messages(2)
            assert await sent(screen, provider) == ["typed early"]


async def test_early_words_come_back_if_another_session_is_opened_than_named(
    tmp_path: Path, slow_store: asyncio.Event
):
    """Another window may change it meanwhile; or the session ended the program twice."""
    with Provider(chat_text("Fine.")) as provider:
        slow_store.set()
        await begin_session(tmp_path, provider)
        slow_store.clear()
        async with start(tmp_path) as screen:
            await screen.type("typed early")
            await screen.press("enter")
            await screen.rests()
            forget = "UPDATE settings SET value = '' WHERE key = 'session'"
            await write_elsewhere(tmp_path / "chat.db", forget)
            slow_store.set()
            await screen.sees("Not sent", "typed early")
            await screen.press("enter")
            await screen.has_messages(2)
            assert await sent(screen, provider) == ["typed early"]
        assert len(provider.received) == 2


async def test_an_early_command_and_file_belong_to_the_named_session(
    tmp_path: Path, slow_store: asyncio.Event
):
    note = tmp_path / "note.txt"
    note.write_text("the note's text")
    with Provider(chat_text("Fine.")) as provider:
        slow_store.set()
        await begin_session(tmp_path, provider)
        slow_store.clear()
        async with start(tmp_path) as screen:
            for command in ("/rename Another title", f"/attach {note}"):
                keys = [(character, character) for character in command]
                screen.press_at_once(*keys, ("enter", None))
            slow_store.set()
            await screen.sees("note.txt")
            await screen.type("look")
            await screen.press("enter")
            await screen.has_messages(4)
            await screen.sees("Another title")
            await sent(screen, provider)
        assert "the note's text" in str(provider.bodies[-1]["messages"][-1])
        assert "the first words" in str(provider.bodies[-1])
