"""Servers over HTTP: headers, sessions, redirects, streams, and a server that misbehaves."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tui_chat.errors import ProviderError, Refused, TooLarge
from tui_chat.plugins.mcp.server import Server
from tui_chat.plugins.mcp.settings import ServerSettings
from tui_chat.providers.client import HttpClient

DISCOVERED = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "ttlMs": 0}
SCHEMA = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
TOOLS = {
    "tools": [
        {"name": "tööl", "inputSchema": SCHEMA},
        {"name": "b", "inputSchema": {"type": "object"}},
    ]
}


class Site:
    """A server on a loopback port, whose answers a test sets."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, str], Any]] = []
        self.answers: dict[str, Any] = {"server/discover": DISCOVERED, "tools/list": TOOLS}
        """By method: a result; bytes of a stream; a function of the handler and the message."""
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                size = int(self.headers.get("Content-Length", 0))
                message = json.loads(self.rfile.read(size) or b"{}")
                headers = {name.lower(): value for name, value in self.headers.items()}
                site.requests.append((self.path, headers, message))
                answer = site.answers.get(message.get("method"))
                if callable(answer):
                    answer(self, message)
                elif isinstance(answer, bytes):
                    self.reply(200, answer, "text/event-stream")
                elif answer is None:
                    error = {"code": -32601, "message": "Method not found"}
                    body = {"jsonrpc": "2.0", "id": message.get("id"), "error": error}
                    self.reply(404 if "id" in message else 202, json.dumps(body).encode())
                else:
                    body = {"jsonrpc": "2.0", "id": message["id"], "result": answer}
                    self.reply(200, json.dumps(body).encode())

            do_DELETE = do_POST

            def reply(
                self, status: int, body: bytes, kind: str = "application/json", **headers: str
            ) -> None:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Keep quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/mcp"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def of(self, method: str) -> list[dict[str, str]]:
        return [headers for _, headers, message in self.requests if message.get("method") == method]


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()
    yield made
    made.close()


def server(site: Site, environ: dict[str, str] | None = None, **settings: Any) -> Server:
    values: dict[str, Any] = {"url": site.url, "timeout": 20.0, **settings}
    return Server(ServerSettings("web", **values), HttpClient(environ=environ or {}))


def event(**message: Any) -> bytes:
    return f"data: {json.dumps({'jsonrpc': '2.0', **message})}\n\n".encode()


def streaming(*before: dict[str, Any]) -> Callable[[Any, Any], None]:
    """Return an answer as a stream of events: some messages, then the result."""

    def answer(handler: Any, message: Any) -> None:
        token = message["params"].get("_meta", {}).get("progressToken")
        result = {"content": [{"type": "text", "text": "done"}]}
        events = [
            event(**(one | {"params": {**one["params"], "progressToken": token}})) for one in before
        ]
        body = (
            b": comment\n\ndata: log\n\n"
            + b"".join(events)
            + event(id=message["id"], result=result)
        )
        handler.reply(200, body, "text/event-stream")

    return answer


async def test_the_modern_era_repeats_method_name_and_arguments_in_headers(site: Site):
    site.answers["tools/call"] = {"content": [{"type": "text", "text": "ok"}]}
    one = server(site)
    assert [tool.name for tool in await one.tools()] == ["tööl", "b"]
    assert (await one.call("tööl", {"region": " eu\n"})).text == "ok"
    (headers,) = site.of("tools/call")
    assert headers["mcp-protocol-version"] == "2026-07-28"
    assert headers["mcp-method"] == "tools/call"
    assert headers["mcp-name"] == "=?base64?dMO2w7Zs?="
    assert headers["mcp-param-region"] == "=?base64?IGV1Cg==?="
    assert "mcp-session-id" not in headers


async def test_a_stream_brings_the_answer(site: Site):
    half = {"method": "notifications/progress", "params": {"progress": 1, "total": 2}}
    site.answers["tools/call"] = streaming(half)
    one = server(site)
    assert (await one.call("b", {})).text == "done"
    assert one.noise == 1


def legacy(site: Site) -> None:
    """Make the site one of the era with sessions."""
    sessions = iter(("one", "two", "three"))

    def begin(handler: Any, message: Any) -> None:
        info = {"name": "site", "version": "1"}
        result = {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": info,
        }
        body = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        handler.reply(200, json.dumps(body).encode(), Mcp_Session_Id=next(sessions))

    def bad_request(handler: Any, _: Any) -> None:
        handler.reply(400, b"Bad Request: no session", "text/plain")

    site.answers |= {"server/discover": bad_request, "initialize": begin}


async def test_the_legacy_era_has_a_session_which_is_ended(site: Site):
    legacy(site)
    one = server(site)
    await one.tools()
    assert one.info.protocol == "2025-06-18"
    (headers,) = site.of("tools/list")
    assert headers["mcp-session-id"] == "one"
    assert headers["mcp-protocol-version"] == "2025-06-18"
    assert "mcp-method" not in headers
    assert len(site.of("notifications/initialized")) == 1
    await one.close()
    assert site.requests[-1][1]["mcp-session-id"] == "one"
    assert site.requests[-1][2] == {}  # DELETE


