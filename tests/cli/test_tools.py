"""Tools on the command line: calls allowed by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command_line import TOOL, Done, Run
from tests.support.tool_servers import ToolServer, tool_servers
from tui_chat import hooks

ENABLED = '[plugins]\nenabled = ["servers"]\n'


@pytest.fixture
def home(tmp_path: Path, run: Run):
    def call(*words: object) -> Done:
        return run("--data-dir", tmp_path, "--config-dir", tmp_path, *words)

    return call


def test_a_named_tool_runs_without_a_terminal(home, tmp_path: Path):
    (tmp_path / "config.toml").write_text(TOOL)
    done = home("ask", "--model", "toolsmith", "--allow-tool", "weather", "Weather?")
    assert done.code == 0, done.err
    assert "sunny" in done.out
    done = home("ask", "--model", "toolsmith", "--allow-tool", "wether", "Weather?")
    assert done.code == 2
    assert done.err == ("Error: --allow-tool: there is no tool “wether”. Offered are weather.\n")


def test_ask_offers_the_tools_of_plugins(home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    server = ToolServer("time", "now")
    (tmp_path / "config.toml").write_text(ENABLED)
    with tool_servers(tmp_path, monkeypatch, server):
        hooks.enable(())
        done = home("ask", "--model", "toolsmith", "--allow-tool", "time__now", "What time?")
    assert done.code == 0, done.err
    assert len(server.calls) == 1
    assert server.is_closed
