"""Recorded requests: as HTTP, as HAR, and as messages."""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from base64 import b64encode
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.plugins.tap.conftest import recording
from tests.plugins.tap.wire import answering, raw_server, within
from tests.support.reading import read, said
from tests.support.vendors import serve
from tests.support.workspace import settled
from tui_chat.analysis.http_text import as_curl, as_http
from tui_chat.compose import Composed
from tui_chat.models.endpoint import Protocol
from tui_chat.store import Store
from tui_chat.workspace.exchange import SentRequest

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


# --- Sessions that the tap recorded -------------------------------------------------------


TOOLS = [{"name": "weather", "input_schema": {"type": "object"}}]
REQUEST: dict[str, Any] = {
    "model": "thinker",
    "max_tokens": 300,
    "system": [{"type": "text", "text": "You are terse.", "cache_control": {"type": "ephemeral"}}],
    "tools": TOOLS,
    "messages": [{"role": "user", "content": "What is the weather?"}],
}


async def record(folder: Path, *bodies: dict[str, Any], first_id: int = 1) -> None:
    """Send requests through a tap of another program that stores in the same file."""
    async with (
        serve() as server,
        recording(folder, server.base_url, first_id=first_id, endpoint="loopback-anthropic") as tap,
        httpx.AsyncClient(headers={"anthropic-version": "2023-06-01"}) as client,
    ):
        for body in bodies:
            url = f"{tap.base_url}/v1/messages"
            assert (await client.post(url, json=body)).status_code == 200


async def open_recorded(make_workspace: Any, folder: Path) -> tuple[Any, Any, Any]:
    workspace, heard = await make_workspace()
    await record(folder, REQUEST)
    await workspace.windows.check()
    (session,) = workspace.state.sessions
    assert (session.title, session.tags) == ("What is the weather?", ("tap",))
    await workspace.sessions.activate(session.session_id)
    await heard.until(lambda: len(workspace.state.entries) == 3)
    return workspace, heard, workspace.state.entries[-1]


async def test_a_recorded_request_is_shown_exactly_sent_elsewhere_and_continued(
    make_workspace, tmp_path: Path
):
    workspace, heard, reply = await open_recorded(make_workspace, tmp_path)
    assert await workspace.sent.view_sent(reply.message.id)
    viewed = workspace.state.request.viewed
    assert viewed.description.startswith("recorded at ")
    assert viewed.description.endswith(" · exact bytes")
    assert viewed.composed.protocol is Protocol.ANTHROPIC
    sent: SentRequest = await workspace.sent.request(reply.message.id)
    assert sent.body is not None
    assert viewed.composed.payload.body == sent.body
    assert [tool.name for tool in viewed.composed.envelope.tools] == ["weather"]

    assert await workspace.replies.replay(reply.message.id, "loopback", "mirror")
    await settled(workspace, heard)
    answer = workspace.state.entries[-1]
    assert (answer.model, answer.siblings) == ("mirror", 2)
    assert "You are terse." in answer.message.content
    assert "`weather`" in answer.message.content
    sent = await workspace.sent.request(answer.message.id)
    assert sent.composed is not None
    assert sent.composed.payload.sha256 == sent.record.sha256

    await workspace.replies.submit("And tomorrow?", session_id=workspace.state.session_id)
    await settled(workspace, heard)
    roles = [entry.message.role for entry in workspace.state.entries]
    assert roles == ["system", "user", "assistant", "user", "assistant"]

    await workspace.sent.save("Weather", viewed)
    await heard.until(lambda: workspace.state.session.title == "Weather")
    assert workspace.state.preset.messages[0].content == "You are terse."
    assert workspace.state.preset.messages[0].cache_control == "5m"


