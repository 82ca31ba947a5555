"""A server of the official package, over each transport and behind its own login."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from tests.support.command_line import Run
from tui_chat.errors import Refused
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

server.run(sys.argv[1], **({"port": int(sys.argv[2])} if sys.argv[2:] else {}))
"""

LOGIN = """
import sys
from mcp.server.auth.provider import AuthorizationCode, AccessToken, RefreshToken
from mcp.server.auth.provider import construct_redirect_uri
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthToken

class Provider:
    clients, codes = {}, {}

    async def get_client(self, client_id):
        return self.clients.get(client_id)

    async def register_client(self, client_info):
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client, params):
        self.codes["code-1"] = AuthorizationCode(
            code="code-1", scopes=[], expires_at=9e9, client_id=client.client_id,
            code_challenge=params.code_challenge, redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=True, resource=params.resource,
        )
        return construct_redirect_uri(str(params.redirect_uri), code="code-1", state=params.state)

    async def load_authorization_code(self, client, code):
        return self.codes.get(code)

    async def exchange_authorization_code(self, client, code):
        return OAuthToken(access_token="first-token", expires_in=3600, refresh_token="again")

    async def load_access_token(self, token):
        if token == "first-token":
            return AccessToken(token=token, client_id="c", scopes=[])

url = f"http://127.0.0.1:{sys.argv[2]}"
auth = AuthSettings(
    issuer_url=url, resource_server_url=f"{url}/mcp", validate_token_resource=False,
    client_registration_options=ClientRegistrationOptions(enabled=True),
)
server = MCPServer("closed", auth=auth, auth_server_provider=Provider(), log_level="ERROR")

@server.tool()
def secret() -> str:
    return "the token is first-token"

server.run("streamable-http", port=int(sys.argv[2]))
"""


@pytest.fixture
async def start() -> AsyncIterator[Callable[..., Any]]:
    processes: list[subprocess.Popen[bytes]] = []
    servers: list[Server] = []

    async def begin(transport: str, script: str = SCRIPT, **more: Any) -> Server:
        arguments = ("-c", script, transport)
        values: dict[str, Any] = {"command": sys.executable, "args": arguments}
        if transport != "stdio":
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                port = free.getsockname()[1]
            processes.append(subprocess.Popen([sys.executable, *arguments, str(port)]))
            values = {"url": f"http://127.0.0.1:{port}/{'sse' if transport == 'sse' else 'mcp'}"}
            values["transport"] = "sse" if transport == "sse" else "http"
            await listening(port)
        settings = ServerSettings("peer", timeout=20.0, **values)
        servers.append(Server(settings, HttpClient(), **more))
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
async def test_tools(start: Callable[..., Any], transport: str, protocol: str):
    server = await start(transport)
    assert [tool.name for tool in await server.tools()] == ["add", "count"]
    assert server.info == ("official", "1.0", protocol)
    assert (await server.call("add", {"a": 1, "b": 2})).text == "3"
    wrong = await server.call("add", {"a": "x", "b": 2})
    assert wrong.failed
    assert (await server.call("count", {"to": 2})).text == "counted"
    await server.close()
    assert server.state == "idle"


async def test_a_login_is_made_once_and_kept(start: Callable[..., Any], run: Run, tmp_path: Path):
    closed = await start("http", LOGIN, data_dir=tmp_path)
    with pytest.raises(Refused, match="status 401") as caught:
        await closed.tools()
    assert "tui-chat mcp login peer" in caught.value.advice
    folders = ("--data-dir", str(tmp_path), "--config-dir", str(tmp_path))
    assert run(*folders, "mcp", "add", "peer", closed.settings.url).code == 0
    command = [sys.executable, "-m", "tui_chat", *folders, "mcp", "login", "peer"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        await asyncio.to_thread(process.stdout.readline)
        address = (await asyncio.to_thread(process.stdout.readline)).strip()
        assert "&resource=" in address, "it is whole"
        page = await asyncio.to_thread(urlopen, address)
        assert b"You are logged in" in page.read()
        words = await asyncio.to_thread(process.stdout.read)
    assert (process.returncode, words) == (0, "Logged in. “peer” has 1 tool.\n")
    kept = tmp_path / "mcp-logins.json"
    assert sys.platform == "win32" or kept.stat().st_mode & 0o777 == 0o600
    await closed.close()
    result = await closed.call("secret", {})
    assert result.text == "the token is [key]"
