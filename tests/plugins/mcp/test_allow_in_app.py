"""A server of the folder's `.mcp.json` in the running app: shown, left alone, allowed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from textual.widgets import Static

from tests.plugins.mcp.conftest import SCRIPT
from tests.support.app import make_app, opened, settle, until
from tui_chat.ui.dialogs.base import Confirm
from tui_chat.ui.dialogs.session_tools import SessionToolsDialog

pytestmark = [pytest.mark.slow]


async def test_a_server_of_the_folder_is_allowed_in_the_app(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    server = {"command": sys.executable, "args": ["-S", "-E", str(SCRIPT), "modern"]}
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": {"local": server}}))
    app = make_app(tmp_path, model="toolsmith")
    async with app.run_test(size=(120, 40)) as pilot:
        app = await opened(pilot)
        workspace = app.workspace
        assert workspace is not None
        await workspace.tool_sources.loaded()
        await app.run_action("tool_calls.choose_tools")
        await until(pilot, lambda: isinstance(app.screen, SessionToolsDialog))
        await settle(pilot)
        assert "Enter show what the server runs" in str(
            app.screen.query_one("#keys", Static).render()
        )
        for key in ("n", "y"):
            (status,) = workspace.state.tool_sources
            assert (status.state, status.is_offered) == ("idle", True)
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, Confirm))
            await settle(pilot)
            words = "".join(str(one.render()) for one in app.screen.query(Static))
            assert str(SCRIPT) in words
            await pilot.press(key)
            await until(pilot, lambda: isinstance(app.screen, SessionToolsDialog))
        await until(pilot, lambda: workspace.state.tool_sources[0].state == "ready")
        assert not workspace.state.tool_sources[0].is_offered
        await until(pilot, lambda: bool(workspace.state.known_tools))
