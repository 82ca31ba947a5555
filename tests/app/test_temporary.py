"""Temporary sessions, and what belongs to a session."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import OptionList

from tests.support.app import (
    composer_facts,
    make_app,
    opened,
    press,
    say,
    settle,
    until,
    workspace_of,
)
from tests.support.databases import made_at
from tests.support.screen import Screen, open_screen
from tests.support.server import Answer, Provider, chat_text
from tests.support.tables import each_row
from tests.support.workspace import PLANTED, files_with
from tui_chat.ui.app import TuiChat
from tui_chat.ui.dialogs.choices import ChoiceDialog

TEMPORARY = (*"/temporary", "escape", "enter")


async def open_temporary(pilot: Pilot[None], *keys: str) -> TuiChat:
    app = await opened(pilot)
    await pilot.press(*(keys or TEMPORARY))
    workspace = workspace_of(app)
    await until(pilot, lambda: workspace.state.is_temporary)
    await settle(pilot)
    return app


async def choose(pilot: Pilot[None], chosen: str) -> None:
    """Answer the question whether to leave the session."""
    app = pilot.app
    await until(pilot, lambda: isinstance(app.screen, ChoiceDialog))
    await settle(pilot)
    options = app.screen.query_one(OptionList)
    options.highlighted = options.get_option_index(chosen)
    await pilot.press("enter")
    await until(pilot, lambda: len(app.screen_stack) == 1)
    await settle(pilot)


@each_row("keys", [("ctrl+p", *"temporary", "enter"), (*"/temporary", "escape", "enter")])
async def test_the_header_says_that_nothing_is_stored(tmp_path: Path, keys: tuple[str, ...]):
    async with make_app(tmp_path).run_test(size=(120, 35)) as pilot:
        app = await open_temporary(pilot, *keys)
        line = app.chat.title_line
        words = "Temporary session · not stored  [ Keep ]"
        assert line.render().plain.strip() == words
        assert composer_facts(app).startswith("mirror · Assistant · ~")


async def test_no_file_has_a_word_that_was_typed_sent_or_received(tmp_path: Path):
    app = make_app(tmp_path)
    async with app.run_test(size=(120, 35)) as pilot:
        await open_temporary(pilot)
        await say(pilot, f"Sent: {PLANTED}")
        assert PLANTED in app.workspace.state.entries[-1].message.content
        app.chat.composer.text = f"Typed: {PLANTED}"
        await settle(pilot)
        await app.chat.drafts.save()
        assert await app.workspace.sessions.draft() == f"Typed: {PLANTED}"
        await press(pilot, "ctrl+g")
        assert app.chat.composer.text == f"Typed: {PLANTED}", "no editor was opened"
        assert files_with(tmp_path, PLANTED) == []
        await pilot.press("ctrl+n")
        await choose(pilot, "drop")
        assert not app.workspace.state.is_temporary
        assert app.chat.composer.text == ""
        await press(pilot, "up")
        assert app.chat.composer.text == "", "nor is it among the earlier prompts"
        assert files_with(tmp_path, PLANTED) == []
    assert files_with(tmp_path, PLANTED) == []


async def test_leaving_asks_if_there_are_messages(tmp_path: Path):
    async with make_app(tmp_path, model="echo").run_test(size=(120, 35)) as pilot:
        app = await open_temporary(pilot)
        first = app.workspace.state.session_id
        await pilot.press(*"/temporary", "escape", "enter")
        await until(pilot, lambda: app.workspace.state.session_id != first)
        await say(pilot, "hello")
        temporary = app.workspace.state.session_id
        await pilot.press("ctrl+n")
        await choose(pilot, "stay")
        assert app.workspace.state.session_id == temporary
        await pilot.press("ctrl+n")
        await choose(pilot, "keep")
        await until(pilot, lambda: app.workspace.state.session_id != temporary)
        assert [each.title for each in app.workspace.state.sessions] == ["hello"]


async def test_it_is_kept_where_it_is_and_then_left_without_a_question(tmp_path: Path):
    async with make_app(tmp_path, model="echo").run_test(size=(120, 35)) as pilot:
        app = await open_temporary(pilot)
        workspace = workspace_of(app)
        await say(pilot, "hello")
        await pilot.press(*"/keep", "escape", "enter")
        await until(pilot, lambda: not workspace.state.is_temporary)
        await settle(pilot)
        assert app.chat.title_line.title == "hello"
        assert not app.chat.title_line.is_temporary
        await pilot.press("ctrl+n")
        await until(pilot, lambda: workspace.state.session is None)


async def test_quitting_asks(tmp_path: Path):
    app = make_app(tmp_path, model="echo")
    async with app.run_test(size=(120, 35)) as pilot:
        await open_temporary(pilot)
        await say(pilot, "hello")
        await pilot.press("ctrl+q")
        await choose(pilot, "stay")
        assert app.is_running
        await pilot.press("ctrl+q")
        await choose(pilot, "drop")
        await until(pilot, lambda: not app.is_running)


# --- What belongs to a session beside its messages ----------------------------------------


WORDS = "zaffre quokka 7731"
"""Words that occur nowhere else."""
STOPPED = Answer((chat_text("Begun ", finish=None), chat_text("ended.")), pause=3600.0)
"""A reply that stays unfinished until it is stopped."""
TOOLS = "".join(
    f'\n[tools.{name}]\ndescription = "{name}"\ncommand = ["true"]\n' for name in ("alpha", "beta")
)


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider(STOPPED, chat_text("A reply.")) as provider:
        yield provider


@asynccontextmanager
async def queued(folder: Path, provider: Provider, *first: str) -> AsyncGenerator[Screen]:
    """Open a session whose reply was stopped, with a queued message."""
    async with open_screen(folder, config=provider.config() + TOOLS) as screen:
        for command in first:
            await screen.type(command)
            await screen.press("enter")
            await screen.rests()
        await screen.type("hello")
        await screen.press("enter")
        await screen.sees("Begun")
        await screen.type(WORDS)
        await screen.press("enter")
        await screen.press("escape")
        await screen.sees("Stopped by you", "1 queued")
        yield screen


def stored(folder: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(folder / "chat.db", timeout=30)) as connection:
        found = connection.execute(sql).fetchall()
        connection.commit()
        return found


def dump(folder: Path) -> str:
    with closing(sqlite3.connect(folder / "chat.db", timeout=30)) as connection:
        return "\n".join(connection.iterdump())


async def test_nothing_of_a_purged_session_is_left(tmp_path: Path, provider: Provider):
    (tmp_path / "quokka.txt").write_text("A file.")
    async with queued(tmp_path, provider) as screen:
        await screen.type(f"/attach {tmp_path / 'quokka.txt'}")
        await screen.press("enter")
        await screen.sees("quokka.txt")
        await screen.type("half a thought")
        await screen.rests()
    assert "zaffre" in dump(tmp_path)
    assert "quokka.txt" in dump(tmp_path)
    stored(tmp_path, "UPDATE sessions SET deleted = 1")  # long ago
    async with open_screen(tmp_path) as screen:
        words = ("zaffre", "quokka", "hello", "half a thought")
        await screen.until(
            lambda: not any(word in dump(tmp_path) for word in words), "Some of it stayed"
        )


async def test_what_an_earlier_version_left_is_removed(tmp_path: Path):
    made_at(tmp_path / "chat.db", 19)
    stored(tmp_path, "INSERT INTO settings VALUES ('queue:gone', 'zaffre'), ('files:gone', '/q')")
    async with open_screen(tmp_path, waits=('"messages"',)) as screen:
        await screen.until(lambda: "zaffre" not in dump(tmp_path), "It stayed")
        assert "files:gone" not in dump(tmp_path)
        await screen.rests()


async def queue_behind_a_reply(screen: Screen, message: str, later: str) -> None:
    """Send a message, queue another, and stop the reply."""
    await screen.type(message)
    await screen.press("enter")
    await screen.sees("Esc stop")
    await screen.type(later)
    await screen.press("enter")
    await screen.press("escape")
    await screen.loses("Esc stop")


async def test_two_windows_queue_for_one_session(tmp_path: Path):
    with Provider(STOPPED) as provider:
        async with queued(tmp_path, provider) as one, open_screen(tmp_path) as two:
            await two.sees("1 queued")
            await queue_behind_a_reply(two, "second", "from two")
            await one.sees("second")
            await queue_behind_a_reply(one, "third", "from one")
            await one.sees("3 queued")
        async with open_screen(tmp_path) as again:
            await again.sees("3 queued")
            await again.type("/queue")
            await again.press("enter")
            await again.sees(WORDS, "from one", "from two")


async def test_a_kept_temporary_session_keeps_what_belongs_to_it(
    tmp_path: Path, provider: Provider
):
    (tmp_path / "quokka.txt").write_text("A file.")
    async with queued(tmp_path, provider, "/temporary") as screen:
        await screen.type(f"/attach {tmp_path / 'quokka.txt'}")
        await screen.press("enter")
        await screen.sees("quokka.txt")
        await screen.press("ctrl+p")
        await screen.type("keep temporary")
        await screen.press("enter")
        await screen.sees("Kept as")
    async with open_screen(tmp_path) as screen:
        await screen.sees("1 queued", "quokka.txt")


async def test_a_fork_offers_the_tools_of_its_session(tmp_path: Path):
    with Provider(chat_text("A reply.")) as provider:
        async with open_screen(tmp_path, config=provider.config() + TOOLS) as screen:
            await screen.type("hello")
            await screen.press("enter")
            await screen.sees("A reply.")
            await screen.type("/session-tools")
            await screen.press("enter")
            await screen.sees("alpha", "beta")
            await screen.press("down", "space")
            await screen.sees("1 of 2 offered")
            await screen.press("escape")
            await screen.type("more")
            await screen.press("enter")
            await screen.until(lambda: len(provider.received) == 2, "It was not sent")
            offered = [tool["function"]["name"] for tool in provider.bodies[-1]["tools"]]
            assert len(offered) == 1
            await screen.sees("more")
            await screen.type("/fork Copy")
            await screen.press("enter")
            await screen.sees("fork of hello")
            await screen.type("in the fork")
            await screen.press("enter")
            await screen.until(lambda: len(provider.received) == 3, "It was not sent")
    assert json.dumps(provider.bodies[-1]["tools"]) == json.dumps(provider.bodies[-2]["tools"])
