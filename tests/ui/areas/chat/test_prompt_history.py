"""Earlier texts come back with the arrow keys, and what was being typed with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.app import make_app, opened, say, settle, until
from tests.ui.areas.chat.test_composer import Stage
from tui_chat.models.message import Message
from tui_chat.models.session import Entry
from tui_chat.ui.areas.chat.composer import Composer


def entries(*texts: str) -> tuple[Entry, ...]:
    """User and assistant in turn."""
    roles = ("user", "assistant")
    return tuple(Entry(Message(roles[at % 2], text)) for at, text in enumerate(texts))


@pytest.mark.parametrize(
    ("keys", "shown"),
    [
        (["up"], "second\nhas two lines"),
        (["up", "up"], "second\nhas two lines"),  # to its first line first
        (["up", "up", "up"], "first"),
        (["up", "up", "up", "up", "up"], "first"),
        (["up", "up", "up", "down"], "second\nhas two lines"),
        (["up", "down"], "draft"),
        (["down"], "draft"),
        (["up", "!", "up", "up", "down", "down"], "second\nhas two lines!"),
        (["up", "ctrl+underscore"], "draft"),
    ],
)
async def test_up_and_down(keys: list[str], shown: str) -> None:
    app = Stage()
    async with app.run_test(size=(60, 24)) as pilot:
        app.composer.prompt_history.show(
            entries("first", "reply", "second\nhas two lines", "reply")
        )
        await pilot.press(*"draft", *keys)
        assert app.composer.text == shown
        assert app.sent() == []


async def test_a_recalled_message_that_looks_like_a_command_stays_a_message() -> None:
    app = Stage()
    async with app.run_test(size=(60, 24)) as pilot:
        app.composer.prompt_history.show(entries("/model", "reply", "/etc/hosts"))
        await pilot.press("up")
        assert app.composer.text == "/etc/hosts"
        await pilot.press("up")
        assert app.composer.text == "//model"


async def test_prompts_are_recalled_newest_first_also_after_a_restart(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        await say(pilot, "first session")
        await pilot.press("ctrl+n")
        await until(
            pilot, lambda: app.workspace is not None and app.workspace.state.session is None
        )
        await settle(pilot)
        await say(pilot, "one")
        await say(pilot, "two")
        composer = app.query_one(Composer)
        await pilot.press(*"/theme tui-chat-dark", "enter")
        for key, text in (("", ""), ("up", "two"), ("down", "")):
            await pilot.press(*[key] if key else [])
            await until(pilot, lambda text=text: composer.text == text)
            await settle(pilot)
    async with make_app(tmp_path).run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        await settle(pilot)
        composer = app.query_one(Composer)
        # Other sessions' prompts are read.
        await until(pilot, lambda: len(composer.prompt_history._stored) > 0)
        composer.focus()
        for text in ("two", "one", "first session"):
            await pilot.press("up")
            await until(pilot, lambda text=text: composer.text == text)
            await settle(pilot)
        await pilot.press("up")
        await settle(pilot)
        assert composer.text == "first session"


@pytest.mark.parametrize("command", ["/nonsense", "/quit now", "/edit-preset x"])
async def test_typing_replaces_a_rejected_command(command: str, tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        app.query_one(Composer).text = command
        await pilot.press("enter")
        await until(pilot, lambda: app.query_one(Composer).selected_text == command)
        assert app.query_one(Composer).text == command  # to be corrected
        await pilot.press(*"hello")
        assert app.query_one(Composer).text == "hello"
        assert app.workspace is not None
        assert app.workspace.state.entries == ()
