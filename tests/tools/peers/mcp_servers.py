"""Servers that are not ours.

    TUI_CHAT_PEERS=1 uv run pytest tests/tools/peers/mcp_servers.py

They are installed into a temporary folder: server-everything from npm; the servers for time, git
and fetch from PyPI. `TUI_CHAT_MCP_PEERS=FOLDER` takes a virtual
environment with them, and with `node_modules` in it.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import venv
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from tui_chat.plugins.mcp.elicitation import Question, Reaction
from tui_chat.plugins.mcp.server import Server
from tui_chat.plugins.mcp.settings import ServerSettings
from tui_chat.providers.client import HttpClient

pytestmark = [pytest.mark.peer]
PACKAGES = ("mcp-server-time", "mcp-server-git", "mcp-server-fetch")
EVERYTHING = "@modelcontextprotocol/server-everything"
Start = Callable[..., Server]


@pytest.fixture(scope="session")
def peers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the installed peers."""
    if os.environ.get("TUI_CHAT_PEERS") != "1":
        pytest.skip("a peer test: set TUI_CHAT_PEERS=1 to install and run the peers")
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("a peer test: node and npm are not on this machine")
    if given := os.environ.get("TUI_CHAT_MCP_PEERS"):
        return Path(given)
    folder = tmp_path_factory.mktemp("peers")
    venv.create(folder, with_pip=True)
    npm = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", EVERYTHING]
    for command in ([folder / "bin" / "pip", "install", "-q", *PACKAGES], npm):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
        if done.returncode:
            pytest.skip(f"a peer test: the peers could not be installed: {done.stderr[-300:]}")
    return folder


@pytest.fixture
async def start(peers: Path) -> AsyncIterator[Start]:
    client = HttpClient(environ=os.environ)
    servers: list[Server] = []

    def make(ask: Any = None, **settings: Any) -> Server:
        servers.append(Server(ServerSettings("peer", **settings), client, ask=ask))
        return servers[-1]

    yield make
    for server in servers:
        await server.close()
    await client.aclose()


def everything(peers: Path) -> str:
    return str(peers / "node_modules" / EVERYTHING / "dist" / "index.js")


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.fixture
async def http(peers: Path) -> AsyncIterator[Callable[..., Any]]:
    """Return a function that starts a server over HTTP and returns its URL once it listens."""
    processes: list[subprocess.Popen[bytes]] = []

    async def serve(*command: str) -> str:
        port = free_port()
        processes.append(
            subprocess.Popen(
                [word.replace("PORT", str(port)) for word in command],
                env={**os.environ, "PORT": str(port)},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return f"http://127.0.0.1:{port}/mcp"
            await asyncio.sleep(0.1)
        raise AssertionError("the server does not listen")

    yield serve
    for process in processes:
        process.kill()
        process.wait()


async def test_the_server_for_time(peers: Path, start: Start):
    server = start(command=str(peers / "bin" / "mcp-server-time"))
    names = [tool.definition.name for tool in await server.tools()]
    assert names == ["peer__get_current_time", "peer__convert_time"]
    result = await server.call("get_current_time", {"timezone": "UTC"})
    assert json.loads(result.text)["timezone"] == "UTC"
    assert server.info.protocol == "2026-07-28"
    assert (await server.call("get_current_time", {"timezone": "Nowhere"})).failed


async def test_the_server_for_git(peers: Path, start: Start, tmp_path: Path):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    server = start(command=str(peers / "bin" / "mcp-server-git"))
    assert len(await server.tools()) >= 10
    result = await server.call("git_status", {"repo_path": str(tmp_path)})
    assert "No commits yet" in result.text


async def test_the_server_that_fetches(peers: Path, start: Start, http: Callable[..., Any]):
    url = await http(sys.executable, "-m", "http.server", "PORT", "--bind", "127.0.0.1")
    program = str(peers / "bin" / "mcp-server-fetch")
    arguments = ("--allow-private-ips", "--ignore-robots-txt")
    server = start(command=program, args=arguments)
    result = await server.call("fetch", {"url": url.removesuffix("mcp"), "raw": True})
    assert "Directory listing" in result.text
    refused = await start(command=program).call("fetch", {"url": url})
    assert refused.failed


async def everything_works(server: Server) -> None:
    assert server.state == "idle"
    tools = {tool.name for tool in await server.tools()}
    assert server.info.protocol == "2025-11-25"
    assert {"echo", "get-sum", "get-tiny-image"} <= tools
    assert "5" in (await server.call("get-sum", {"a": 2, "b": 3})).text
    image = await server.call("get-tiny-image", {})
    assert [part.mime for part in image.parts] == ["image/png"]
    weather = await server.call("get-structured-content", {"location": "Chicago"})
    assert json.loads(weather.text) == weather.structured


async def test_server_everything_over_standard_output(peers: Path, start: Start):
    async def ask(_: Question) -> Reaction:
        return Reaction("decline")

    await everything_works(start(ask=ask, command="node", args=(everything(peers), "stdio")))


async def test_server_everything_over_http(peers: Path, start: Start, http: Callable[..., Any]):
    url = await http("node", everything(peers), "streamableHttp")
    await everything_works(start(url=url))


async def test_a_death_in_the_middle_of_a_call(peers: Path, start: Start):
    server = start(command="node", args=(everything(peers), "stdio"))
    await server.tools()
    operation = {"duration": 60, "steps": 2}
    call = asyncio.ensure_future(server.call("trigger-long-running-operation", operation))
    await server.call("echo", {"message": "x"})
    os.kill(server._connection.link._process.pid, 9)  # type: ignore[union-attr]
    result = await call
    assert result.failed
    assert "was killed by SIGKILL" in result.text
    assert "x" in (await server.call("echo", {"message": "x"})).text
