"""`tui-chat mcp serve`: our own history, read by our own client."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import Run
from tests.support.sdks import mcp_methods
from tui_chat.plugins.mcp.history_server import TOOLS, HistoryServer, Scope
from tui_chat.plugins.mcp.messages import MODERN, Request
from tui_chat.plugins.mcp.server import Server
from tui_chat.plugins.mcp.settings import ServerSettings
from tui_chat.providers.client import HttpClient
from tui_chat.store import Store

pytestmark = [pytest.mark.slow]
Serve = Callable[..., Server]


@pytest.fixture
def home(run: Run, tmp_path: Path) -> tuple[str, ...]:
    folders = ("--data-dir", str(tmp_path), "--config-dir", str(tmp_path))
    ask = (*folders, "--endpoint", "loopback", "--model", "echo", "ask")
    for text in ("A walk on the north wall", "A secret walk"):
        assert run(*ask, text).code == 0
    assert run(*folders, "sessions", "tag", "A walk on the north wall", "--add", "out").code == 0
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
    assert [tool.name for tool in await server.tools()] == [tool["name"] for tool in TOOLS]
    (session,) = await value(server, "list_sessions")
    assert session["title"] == "A walk on the north wall"
    hits = await value(server, "search", query="walk")
    assert {hit["session"] for hit in hits} == {session["session"]}
    everything = serve("--all")
    sessions = await value(everything, "list_sessions")
    assert len(sessions) == 2
    other = next(one["session"] for one in sessions if one != session)
    for tool in ("read_session", "list_requests", "read_request"):
        result = await server.call(tool, {"session": other, "message": "x"})
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


async def test_messages_and_requests_are_read(serve: Serve):
    server = serve("--session", "A walk on the north wall")
    (session,) = await value(server, "list_sessions")
    whole = await value(server, "read_session", session=session["session"])
    assert [message["role"] for message in whole["shown"]] == ["user", "assistant"]
    assert whole["shown"][0]["text"] == "A walk on the north wall"
    rest = await value(server, "read_session", session=session["session"], start=1, limit=1)
    assert rest["shown"] == whole["shown"][1:]
    (request,) = await value(server, "list_requests", session=session["session"])
    body = await value(
        server, "read_request", session=session["session"], message=request["message"]
    )
    assert body["messages"] == [{"role": "user", "content": "A walk on the north wall"}]


def test_without_a_name_nothing_is_served(run: Run, home: tuple[str, ...]):
    done = run(*home, "mcp", "serve")
    assert done.code
    assert "Nothing is named" in done.err


@pytest.mark.parametrize("is_modern", [True, False])
async def test_the_official_types_accept_the_answers(is_modern: bool):
    version = MODERN if is_modern else "2025-11-25"
    meta = {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    base: dict[str, Any] = {"_meta": meta} if is_modern else {}
    begin = "server/discover" if is_modern else "initialize"
    call = {"name": "search", "arguments": {"query": "x"}}
    async with await Store.open_in_memory(now=lambda: 0.0, new_id=lambda: "1") as store:
        server = HistoryServer(store, Scope(everything=True))
        for method, params in ((begin, {}), ("tools/list", {}), ("tools/call", call)):
            answer = await server.answer(Request(1, method, {**base, **params}))
            mcp_methods.validate_server_result(method, version, answer["result"])
        unknown = await server.answer(Request(2, "resources/list", base))
        assert unknown["error"]["code"] == -32601
        no_tool = await server.answer(Request(3, "tools/call", {**base, "name": "delete"}))
        assert no_tool["error"]["code"] == -32602


async def test_another_version_is_told_ours():
    async with await Store.open_in_memory(now=lambda: 0.0, new_id=lambda: "1") as store:
        meta = {"io.modelcontextprotocol/protocolVersion": "2099-01-01"}
        request = Request(1, "server/discover", {"_meta": meta})
        answer = await HistoryServer(store, Scope()).answer(request)
        assert answer["error"]["code"] == -32022
        assert MODERN in answer["error"]["data"]["supported"]
