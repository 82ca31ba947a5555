"""A recorded request as HTTP: what is shown and copied equals what the upstream received."""

from __future__ import annotations

import asyncio
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from tests.plugins.tap.conftest import recording
from tests.plugins.tap.wire import answering, raw_server, within
from tui_chat.analysis.http_text import as_curl, as_http
from tui_chat.compose import Composed
from tui_chat.store import Store

KEY = "sk-planted-0123456789abcdef"
BODY = '{"model":"m","stream":true,"messages":[{"role":"user","content":"It\'s “%s” \\u00e9"}]}'
REPLY = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}"


async def send(folder: Path, base: str, *lines: str, body: bytes) -> None:
    """Send a request as raw lines through a tap that stores in a folder."""
    async with recording(folder, base) as tap:
        address = tap.base_url.removeprefix("http://")
        client, out = await asyncio.open_connection(*address.split(":"))
        head = [lines[0], f"Host: {address}", *lines[1:]]
        out.write("\r\n".join((*head, f"Content-Length: {len(body)}", "", "")).encode() + body)
        await within(client.read())
        out.close()


async def recorded(make_workspace: Any) -> Composed:
    """Return the recorded request of the only session, as the inspector shows it."""
    workspace, heard = await make_workspace()
    (session,) = workspace.state.sessions
    await workspace.sessions.activate(session.session_id)
    await heard.until(lambda: len(workspace.state.entries) == 2)
    assert await workspace.sent.view_sent(workspace.state.entries[-1].message.id)
    return workspace.state.request.viewed.composed


LINES = (
    "POST /chat/completions?beta=true&key=" + KEY + " HTTP/1.1",
    "Accept: application/json",
    "X-Twice: 1",
    "x-empty:",
    "X-Twice: 2",
    f"Authorization: Bearer {KEY}",
    "content-type: application/json",
    "Accept-Encoding: gzip, br",
)


async def test_the_recorded_head_and_body_are_those_that_the_upstream_received(
    make_workspace: Any, tmp_path: Path
):
    body = (BODY % "ü").encode()
    received: list[bytes] = []
    async with raw_server(answering(REPLY, received)) as port:
        await send(tmp_path, f"http://127.0.0.1:{port}/v1", *LINES, body=body)
    shown = await recorded(make_workspace)
    head, _, sent = received[0].partition(b"\r\n\r\n")
    request, *fields = head.decode().replace(KEY, "[key]").split("\r\n")
    assert shown.body == sent == body
    assert request == f"POST {shown.url.removeprefix(f'http://127.0.0.1:{port}')} HTTP/1.1"
    assert [f"{name}: {value}".strip() for name, value in shown.headers] == [
        field.strip() for field in fields
    ]
    assert shown.key_header is None
    assert KEY not in as_http(shown) + as_curl(shown)


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")
@pytest.mark.parametrize("text", ["ü", "long " * 40_000], ids=["short", "long"])
async def test_the_copied_command_sends_the_same_request(
    make_workspace: Any, tmp_path: Path, text: str
):
    body = (BODY % text).encode()
    received: list[bytes] = []
    async with raw_server(answering(REPLY, received)) as port:
        await send(tmp_path, f"http://127.0.0.1:{port}", *LINES, body=body)
        command = as_curl(await recorded(make_workspace))
        script = tmp_path / "command.sh"
        script.write_text(command, encoding="utf-8")
        environ = {"API_KEY": KEY, "PATH": "/usr/bin:/bin", "NO_PROXY": "*"}
        process = await asyncio.create_subprocess_exec("sh", str(script), env=environ)
        assert await process.wait() == 0
    one, two = (each.partition(b"\r\n\r\n") for each in received)
    assert two[2] == one[2] == body
    assert two[0].split(b"\r\n")[0] == one[0].split(b"\r\n")[0]
    fields = [sorted(line.strip() for line in head.split(b"\r\n")) for head, *_ in (one, two)]
    assert fields[0] == fields[1]


async def test_headers_that_an_older_version_did_not_keep_are_called_rebuilt(
    make_workspace: Any, tmp_path: Path
):
    async with raw_server(answering(REPLY)) as port:
        await send(tmp_path, f"http://127.0.0.1:{port}", *LINES, body=(BODY % "a").encode())
    store = await Store.open(tmp_path / "chat.db", now=time.time, new_id=str)
    async with store:
        await store.database.write(
            lambda tx: tx.run("UPDATE requests SET recipe = json_remove(recipe, '$.headers')")
        )
    workspace, heard = await make_workspace()
    await workspace.sessions.activate(workspace.state.sessions[0].session_id)
    await heard.until(lambda: len(workspace.state.entries) == 2)
    await workspace.sent.view_sent(workspace.state.entries[-1].message.id)
    viewed = workspace.state.request.viewed
    assert viewed.description.endswith("headers rebuilt")
    assert viewed.composed.url.endswith("/chat/completions?beta=true&key=[key]")
    assert not viewed.composed.has_recorded_headers
