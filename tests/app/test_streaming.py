"""Replies as they arrive: their parts, pictures and ends."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, Static

from tests.support.app import make_app, opened, replied, rows_shown, say, settle, until
from tests.support.conversations import PHONE, store_conversation
from tests.support.drawings import drawing
from tests.support.pictures import Album
from tests.support.screen import Screen, open_screen
from tests.support.server import Answer, Provider, chat_text, events
from tui_chat.models.message import Message
from tui_chat.ui.app import TuiChat
from tui_chat.ui.chat.attachments import AttachmentLine
from tui_chat.ui.chat.transcript import Transcript
from tui_chat.ui.dialogs.base import Confirm, PathPrompt
from tui_chat.ui.dialogs.file_viewer import ImagePreview


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


# --- How a reply ended is on the screen, in the words of the command line -----------------


def gemini(finish: str, *, message: str = "") -> Answer:
    candidate = {"content": {"parts": []}, "finishReason": finish, "finishMessage": message}
    return Answer(events({"candidates": [candidate]}, done=False))


async def test_each_end_has_a_sentence(tmp_path: Path):
    answers = {
        "The reply is empty.": gemini("STOP"),
        "Ended by the provider's filter (SAFETY)": gemini("SAFETY"),
        "Malformed call: print(look": gemini(
            "MALFORMED_FUNCTION_CALL", message="Malformed call: print(look)"
        ),
        "reached its token limit": gemini("MAX_TOKENS"),
        "too wide": Answer('error: {"message":"too wide"}\n\n'),
        "also bare": Answer(json.dumps({"error": {"message": "also bare"}})),
    }
    with Provider(*answers.values()) as provider:
        async with open_screen(tmp_path, config=provider.config("gemini")) as screen:
            for words in answers:
                await screen.type("hello")
                await screen.press("enter")
                await screen.sees(words)
                await screen.press("ctrl+n")


# --- Pictures and files of messages: the lines below a message, and saving them -----------


PNG = b"\x89PNG\r\n\x1a\n" + bytes(2_000)


async def test_s_saves_a_picture_and_asks_before_it_replaces_a_file(tmp_path: Path):
    picture = tmp_path / "photo.png"
    picture.write_bytes(PNG)
    app = make_app(tmp_path, model="echo")
    async with app.run_test(size=(120, 35)) as pilot:
        await opened(pilot)
        app.attachments.action_attach(str(picture))
        await until(pilot, lambda: app.query_one(AttachmentLine).count == 1)
        await pilot.press(*"look", "enter")
        await replied(pilot)
        transcript = app.query_one(Transcript)
        transcript.focus()
        app.conversation.action_save()
        await until(pilot, lambda: bool(app.notifications.shown))
        assert "no picture" in str([each.message for each in app.notifications.shown])
        assert transcript.show_message(transcript.entries[0].message.id)
        app.conversation.action_save()
        await until(pilot, lambda: isinstance(app.screen, PathPrompt))
        assert app.screen.query_one(Input).value == "photo.png"
        target = tmp_path / "copy.png"
        app.screen.query_one(Input).value = str(target)
        await pilot.press("enter")
        await until(pilot, target.exists)
        await until(pilot, lambda: target.stat().st_size == len(PNG))
        target.write_bytes(b"mine")
        app.conversation.action_save()
        await until(pilot, lambda: isinstance(app.screen, PathPrompt))
        app.screen.query_one(Input).value = str(target)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Confirm))
        await pilot.press("escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        assert target.read_bytes() == b"mine"


# --- Pictures: what their chips say, and the preview in the terminal ----------------------


async def attached(pilot: Pilot[None], path: Path) -> TuiChat:
    app = await opened(pilot)
    app.attachments.action_attach(str(path))
    await until(pilot, lambda: app.query_one(AttachmentLine).count == 1)
    return app


async def test_a_picture_is_a_chip_with_a_preview(album: Album, tmp_path: Path) -> None:
    path = tmp_path / "flag.png"
    path.write_bytes(drawing())
    async with album.of(make_app(tmp_path, model="picture")) as pilot:
        app = await attached(pilot, path)
        chips = app.query_one(AttachmentLine)
        assert "flag.png · 139 B · 64 × 48 · ~765 tokens" in chips.render().plain.replace(
            f"{path.stat().st_size} B", "139 B"
        )
        await pilot.click(AttachmentLine, offset=(6, 0))
        await until(pilot, lambda: isinstance(app.screen, ImagePreview))
        await settle(pilot)
        await album.take(pilot, "previewed")
        assert app.screen.query_one("#picture", Static).size.height > 10
        await pilot.press("escape")
        await say(pilot, "Draw one.")
        rows = rows_shown(app.query_one(Transcript))
        assert any("▣ image  flag.png" in row and "64 × 48" in row for row in rows)
        assert sum("~765 tokens" in row for row in rows) == 2, "that of the model, too"
        app.query_one(Transcript).focus()
        await pilot.press("o")
        await until(pilot, lambda: isinstance(app.screen, ImagePreview))
        await pilot.press("s")
        await until(pilot, lambda: isinstance(app.screen, PathPrompt))


async def test_without_the_library_a_picture_is_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui_chat.ui.dialogs.file_viewer.find_spec", lambda name: None)
    path = tmp_path / "flag.png"
    path.write_bytes(drawing())
    async with make_app(tmp_path, model="echo").run_test(size=(120, 35)) as pilot:
        app = await attached(pilot, path)
        await app.run_action("attachments.view(0)")
        await until(pilot, lambda: isinstance(app.screen, PathPrompt))
        await pilot.press("escape", "backspace")
        await until(pilot, lambda: not app.query_one(AttachmentLine).count)
        await pilot.press(*"words", "enter")
        await replied(pilot)
