"""A server's question in the running app: answered, declined, canceled, left open."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from tests.plugins.mcp.conftest import SCRIPT, has_ended, running
from tests.support.app import make_app, opened, settle, until
from tui_chat.plugins.mcp.question_dialog import QuestionForm
from tui_chat.plugins.mcp.settings import ServerSettings
from tui_chat.ui.chat.composer import Composer
from tui_chat.workspace.workspace import Workspace

pytestmark = [pytest.mark.slow]


@asynccontextmanager
async def started(folder: Path, era: str) -> AsyncIterator[tuple[Pilot[None], Workspace]]:
    """Run the app with a server, and let it ask."""
    app = make_app(folder, model="toolsmith:bad__ask")
    async with app.run_test(size=(120, 40)) as pilot:
        app = await opened(pilot)
        workspace = app.workspace
        assert workspace is not None
        server = ServerSettings(
            command=sys.executable, args=("-S", "-E", str(SCRIPT), era), consent="always"
        )
        workspace.update(config=replace(workspace.state.config, sections={"mcp": {"bad": server}}))
        workspace.tool_sources.follow_config()
        await workspace.tool_sources.loaded()
        await ask(pilot)
        yield pilot, workspace


async def ask(pilot: Pilot[None]) -> None:
    """Send a message upon which the server asks."""
    pilot.app.query_one(Composer).text = "Ask me."
    await pilot.press("enter")
    await until(pilot, lambda: isinstance(pilot.app.screen, QuestionForm))
    await settle(pilot)


async def answer(pilot: Pilot[None], workspace: Workspace, number: int) -> str:
    """Return what the server got, once the dialog is closed and the model has read it."""

    def results() -> list[str]:
        return [e.message.content for e in workspace.state.entries if e.message.role == "tool"]

    await until(pilot, lambda: not isinstance(pilot.app.screen, QuestionForm))
    await until(pilot, lambda: len(results()) == number)
    await until(pilot, lambda: workspace.state.entries[-1].message.role == "assistant")
    await until(pilot, lambda: not workspace.state.is_streaming)
    return results()[-1]


async def test_answers_reach_the_server_until_its_call_is_stopped(tmp_path: Path):
    async with started(tmp_path, "modern") as (pilot, workspace):
        assert pilot.app.screen.query_one("Vertical").border_title == "The MCP server “bad” asks"
        pilot.app.screen.query_one(Input).value = "Ann"
        await pilot.press("ctrl+s")
        text = await answer(pilot, workspace, 1)
        assert '"action": "accept"' in text
        assert '"Ann"' in text
        for number, action in ((2, "decline"), (3, "cancel")):
            await ask(pilot)
            await pilot.click(f"#{action}")
            text = await answer(pilot, workspace, number)
            assert f'"action": "{action}"' in text
            assert "content" not in text
        await ask(pilot)
        assert workspace.tools.stop()
        await until(pilot, lambda: not isinstance(pilot.app.screen, QuestionForm))
        assert workspace.state.pending_calls, "the call waits again"


async def test_nothing_stays_when_the_app_quits_with_an_open_question(tmp_path: Path):
    async with started(tmp_path, "legacy") as (pilot, workspace):
        pilot.app.screen.query_one(Input).value = "Ann"
        await pilot.press("ctrl+s")
        text = await answer(pilot, workspace, 1)
        assert '"action": "accept"' in text
        assert '"Ann"' in text
        await ask(pilot)
        (process,) = running()
        pilot.app.exit()
    assert await has_ended(process)
