"""The temporary session on the screen."""

from __future__ import annotations

from pathlib import Path

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
