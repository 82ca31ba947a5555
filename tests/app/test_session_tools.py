"""The dialog of the session's tools, and the question about a call of a server's tool."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import OptionList, Static

from tests.support.app import make_app, opened, press, say, settle, until
from tests.support.tool_servers import ToolServer, tool_servers
from tui_chat.models.envelope import ToolDefinition
from tui_chat.models.tool import CommandTool
from tui_chat.ui.app import TuiChat
from tui_chat.ui.chat.composer import Composer
from tui_chat.ui.chat.tool_question import ToolQuestion
from tui_chat.ui.chat.transcript import Transcript
from tui_chat.ui.dialogs.base import Dialog
from tui_chat.ui.dialogs.session_tools import SessionToolsDialog
from tui_chat.workspace.events import Done, WorkspaceEvent
from tui_chat.workspace.state import SourceStatus
from tui_chat.workspace.workspace import Workspace

ECHO = CommandTool(ToolDefinition("echo", "Answers.", {}), command=("cat",))


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ToolServer]:
    server = ToolServer("time", "now", "zones", description="Tells\u200b the time.")
    with tool_servers(tmp_path, monkeypatch, server):
        yield server


def workspace_of(app: TuiChat) -> Workspace:
    return app.workspace


async def dialog(pilot: Pilot[None], app: TuiChat) -> SessionToolsDialog:
    await app.run_action("tool_calls.choose_tools")
    await until(pilot, lambda: isinstance(app.screen, SessionToolsDialog))
    await settle(pilot)
    assert isinstance(app.screen, SessionToolsDialog)
    return app.screen


def lines(shown: SessionToolsDialog) -> list[str]:
    options = shown.query_one(OptionList)
    return [str(options.get_option_at_index(n).prompt) for n in range(options.option_count)]


def below(shown: SessionToolsDialog) -> str:
    return str(shown.query_one("#definition", Static).render())


async def test_tools_are_chosen_and_their_definitions_read(
    tmp_path: Path, server: ToolServer
) -> None:
    async with make_app(tmp_path, model="toolsmith", tools=(ECHO,)).run_test(
        size=(120, 40)
    ) as pilot:
        app = await opened(pilot)
        shown = await dialog(pilot, app)
        assert lines(shown)[0] == "Commands of config.toml  1 of 1 offered"
        assert lines(shown)[2] == "time  2 of 2 offered"
        assert "☑ now" in lines(shown)[3]
        assert "asks" in lines(shown)[3]
        await press(pilot, "down", "down", "down")
        assert "time__now is “now” of the server time (Server 1.0)" in below(shown)
        assert "Tells\\u200b the time." in below(shown), "invisible characters are shown"
        assert "The server claims, unverified: only reads." in below(shown)
        await pilot.press("space")
        await until(pilot, lambda: "☐ now" in lines(shown)[3])
        assert [tool.name for tool in workspace_of(app).state.tools] == ["echo", "time__zones"]
        await pilot.press("up", "space")
        await until(pilot, lambda: "2 of 2 offered" in lines(shown)[2])
        server.has("now")
        await pilot.press("s")
        await until(pilot, lambda: "1 of 1 offered" in lines(shown)[2])
        assert server.is_closed
        await pilot.press("escape")


async def test_a_heading_has_the_facts_of_its_server_as_they_change(
    tmp_path: Path, server: ToolServer
) -> None:
    async with make_app(tmp_path, model="toolsmith").run_test(size=(120, 40)) as pilot:
        app = await opened(pilot)
        server.may_answer.clear()
        shown = await dialog(pilot, app)
        assert lines(shown) == ["time  0 of 0 offered  idle"], "no server is waited for"
        server.may_answer.set()
        await until(pilot, lambda: "tokens" in "".join(lines(shown)))
        assert below(shown).splitlines()[:2] == [
            "time · Server 1.0 · ready", "runs: serve-time --stdio"
        ]  # fmt: skip
        await until(pilot, lambda: "2 of 2 offered: 0 tokens" not in below(shown))
        assert "Its standard error:\nReady" in below(shown)
        assert "\x1b" not in below(shown)
        server.status = SourceStatus("time", "failed", "It ended with status 3.")
        server.announce()
        await until(pilot, lambda: "It ended with status 3." in below(shown))
        assert lines(shown)[0] == "time  2 of 2 offered  It ended with status 3."
        await pilot.press("escape")


async def test_the_question_names_the_server_and_marks_its_claims(
    tmp_path: Path, server: ToolServer
) -> None:
    async with make_app(tmp_path, model="toolsmith", key_clock=count().__next__).run_test(
        size=(120, 40)
    ) as pilot:
        app = await opened(pilot)
        workspace = workspace_of(app)
        await workspace.tool_sources.loaded()
        await say(pilot, "Use the tool.")
        question = app.query_one(ToolQuestion)
        await until(pilot, lambda: question.call is not None)
        text = str(question.query_one(Static).render())
        assert "time__now is “now” of the server time (Server 1.0)" in text
        assert "serve-time --stdio" in text
        assert "The server claims, unverified: only reads." in text
        assert '"city"' in text
        await pilot.press("f8")
        await until(pilot, lambda: question.is_armed)
        await pilot.press("t")
        await until(pilot, lambda: len(server.calls) == 1)
        assert len(workspace.tool_grants.lasting) == 1


async def test_a_message_waits_for_the_tools_of_a_server(
    tmp_path: Path, server: ToolServer
) -> None:
    async with make_app(tmp_path, model="toolsmith").run_test(size=(120, 40)) as pilot:
        app = await opened(pilot)
        workspace = workspace_of(app)
        server.may_answer.clear()
        app.query_one(Composer).text = "Use the tool."
        await pilot.press("enter")
        words = "Waiting for the tools of time · Esc cancel"
        await until(pilot, lambda: app.chat.activity.render().plain == words)
        assert not workspace.state.entries
        server.may_answer.set()
        await until(pilot, lambda: bool(workspace.state.pending_calls))


async def test_escape_cancels_the_waiting_for_tools_and_leaves_the_draft(
    tmp_path: Path, server: ToolServer
) -> None:
    async with make_app(tmp_path, model="toolsmith").run_test(size=(120, 40)) as pilot:
        app = await opened(pilot)
        composer = app.query_one(Composer)
        server.may_answer.clear()
        composer.text = "Use the tool."
        await pilot.press("enter")
        await until(pilot, lambda: workspace_of(app).state.awaited_sources == ("time",))
        await pilot.press("escape")
        await until(pilot, lambda: composer.text == "Use the tool.")
        assert not workspace_of(app).state.entries
        assert not workspace_of(app).state.awaited_sources
        await pilot.press("enter")
        await until(pilot, lambda: workspace_of(app).state.awaited_sources == ("time",))
        server.may_answer.set()
        await until(pilot, lambda: bool(workspace_of(app).state.pending_calls))


async def test_a_reply_that_is_generated_again_waits_for_tools_too(
    tmp_path: Path, server: ToolServer
) -> None:
    server.may_answer.clear()
    async with make_app(tmp_path, model="toolsmith").run_test(size=(120, 40)) as pilot:
        app = await opened(pilot)
        workspace = workspace_of(app)
        assert await workspace.replies.submit("Use the tool."), "nothing asks the server yet"
        await workspace.replies.all_ended()
        await until(pilot, lambda: len(workspace.state.entries) == 2)
        app.query_one(Transcript).focus()
        await pilot.press("r")
        await until(pilot, lambda: workspace.state.awaited_sources == ("time",))
        server.may_answer.set()
        await until(pilot, lambda: bool(workspace.state.pending_calls))
        assert workspace.state.entries[1].siblings == 2


async def test_a_message_that_waits_for_tools_is_the_draft_after_quitting(
    tmp_path: Path, server: ToolServer
) -> None:
    async with make_app(tmp_path, model="toolsmith").run_test(size=(120, 40)) as pilot:
        app = await opened(pilot)
        workspace = workspace_of(app)
        server.may_answer.clear()
        app.query_one(Composer).text = "Use the tool."
        await pilot.press("enter")
        await until(pilot, lambda: workspace.state.awaited_sources == ("time",))
        await pilot.press("ctrl+q")
        await until(pilot, lambda: not app.is_running)
    async with make_app(tmp_path, model="toolsmith").run_test(size=(120, 40)) as pilot:
        app = await opened(pilot)
        await until(pilot, lambda: app.query_one(Composer).text == "Use the tool.")
        assert not workspace_of(app).state.entries


async def test_a_server_that_fails_is_said(tmp_path: Path, server: ToolServer) -> None:
    async with make_app(tmp_path, model="toolsmith").run_test(size=(120, 40)) as pilot:
        app = await opened(pilot)
        await workspace_of(app).tool_sources.loaded()
        events: list[WorkspaceEvent] = []
        workspace_of(app).subscribe(events.append)
        server.status = SourceStatus("time", "failed", "It ended with status 3.")
        server.announce()
        server.announce()
        assert events.count(Done("It ended with status 3.")) == 1


class Asking(Dialog[str]):
    """A dialog of a source."""


async def test_a_source_asks_in_the_app_and_its_dialog_ends_with_its_task(
    tmp_path: Path, server: ToolServer
) -> None:
    async with make_app(tmp_path, model="toolsmith").run_test(size=(120, 40)) as pilot:
        app = await opened(pilot)
        await workspace_of(app).tool_sources.loaded()
        asking = asyncio.ensure_future(server.context.ask(Asking))
        await until(pilot, lambda: isinstance(app.screen, Asking))
        app.screen.dismiss("blue")
        await until(pilot, asking.done)
        assert await asking == "blue"
        asking = asyncio.ensure_future(server.context.ask(Asking))
        await until(pilot, lambda: isinstance(app.screen, Asking))
        asking.cancel()
        await until(pilot, lambda: not isinstance(app.screen, Asking))
