"""Pictures of the whole screen: the first run, replies in each of their states, what asks."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.support.app import make_app, opened, say, settle, until
from tests.support.pictures import MEDIUM, NARROW, Album
from tui_chat.models.envelope import ToolDefinition
from tui_chat.models.tool import CommandTool
from tui_chat.ui.app import TuiChat
from tui_chat.ui.areas.chat.composer import Composer
from tui_chat.ui.areas.chat.tool_question import ToolQuestion
from tui_chat.ui.areas.chat.transcript import Transcript

WEATHER = CommandTool(
    ToolDefinition(
        "get_weather",
        "The weather in a city.",
        {"type": "object", "properties": {"city": {"type": "string"}}},
    ),
    command=("weather-now", "--json"),
)
COLORLESS = ("tui-chat-mono", "tui-chat-contrast")


def asks(pilot: Pilot[None]) -> bool:
    """Whether a dialog is over the panes."""
    return len(pilot.app.screen_stack) > 1


async def ask(pilot: Pilot[None], action: str) -> None:
    """Run an action, and wait until it asks."""
    await pilot.app.run_action(action)
    await until(pilot, lambda: asks(pilot))


async def answer(pilot: Pilot[None], *keys: str) -> None:
    """Press keys, and wait until nothing is asked any more."""
    await pilot.press(*keys)
    await until(pilot, lambda: not asks(pilot))


async def test_beginning(album: Album, tmp_path: Path) -> None:
    async with album.of(make_app(tmp_path)) as pilot:
        app = await opened(pilot)
        await album.take_matrix(pilot, "first run")
        await pilot.press("f1")
        await until(pilot, lambda: asks(pilot))
        await album.take_matrix(pilot, "help")
        await answer(pilot, "escape")
        await pilot.press("ctrl+p")
        await until(pilot, lambda: asks(pilot))
        await pilot.press(*"session")
        await settle(pilot)
        await album.take_matrix(pilot, "palette")
        await answer(pilot, "escape")
        await ask(pilot, "choose_theme")
        await album.take(pilot, "themes", sizes=(MEDIUM, NARROW), themes=(app.theme,))
        await answer(pilot, "escape")
        await ask(pilot, "sessions.choose_model")
        await album.take(pilot, "models")
        await answer(pilot, "escape")
        await ask(pilot, "sessions.edit_roles")
        await pilot.press("enter")
        await until(pilot, lambda: app.screen.__class__.__name__ == "RoleForm")
        await album.take(pilot, "a role")


async def test_replies(album: Album, tmp_path: Path) -> None:
    """One that comes to a standstill in its middle, a stop, an error, other versions."""
    async with album.of(make_app(tmp_path, model="flaky-stall", retries=0)) as pilot:
        app = await opened(pilot)
        await ask_for_a_reply(pilot, "Tell me about the ferry.")
        await until(pilot, lambda: "never once looked" in arrived(app))
        await album.take_matrix(pilot, "streaming")
        await ask(pilot, "quit")
        await album.take(pilot, "quitting while a reply arrives")
        await answer(pilot, "n")
        await pilot.press("escape")
        await until(pilot, lambda: not running(app))
        await album.take(pilot, "stopped")
        assert app.workspace is not None
        await app.workspace.settings.set_model("loopback", "flaky-500")
        await pilot.press("ctrl+r")
        await until(pilot, lambda: status(app) == "failed")
        app.query_one(Transcript).focus()
        await album.take(pilot, "failed second version")
        await album.take(pilot, "failed second version", sizes=(NARROW,), themes=COLORLESS)
        await pilot.press("k", "k", "p")
        await until(
            pilot,
            lambda: app.workspace is not None and app.workspace.state.entries[0].message.pinned,
        )
        await settle(pilot)
        await pilot.press("e")
        await until(pilot, lambda: asks(pilot))
        await album.take(pilot, "pinned and edited")


async def ask_for_a_reply(pilot: Pilot[None], words: str) -> None:
    """Send a message, and wait until something of its reply is there."""
    app = pilot.app
    assert isinstance(app, TuiChat)
    app.query_one(Composer).text = words
    await pilot.press("enter")
    await until(pilot, lambda: bool(arrived(app)))


def arrived(app: TuiChat) -> str:
    partial = app.workspace.state.partial if app.workspace is not None else None
    return str(partial.reply.content) if partial is not None else ""


def running(app: TuiChat) -> bool:
    return app.workspace is not None and app.workspace.state.is_streaming


def status(app: TuiChat) -> str:
    entries = app.workspace.state.entries if app.workspace is not None else ()
    return entries[-1].status if entries else ""


async def test_tool_calls(album: Album, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")  # the question names the folder
    seconds = 0.0
    app = make_app(tmp_path, model="toolsmith", tools=(WEATHER,), key_clock=lambda: seconds)
    async with album.of(app) as pilot:
        await opened(pilot)
        await say(pilot, "How is the weather in Paris?")
        await album.take(pilot, "waits for an answer")
        await pilot.press("f8")
        seconds = 10.0
        question = app.query_one(ToolQuestion)
        await until(pilot, lambda: question.is_armed)
        await album.take_matrix(pilot, "with the focus")
        await pilot.press("e")
        await until(pilot, lambda: asks(pilot))
        await album.take(pilot, "edited arguments")
        await answer(pilot, "escape")
        await settle(pilot)
        app.query_one(Transcript).focus()
        await settle(pilot)
        await pilot.press("a")
        await until(pilot, lambda: asks(pilot))
        await album.take(pilot, "answered by hand")