async def test_another_call_of_the_conversation_appears_in_the_open_session(
    make_workspace, tmp_path: Path
):
    workspace, heard = await make_workspace()
    first = REQUEST["messages"][0]
    reply = {"role": "assistant", "content": "Rain."}
    await record(
        tmp_path, REQUEST, {**REQUEST, "messages": [first, reply, {**first, "content": "Go"}]}
    )
    await workspace.windows.check()
    (session,) = workspace.state.sessions
    await workspace.sessions.activate(session.session_id)
    await heard.until(lambda: len(workspace.state.entries) == 5)
    texts = [entry.message.content for entry in workspace.state.entries]
    assert texts[:4] == ["You are terse.", "What is the weather?", "Rain.", "Go"]


async def test_a_recorded_request_is_compared_with_the_one_before_it(
    make_workspace, tmp_path: Path
):
    workspace, heard = await make_workspace()
    text = "The mill is old. " * 400
    system = [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]
    first = REQUEST | {"model": "thinker", "system": system}
    changed = [{**system[0], "text": "Now: " + text}]
    reply = [{"role": "assistant", "content": "Dry."}, {"role": "user", "content": "And later?"}]
    second = first | {"system": changed, "messages": [*REQUEST["messages"], *reply]}
    await record(tmp_path, first, second)
    await workspace.windows.check()
    (session,) = workspace.state.sessions
    await workspace.sessions.activate(session.session_id)
    await heard.until(lambda: len(workspace.state.entries) == 5)
    assert await workspace.sent.view_sent(workspace.state.entries[-1].message.id)
    viewed = workspace.state.request.viewed
    assert b"And later?" not in viewed.before.payload.body
    base = workspace.requests.comparison()
    assert (base.name, base.payload) == ("the request before it", viewed.before.payload)
    earliest, _ = await workspace.store.requests.list(session.session_id)
    assert await workspace.sent.view_sent(earliest.message_id)
    base = workspace.requests.comparison()
    assert base.payload is None, "not with itself"
    assert base.reason.startswith("This session has no earlier recorded Anthropic request.")


# --- Conversations of the calls in HAR files ----------------------------------------------


def har(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"log": {"version": "1.2", "creator": {}, "entries": list(entries)}}


def call(messages: list[Any], reply: str, **content: Any) -> dict[str, Any]:
    body = json.dumps({"model": "m", "messages": messages})
    return {
        "startedDateTime": "2026-01-01T00:00:00Z",
        "request": {
            "method": "POST",
            "url": "https://example.com/v1/chat/completions?key=sk-secret",
            "headers": [{"name": "authorization", "value": "Bearer sk-secret"}],
            "postData": {"text": body},
        },
        "response": {"status": 200, "content": {"text": reply, **content}},
    }


def test_calls_of_a_har_file_become_a_conversation_without_keys():
    user, more = {"role": "user", "content": "Hi"}, {"role": "user", "content": "More"}
    stream = 'data: {"choices": [{"delta": {"content": "Hello"}, "finish_reason": "stop"}]}\r\n\r\n'
    whole = json.dumps({"choices": [{"message": {"content": "Bye"}, "finish_reason": "stop"}]})
    [found] = read(har(
        {"request": {"method": "GET", "url": "https://example.com/"}},
        {"request": 5},
        call([user], b64encode(stream.encode()).decode(), encoding="base64"),
        call([user, {"role": "assistant", "content": "Hello"}, more], whole),
    ))  # fmt: skip
    assert found.transcript is not None
    assert said(found.transcript) == [
        ("user", "Hi"), ("assistant", "Hello"), ("user", "More"), ("assistant", "Bye"),
    ]  # fmt: skip
    assert "sk-secret" not in repr(found)


def test_a_call_that_failed_keeps_its_messages():
    [found] = read(har(call([{"role": "user", "content": "Hi"}], "<html>")))
    assert found.transcript is not None
    assert said(found.transcript) == [("user", "Hi")]
    assert len(found.notes) == 1


def test_a_har_file_without_calls_says_so():
    [found] = read(har())
    assert found.fault == "has no call of a provider"