async def test_a_session_that_is_over_is_begun_anew(site: Site):
    legacy(site)
    calls: list[str] = []

    def call(handler: Any, message: Any) -> None:
        calls.append(handler.headers["mcp-session-id"])
        if len(calls) == 1:
            handler.reply(404, b"gone", "text/plain")
        else:
            streaming()(handler, message)

    site.answers["tools/call"] = call
    assert (await server(site).call("b", {})).text == "done"
    assert calls == ["one", "two"]


async def test_headers_are_references_and_are_masked_where_they_come_back(site: Site):
    site.answers["tools/call"] = lambda handler, message: handler.reply(
        200,
        event(
            id=message["id"],
            result={"content": [{"type": "text", "text": handler.headers["X-Key"]}]},
        ),
        "text/event-stream",
    )
    environ = {
        "MY_KEY": "sk-very-secret",
        "TOKEN": "token-very-secret",
        "OPENAI_API_KEY": "sk-ours",
    }
    headers = (("X-Key", "env:MY_KEY"), ("Authorization", "Bearer ${TOKEN}"))
    result = await server(site, environ, headers=headers).call("b", {})
    (sent,) = site.of("tools/call")
    assert (sent["x-key"], sent["authorization"]) == ("sk-very-secret", "Bearer token-very-secret")
    assert "secret" not in result.text
    assert "sk-ours" not in json.dumps([headers for _, headers, _ in site.requests])


async def test_a_redirect_to_another_host_is_not_followed(site: Site):
    other = Site()
    try:
        site.answers["tools/list"] = lambda handler, _: handler.reply(307, b"", Location=other.url)
        with pytest.raises(Refused, match=r"Redirect to .* not followed"):
            await server(site).tools()
        assert other.requests == []
    finally:
        other.close()


async def test_a_redirect_on_the_same_host_is_followed(site: Site):
    site.answers["tools/list"] = lambda handler, message: (
        handler.reply(307, b"", Location="/mcp/")
        if handler.path == "/mcp"
        else handler.reply(
            200, json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": TOOLS}).encode()
        )
    )
    assert len(await server(site).tools()) == 2
    site.answers["tools/list"] = lambda handler, _: handler.reply(307, b"", Location="/mcp")
    with pytest.raises(ProviderError, match=r"Redirect to .* not followed"):
        await server(site).tools()


@pytest.mark.parametrize(
    ("status", "advice"),
    [(401, "`tui-chat mcp login web`, or `headers` with a key in [mcp.web]."), (500, "")],
)
async def test_a_refusal_says_its_status(site: Site, status: int, advice: str):
    site.answers["tools/list"] = lambda handler, _: handler.reply(status, b"\x1b[2Jno", "text/html")
    with pytest.raises(Refused, match=f"status {status}: ␛\\[2Jno") as caught:
        await server(site).tools()
    assert caught.value.advice == advice


async def test_a_stream_without_an_answer_is_told_and_ends_nothing_else(site: Site):
    site.answers["tools/call"] = event(method="notifications/message", params={}) + b"data: {\n\n"
    one = server(site)
    result = await one.call("b", {})
    assert result.failed
    assert "ended without a response" in result.text
    assert one.noise == 1
    site.answers["tools/call"] = lambda handler, _: handler.connection.close()
    assert (await one.call("b", {})).failed
    site.answers["tools/call"] = streaming()
    assert (await one.call("b", {})).text == "done"


async def test_a_server_that_is_not_there_is_told(site: Site):
    site.close()
    with pytest.raises(ProviderError, match=r"127\.0\.0\.1") as caught:
        await server(site).tools()
    assert caught.value.advice == "Start it, or check `url` in [mcp.web]."


async def test_a_stream_without_end_ends_with_the_timeout(site: Site):
    def flood(handler: Any, _: Any) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.end_headers()
        with suppress(OSError):
            while True:
                handler.wfile.write(event(method="notifications/message", params={}) * 100)

    site.answers["tools/call"] = flood
    one = server(site, timeout=1.0)
    result = await one.call("b", {})
    assert "did not answer within 1 seconds" in result.text
    await one.close()


async def test_a_body_without_end_is_refused(site: Site, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tui_chat.plugins.mcp.http_transport.MESSAGE_SIZE", 10_000)
    site.answers["tools/list"] = lambda handler, _: handler.reply(200, b"x" * 50_000)
    with pytest.raises(TooLarge):
        await server(site).tools()


async def test_a_tool_with_an_invalid_header_is_not_offered(site: Site):
    marked = {"type": "number", "x-mcp-header": "N"}
    bad = {"type": "object", "properties": {"n": marked}}
    site.answers["tools/list"] = {"tools": [{"name": "bad", "inputSchema": bad}, *TOOLS["tools"]]}
    one = server(site)
    assert [tool.name for tool in await one.tools()] == ["tööl", "b"]
    assert len(one.tool_faults) == 1


async def test_a_schema_without_a_type_is_one_of_an_object(site: Site):
    untyped = {"properties": {"n": {"type": "number"}}}
    site.answers["tools/list"] = {
        "tools": [{"name": "a", "inputSchema": untyped}, {"name": "b", "inputSchema": {}}]
    }
    schemas = [tool.definition.parameters for tool in await server(site).tools()]
    assert schemas == [{**untyped, "type": "object"}, {"type": "object"}]
