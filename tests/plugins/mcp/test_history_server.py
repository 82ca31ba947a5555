"""`tui-chat mcp serve`: our own history, read by our own client."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import Run
from tui_chat.cli.app import open_workspace
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.names import named_session
from tui_chat.plugins.mcp.server import Server
from tui_chat.plugins.mcp.settings import ServerSettings
from tui_chat.providers.client import HttpClient

pytestmark = [pytest.mark.slow]
Serve = Callable[..., Server]
TOOLS = ["search", "list_sessions", "read_session"]


async def tag_session(home: Path) -> None:
    """Give the session about the north wall a tag."""
    workspace = await open_workspace(CommonOptions(home, home).config())
    try:
        session = await named_session(workspace.store, "A walk on the north wall")
        await workspace.session_list.refresh()
        await workspace.session_list.retag((session.session_id,), add=("out",), drop=())
    finally:
        await workspace.close()


@pytest.fixture
def home(run: Run, tmp_path: Path) -> tuple[str, ...]:
    folders = ("--data-dir", str(tmp_path), "--config-dir", str(tmp_path))
    ask = (*folders, "--endpoint", "loopback", "--model", "echo", "ask")
    for text in ("A walk on the north wall", "A secret walk"):
        assert run(*ask, text).code == 0
    asyncio.run(tag_session(tmp_path))
    return folders


@pytest.fixture
async def serve(home: tuple[str, ...]) -> AsyncIterator[Serve]:
    servers: list[Server] = []

    def start(*words: str) -> Server:
        arguments = ("-m", "tui_chat", *home, "mcp", "serve", *words)
        settings = ServerSettings("history", sys.executable, arguments, cwd=str(Path.cwd()))
        servers.append(Server(settings, HttpClient(environ=os.environ)))
        return servers[-1]

    yield start
    for server in servers:
        await server.close()


async def value(server: Server, tool: str, **arguments: Any) -> Any:
    result = await server.call(tool, arguments)
    assert not result.failed, result.text
    return json.loads(result.text)


async def test_only_what_was_named_can_be_read(serve: Serve):
    server = serve("--tag", "out")
    assert all(tool.claims[0] == ("readOnlyHint", True) for tool in await server.tools())
    assert [tool.name for tool in await server.tools()] == TOOLS
    (session,) = await value(server, "list_sessions")
    assert session["title"] == "A walk on the north wall"
    hits = await value(server, "search", query="walk")
    assert {hit["session"] for hit in hits} == {session["session"]}
    everything = serve("--all")
    sessions = await value(everything, "list_sessions")
    assert len(sessions) == 2
    other = next(one["session"] for one in sessions if one != session)
    for tool in ("read_session",):
        result = await server.call(tool, {"session": other})
        assert result.failed
        assert "No session that is offered" in result.text
    hits = await value(everything, "search", query="secret")
    assert other in {hit["session"] for hit in hits}
    # The best hit comes first, of whichever session.
    hits = await value(everything, "search", query="secret walk", limit=1)
    assert [hit["title"] for hit in hits] == ["A secret walk"]
    named = serve("--session", "A walk on the north wall", "--session", "A secret walk")
    best = await value(everything, "search", query="walk", limit=1)
    assert await value(named, "search", query="walk", limit=1) == best


async def test_messages_are_read(serve: Serve):
    server = serve("--session", "A walk on the north wall")
    (session,) = await value(server, "list_sessions")
    whole = await value(server, "read_session", session=session["session"])
    assert (await server.call("search", {"query": " "})).failed
    assert (await server.call("read_session", {"session": session["session"], "limit": 0})).failed
    assert [message["role"] for message in whole["shown"]] == ["user", "assistant"]
    assert whole["shown"][0]["text"] == "A walk on the north wall"
    rest = await value(server, "read_session", session=session["session"], start=1, limit=1)
    assert rest["shown"] == whole["shown"][1:]


def test_without_a_name_nothing_is_served(run: Run, home: tuple[str, ...]):
    done = run(*home, "mcp", "serve")
    assert done.code
    assert "Nothing is named" in done.err
