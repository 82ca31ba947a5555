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

from tests.plugins.mcp.conftest import SCRIPT, has_ended, is_alive, process_of
from tests.support.app import make_app, opened, settle, until
from tui_chat.plugins.mcp.question_dialog import FormDialog
from tui_chat.plugins.mcp.settings import ServerSettings
from tui_chat.plugins.mcp.source import ServerSource
from tui_chat.ui.app import TuiChat
from tui_chat.ui.areas.chat.composer import Composer
from tui_chat.workspace.workspace import Workspace

pytestmark = [pytest.mark.slow]


@asynccontextmanager
async def asked(folder: Path, era: str) -> AsyncIterator[tuple[Pilot[None], Workspace, int]]:
    """Run the app until a server asks; yield its process, too."""
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
        app.query_one(Composer).text = "Ask me."
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, FormDialog))
        await settle(pilot)
        (source,) = workspace.tool_sources._added["tui_chat.plugins.mcp.source:open_sources"]
        assert isinstance(source.inner, ServerSource)
        yield pilot, workspace, process_of(source.inner.server)


async def answer(pilot: Pilot[None], workspace: Workspace) -> str:
    """Return what the server got, once the dialog is closed and the model has read it."""
    app = pilot.app
    assert isinstance(app, TuiChat)
    await until(pilot, lambda: not isinstance(app.screen, FormDialog))
    await until(pilot, lambda: any(one.message.role == "tool" for one in workspace.state.entries))
    await until(pilot, lambda: workspace.state.entries[-1].message.role == "assistant")
    (result,) = (one for one in workspace.state.entries if one.message.role == "tool")
    return str(result.message.content)


@pytest.mark.parametrize("era", ["modern", "legacy"])
async def test_an_answer_reaches_the_server(tmp_path: Path, era: str):
    async with asked(tmp_path, era) as (pilot, workspace, _):
        assert pilot.app.screen.query_one("Vertical").border_title == "The MCP server “bad” asks"
        pilot.app.screen.query_one(Input).value = "Ann"
        await pilot.press("ctrl+s")
        text = await answer(pilot, workspace)
        assert '"action": "accept"' in text
        assert '"Ann"' in text


@pytest.mark.parametrize(("press", "action"), [("#decline", "decline"), ("#cancel", "cancel")])
async def test_a_refusal_reaches_the_server(tmp_path: Path, press: str, action: str):
    async with asked(tmp_path, "modern") as (pilot, workspace, _):
        await pilot.click(press)
        text = await answer(pilot, workspace)
        assert f'"action": "{action}"' in text
        assert "content" not in text


async def test_the_dialog_is_closed_when_its_call_is_stopped(tmp_path: Path):
    async with asked(tmp_path, "modern") as (pilot, workspace, _):
        assert workspace.tools.stop()
        await until(pilot, lambda: not isinstance(pilot.app.screen, FormDialog))
        assert workspace.state.pending_calls, "the call waits again"


async def test_nothing_stays_when_the_app_quits_with_an_open_question(tmp_path: Path):
    async with asked(tmp_path, "modern") as (pilot, _, process):
        assert is_alive(process)
        pilot.app.exit()
    assert await has_ended(process)
