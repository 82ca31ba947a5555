"""The first start, and what the app does and shows when it starts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.support.app import make_app, opened, settle, until
from tests.support.databases import write_elsewhere
from tests.support.screen import Screen, open_screen
from tests.support.server import Provider, chat_text
from tests.support.tables import each_row
from tui_chat.ui.chat.welcome import Welcome, welcome_rows


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


# --- The first screen: what it says, and what it offers -----------------------------------


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


# --- The app is closed while something still works: it ends cleanly -----------------------


@each_row("seconds", [0.0, 0.2, 0.8])
async def test_it_ends_cleanly_while_it_starts(seconds: float, tmp_path: Path):
    async with open_screen(tmp_path, waits=()):
        await asyncio.sleep(seconds)


async def test_a_worker_that_finds_its_screen_gone_is_no_error(tmp_path: Path):
    """As on a busy machine, where the workspace opens while the screens are being removed."""
    found: list[str] = []
    async with open_screen(tmp_path) as screen:
        composer = screen.app.focused
        assert composer is not None

        async def work() -> None:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                found.append("the end")
            composer.screen.refresh()

        screen.app.run_worker(work(), group="workspace")
        await screen.rests()
    assert found == ["the end"]


# --- The first message of a first start, on the real screen -------------------------------


async def test_a_reply_is_on_the_screen_and_its_request_at_the_provider(tmp_path: Path):
    with Provider(chat_text("Good ", "morning.")) as provider:
        async with open_screen(tmp_path, config=provider.config()) as screen:
            await screen.type("hello")
            await screen.press("enter")
            await screen.sees("Good morning.")
    [body] = provider.bodies
    assert body["messages"][-1] == {"role": "user", "content": "hello"}
