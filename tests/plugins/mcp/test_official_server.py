"""A server of the official package, over each transport and behind its own login."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from tui_chat.plugins.mcp.server import Server
from tui_chat.plugins.mcp.settings import ServerSettings
from tui_chat.providers.client import HttpClient

pytestmark = [pytest.mark.slow]

SCRIPT = """
import sys
from pydantic import BaseModel
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.prompts.base import UserMessage

class Who(BaseModel):
    name: str

server = MCPServer("official", version="1.0", log_level="ERROR")

@server.tool()
def add(a: int, b: int) -> int:
    return a + b

@server.tool()
async def count(to: int, context: Context) -> str:
    for n in range(to):
        await context.report_progress(n + 1, to, "counting")
    return "counted"

@server.prompt()
def greet(city: str) -> str:
    return f"Greet {city}."

@server.resource("notes://{name}")
def note(name: str) -> str:
    return f"Note {name}."

server.run(sys.argv[1], **({"port": int(sys.argv[2])} if sys.argv[2:] else {}))
"""


@pytest.fixture
async def start() -> AsyncIterator[Callable[..., Any]]:
    processes: list[subprocess.Popen[bytes]] = []
    servers: list[Server] = []

    async def begin(transport: str) -> Server:
        arguments = ("-c", SCRIPT, transport)
        values: dict[str, Any] = {"command": sys.executable, "args": arguments}
        if transport != "stdio":
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                port = free.getsockname()[1]
            processes.append(subprocess.Popen([sys.executable, *arguments, str(port)]))
            values = {"url": f"http://127.0.0.1:{port}/{'sse' if transport == 'sse' else 'mcp'}"}
            values["transport"] = "sse" if transport == "sse" else "http"
            await listening(port)
        servers.append(Server(ServerSettings("peer", timeout=20.0, **values), HttpClient()))
        return servers[-1]

    yield begin
    for server in servers:
        await server.close()
    for process in processes:
        process.kill()
        process.wait()


async def listening(port: int) -> None:
    for _ in range(200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        await asyncio.sleep(0.1)
    raise AssertionError("the server does not listen")


@pytest.mark.parametrize(
    ("transport", "protocol"),
    [("stdio", "2026-07-28"), ("streamable-http", "2026-07-28"), ("sse", "2026-07-28")],
)
async def test_tools_prompts_and_documents(
    start: Callable[..., Any], transport: str, protocol: str
):
    server = await start(transport)
    assert [tool.name for tool in await server.tools()] == ["add", "count"]
    assert server.info == ("official", "1.0", protocol)
    assert (await server.call("add", {"a": 1, "b": 2})).text == "3"
    wrong = await server.call("add", {"a": "x", "b": 2})
    assert wrong.failed
    seen: list[object] = []
    result = await server.call("count", {"to": 2}, lambda *values: seen.append(values))
    assert result.text == "counted"
    assert seen == [(1, 2, "counting"), (2, 2, "counting")]
    (prompt,) = await server.prompts()
    (message,) = await server.prompt(prompt.name, {"city": "Oslo"})
    assert message.content == "Greet Oslo."
    assert [document.uri for document in await server.documents()] == ["notes://{name}"]
    assert await server.read("notes://a") == (b"Note a.",)
    await server.close()
    assert server.state == "idle"
