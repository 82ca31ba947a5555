"""The proxy between a raw client and a raw upstream: time, ends, refusals and limits."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import struct
from base64 import b64encode

import pytest

from tests.plugins.tap.wire import (
    PATIENCE,
    answering,
    raw_server,
    read_request,
    tap_before,
    tap_with,
    within,
)
from tests.support.tables import each_row
from tui_chat.models.endpoint import Protocol
from tui_chat.plugins.tap.upstreams import protocol_of_call, read_upstream

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
KEY = "sk-planted-0123456789abcdef"
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def request(port: int, body: bytes = b"{}", path: str = "/v1/messages", *more: str) -> bytes:
    lines = [
        f"POST {path} HTTP/1.1",
        f"host: 127.0.0.1:{port}",
        f"x-api-key: {KEY}",
        f"content-length: {len(body)}",
        *more,
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


def chunk(text: str) -> bytes:
    return b"%x\r\n%s\r\n" % (len(text.encode()), text.encode())


async def test_each_event_arrives_before_the_next_one_is_sent():
    arrived = asyncio.Semaphore(0)

    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(HEAD)
        for number in range(20):
            writer.write(chunk(f"event: e\n: comment\n\ndata: {number}\n\n"))
            await arrived.acquire()
        writer.write(b"0\r\n\r\n")
        await reader.read()

    async with tap_with(upstream) as tap:
        reader, writer = await tap.send(request(tap.proxy.port))
        head = await within(reader.readuntil(b"\r\n\r\n"))
        assert b"transfer-encoding: chunked" in head.lower()
        for number in range(20):
            event = chunk(f"event: e\n: comment\n\ndata: {number}\n\n")
            assert await within(reader.readexactly(len(event))) == event
            arrived.release()
        assert await within(reader.readexactly(5)) == b"0\r\n\r\n"
        exchange = await tap.end(writer)
        assert exchange.outcome == "complete"
        assert len(exchange.arrivals) == 20
        assert exchange.began <= exchange.requested <= exchange.first_byte <= exchange.ended


@each_row("reset", [True, False], ids=["reset", "closed"])
async def test_a_cut_response_is_cut_for_the_client(reset: bool):
    got = asyncio.Event()

    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(HEAD + chunk("data: 1\n\n"))
        await got.wait()
        if reset:
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            writer.transport.abort()

    async with tap_with(upstream) as tap:
        reader, writer = await tap.send(request(tap.proxy.port))
        await within(reader.readuntil(b"data: 1\n\n\r\n"))
        got.set()
        assert await within(reader.read()) == b""
        exchange = await tap.end(writer)
        assert exchange.outcome == "upstream cut"
        assert exchange.response.data == b"data: 1\n\n"


async def test_an_upstream_that_closes_before_it_answers_closes_for_the_client():
    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)

    async with tap_with(upstream) as tap:
        reader, writer = await tap.send(request(tap.proxy.port))
        assert await within(reader.read()) == b""
        assert (await tap.end(writer)).outcome == "upstream cut"


@pytest.mark.parametrize("begun", [True, False], ids=["in the response", "before it"])
async def test_a_client_that_leaves_ends_the_request_upstream(begun: bool):
    left = asyncio.Event()
    asked = asyncio.Event()

    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        if begun:
            writer.write(HEAD + chunk("data: 1\n\n"))
        asked.set()
        await reader.read()
        left.set()

    async with tap_with(upstream) as tap:
        reader, writer = await tap.send(request(tap.proxy.port))
        await asyncio.wait_for(asked.wait(), PATIENCE)
        if begun:
            await within(reader.readuntil(b"data: 1\n\n"))
        writer.close()
        await asyncio.wait_for(left.wait(), PATIENCE)
        (exchange,) = await tap.ended()
        assert exchange.outcome == "client disconnected"
        assert exchange.response.data == (b"data: 1\n\n" if begun else b"")


async def test_an_upstream_that_refuses_early_is_heard():
    answer = b"HTTP/1.1 413 Too Large\r\ncontent-length: 4\r\nconnection: close\r\n\r\nlong"

    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()
        writer.write_eof()
        while await reader.read(65536):
            pass

    async with tap_with(upstream) as tap:
        reader, writer = await tap.send(request(tap.proxy.port, b"x" * 3_000_000))
        got = await within(reader.read())
        assert got.startswith(b"HTTP/1.1 413 Too Large\r\n")
        assert got.endswith(b"\r\n\r\nlong")
        exchange = await tap.end(writer)
        assert (exchange.status, exchange.outcome) == (413, "complete")


async def test_expect_100_continue_is_answered_and_passed():
    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        assert await reader.readexactly(5) == b"12345"
        writer.write(OK)
        await reader.read()

    async with tap_with(upstream) as tap:
        reader, writer = await tap.connect()
        head = request(tap.proxy.port, b"12345", "/v1/messages", "Expect: 100-continue")[:-5]
        writer.write(head)
        assert await within(reader.readuntil(b"\r\n\r\n")) == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(b"12345")
        await within(reader.readuntil(b"ok"))
        exchange = await tap.end(writer)
        assert exchange.request.data == b"12345"


async def test_a_slow_reader_slows_the_upstream_and_loses_nothing():
    sent = 0
    size = 64 * 1024 * 1024
    piece = bytes(range(256)) * 256

    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await read_request(reader)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % size)
        while sent < size:
            writer.write(piece)
            sent += len(piece)
            await writer.drain()
        await reader.read()

    async with tap_with(upstream, max_body=1000) as tap:
        reader, writer = await tap.send(request(tap.proxy.port))
        await within(reader.readuntil(b"\r\n\r\n"))
        before = -1
        async with asyncio.timeout(PATIENCE):
            while before != sent:  # until nothing moves any more
                before = sent
                await asyncio.sleep(0.1)
        assert sent < 32 * 1024 * 1024
        got = 0
        while got < size:
            data = await within(reader.read(1 << 20))
            assert data[:256] == (bytes(range(256)) * 2)[got % 256 :][: min(256, len(data))]
            got += len(data)
        exchange = await tap.end(writer)
        assert exchange.outcome == "complete"
        assert (exchange.response.size, exchange.response.is_whole) == (size, False)
        assert exchange.response.data == b""


async def test_a_body_over_the_limit_passes_and_is_noted():
    received: list[bytes] = []
    async with tap_with(answering(OK, received), max_body=4999) as tap:
        reader, writer = await tap.send(request(tap.proxy.port, b"x" * 5000))
        await within(reader.readuntil(b"ok"))
        exchange = await tap.end(writer)
        assert received[0].endswith(b"x" * 5000)
        assert (exchange.request.size, exchange.request.is_whole) == (5000, False)
        assert exchange.response.data == b"ok"


ERRORS = {
    "/v1/messages": {"type": "error", "error": {"type": "api_error"}},
    "/v1/chat/completions": {"error": {"type": "tap_error", "param": None}},
    "/v1beta/models/m:generateContent": {"error": {"code": 502, "status": "UNAVAILABLE"}},
}


@each_row("path", ERRORS)
async def test_an_upstream_that_cannot_be_reached_is_told_from_its_errors(path: str):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        async with tap_before(free.getsockname()[1]) as tap:
            reader, writer = await tap.connect()
            for number in (1, 2):  # the connection stays usable
                writer.write(request(tap.proxy.port, b"x" * 2000, path))
                head = await within(reader.readuntil(b"\r\n\r\n"))
                assert head.startswith(b"HTTP/1.1 502 ")
                length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
                body = json.loads(await within(reader.readexactly(length)))
                assert "tui-chat tap cannot reach http://127.0.0.1" in json.dumps(body)
                assert ERRORS[path].keys() <= body.keys()
                assert ERRORS[path]["error"].items() <= body["error"].items()
                exchange = (await tap.ended(number))[-1]
                assert (exchange.outcome, exchange.request.size) == ("unreachable", 2000)
            writer.close()


@each_row(
    ("data", "status"),
    [
        (b"POST / HTTP/1.1\r\nhost: localhost\r\norigin: https://evil.example\r\n\r\n", 403),
        (b"POST / HTTP/1.1\r\nhost: evil.example\r\n\r\n", 403),
        (b"POST http://api.openai.com/v1 HTTP/1.1\r\nhost: localhost\r\n\r\n", 400),
        (b"CONNECT api.openai.com:443 HTTP/1.1\r\nhost: localhost\r\n\r\n", 405),
        (b"GET / HTTP/1.1\r\nhost: localhost\r\nupgrade: websocket\r\n\r\n", 426),
        (b"GET / HTTP/1.1\r\nhost: localhost\r\nupgrade: h2c, WebSocket\r\n\r\n", 426),
        (b"GET / HTTP/1.1\r\nhost: localhost\r\nupgrade: websocket/13\r\n\r\n", 426),
        (
            b"GET / HTTP/1.1\r\nhost: localhost\r\nupgrade: h2c\r\nupgrade: websocket\r\n\r\n",
            426,
        ),
        (b"GET /v1 HTTP/1.1\r\nhost: localhost\r\nsec-fetch-site: cross-site\r\n\r\n", 403),
        (b"GET /v1 HTTP/1.1\r\nhost: localhost\r\nsec-fetch-site: same-site\r\n\r\n", 403),
        (b"TRACE /v1 HTTP/1.1\r\nhost: localhost\r\n\r\n", 405),
        # What is not HTTP/1.1 is refused by the server, and recorded nowhere.
        (
            b"POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n\r\n",
            0,
        ),
        (b"GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n", 0),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 0),
        (b"GET / HTTP/1.1\r\nx: " + b"y" * 300_000, 0),
    ],
)
async def test_other_requests_are_refused_and_reach_nobody(data: bytes, status: int):
    reached: list[bool] = []

    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reached.append(True)

    async with tap_with(upstream) as tap:
        reader, writer = await tap.connect()
        writer.write(data)
        head, _, body = (
            await within(reader.readuntil(b"}}" if status else b"\r\n\r\n"))
        ).partition(b"\r\n\r\n")
        writer.close()
        assert not reached
        assert [exchange.outcome for exchange in tap.exchanges] == ["refused"] * bool(status)
        assert head.startswith(f"HTTP/1.1 {status or 4}".encode())
        if status:
            assert b"x-tui-chat-tap" in head
            assert json.loads(body)["error"]
            assert status != 426 or "plain requests" in tap.exchanges[0].fault


async def test_what_is_not_http_is_an_upstream_that_cuts():
    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(b"SSH-2.0-x\r\n\r\n" + bytes(range(256)))

    async with tap_with(upstream) as tap:
        reader, writer = await tap.send(request(tap.proxy.port))
        assert await within(reader.read()) == b""
        assert (await tap.end(writer)).outcome == "upstream cut"


async def test_requests_of_one_connection_may_go_to_two_upstreams():
    head = b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n"
    first, second = answering(head + b"one"), answering(head + b"two")
    async with raw_server(first) as one, raw_server(second) as two:
        servers = {
            "/1": read_upstream(f"http://127.0.0.1:{one}"),
            "/2": read_upstream(f"http://127.0.0.1:{two}"),
        }
        async with tap_before(one, route=lambda request: servers[request.target]) as tap:
            reader, writer = await tap.connect()
            paths = ["/1", "/2", "/2", "/1"]
            writer.write(b"".join(request(tap.proxy.port, b"{}", path) for path in paths))
            answers = [await within(reader.readuntil((b"one", b"two")[p == "/2"])) for p in paths]
            assert [answer[-3:] for answer in answers] == [b"one", b"two", b"two", b"one"]
            writer.close()


async def test_credentials_are_masked_in_what_is_kept():
    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert KEY.encode() in await read_request(reader)
        reply = json.dumps({"error": f"Incorrect API key provided: {KEY[:7]}*****cdef."}).encode()
        head = b"HTTP/1.1 401 No\r\nset-cookie: s=%s; path=/\r\ncontent-length: %d\r\n\r\n"
        writer.write(head % (b"session-of-the-user", len(reply)) + reply)
        await reader.read()

    async with tap_with(upstream) as tap:
        reader, writer = await tap.connect()
        secret = f"cookie: a={KEY[::-1]}"
        path = f"/v1/messages?key={KEY}&beta=true&x={KEY}"
        writer.write(request(tap.proxy.port, b"{}", path, secret, f"x-note: it is {KEY}!"))
        got = await within(reader.readuntil(b"}"))
        assert KEY[:7].encode() in got
        exchange = await tap.end(writer)
    masked = exchange.credentials.mask_response(exchange.response.data)
    kept = repr([exchange.target, exchange.headers, exchange.response_headers, masked])
    assert exchange.target == "/v1/messages?key=[key]&beta=true&x=[key]"
    assert ("x-note", "it is [key]!") in exchange.headers
    assert "session-of-the-user" not in kept
    assert KEY not in kept + repr(vars(exchange))
    assert KEY[:7] not in kept
    assert KEY[::-1] not in kept


@each_row(
    ("host", "is_served"),
    [("localhost:1", True), ("127.0.0.1", True), ("[::1]:80", True), ("a.b:1", False)],
)
async def test_only_names_of_this_machine_are_served(host: str, is_served: bool):
    async with tap_with(answering(OK)) as tap:
        data = request(tap.proxy.port).replace(
            f"127.0.0.1:{tap.proxy.port}".encode(), host.encode()
        )
        reader, writer = await tap.send(data)
        head = await within(reader.readuntil(b"\r\n"))
        assert head.startswith(b"HTTP/1.1 200" if is_served else b"HTTP/1.1 403")
        writer.close()


@each_row(
    ("url", "target", "there"),
    [
        ("https://api.openai.com", "/v1/responses?a=b", "https://api.openai.com/v1/responses?a=b"),
        ("https://api.openai.com/v1/", "/v1/responses", "https://api.openai.com/v1/responses"),
        ("https://o.ai/api/v1", "/v1/chat/completions", "https://o.ai/api/v1/chat/completions"),
        ("https://o.ai/api/v1", "/api/v1/models", "https://o.ai/api/v1/models"),
        (
            "https://c.com/backend-api/codex",
            "/responses",
            "https://c.com/backend-api/codex/responses",
        ),
        ("127.0.0.1:9", "/v1?x=/v1", "http://127.0.0.1:9/v1?x=/v1"),
        ("http://[::1]:9/v1", "/a%2Fb//c", "http://[::1]:9/v1/a%2Fb//c"),
    ],
)
def test_the_path_of_an_upstream_comes_in_front_once(url: str, target: str, there: str):
    upstream = read_upstream(url)
    origin = upstream.url.removesuffix(upstream.path)
    assert origin + upstream.target(target) == there


CALLS = [
    ("POST", "/v1/chat/completions", {}, Protocol.OPENAI_CHAT),
    ("POST", "/openai/deployments/x/chat/completions?v=1", {}, Protocol.OPENAI_CHAT),
    ("POST", "/backend-api/codex/responses", {}, Protocol.OPENAI_RESPONSES),
    ("POST", "/v1/messages?beta=true", {}, Protocol.ANTHROPIC),
    ("POST", "/v1beta/models/g:streamGenerateContent?alt=sse", {}, Protocol.GEMINI),
    ("POST", "/api/chat", {}, Protocol.OLLAMA),
    ("POST", "/prompt", {"contents": [{}]}, Protocol.GEMINI),
    ("POST", "/prompt", {"messages": [{}], "model": "claude-3"}, Protocol.ANTHROPIC),
    ("POST", "/v1/messages/count_tokens", {"messages": [{}]}, None),
    ("POST", "/v1/messages/batches", {"messages": [{}]}, None),
    ("POST", "/v1/responses/input_tokens", {"input": [{}]}, None),
    ("POST", "/v1/embeddings", {"input": ["x"]}, None),
    ("POST", "/v1beta/models/g:countTokens", {"contents": [{}]}, None),
    ("GET", "/v1/models", {}, None),
    ("GET", "/v1/responses", {}, None),
]


@each_row(("method", "target", "body", "protocol"), CALLS)
def test_model_calls_are_told_from_others(method: str, target: str, body, protocol):
    assert protocol_of_call(method, target, body) is protocol


async def test_an_http_proxy_is_used_on_the_way_to_the_upstream():
    answer = OK.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n")
    received: list[bytes] = []
    async with raw_server(answering(answer, received)) as port:
        proxy = f"http://me:secret%20word@127.0.0.1:{port}"
        async with tap_before(9, proxy=proxy) as tap:
            reader, writer = await tap.send(request(tap.proxy.port))
            assert (await within(reader.read())).endswith(b"ok")
            exchange = await tap.end(writer)
    head = received[0].lower()
    assert exchange.outcome == "complete"
    assert head.startswith(b"post http://127.0.0.1:9/v1/messages http/1.1\r\n")
    assert b"\r\nproxy-authorization: basic " + b64encode(b"me:secret word").lower() in head


@each_row(
    ("proxy", "told"),
    [
        ("http://me:secret@127.0.0.1:{port}", "could not connect through a proxy|refused to pass"),
        ("env:NO_SUCH_VARIABLE", "NO_SUCH_VARIABLE, which is not set"),
        ("ftp://me:secret@x", "not the URL of an HTTP or SOCKS proxy"),
    ],
)
async def test_a_proxy_that_cannot_be_used_is_told_without_its_password(proxy: str, told: str):
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n")
        await writer.drain()

    async with raw_server(refuse) as port:
        route = read_upstream("https://127.0.0.1:9", proxy=proxy.format(port=port))
        async with tap_before(9, route=lambda request: route) as tap:
            reader, writer = await tap.send(request(tap.proxy.port))
            answer = (await within(reader.readuntil(b"}}"))).decode()
            writer.close()
    assert answer.startswith("HTTP/1.1 502")
    assert re.search(told, answer)
    assert "secret" not in answer


@pytest.mark.parametrize("switches", [True, False], ids=["always", "if asked"])
async def test_a_connection_stays_http_1_1(switches: bool):
    asked: list[bytes] = []

    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            asked.append(await read_request(reader))
            if switches or b"upgrade" in asked[-1].lower():
                head = b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: h2c"
                writer.write(head + b"\r\n\r\n\0\0\0\4\0\0\0\0\0")
                await reader.read()
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello")

    async with tap_with(upstream) as tap:
        reader, writer = await tap.connect()
        wish = ("Connection: Upgrade, HTTP2-Settings, keep-alive", "Upgrade: h2c")
        data = request(tap.proxy.port, b"{}", "/v1/messages", *wish, "HTTP2-Settings: AAMAAABk")
        for _ in range(1 if switches else 2):  # the connection goes on
            writer.write(data)
            head = await within(reader.read() if switches else reader.readuntil(b"hello"))
            assert head.startswith(b"" if switches else b"HTTP/1.1 200 ")
        writer.close()
        exchange, *_ = await tap.ended()
        assert exchange.outcome == ("upstream cut" if switches else "complete")
    head = asked[0].partition(b"\r\n\r\n")[0]
    assert b"h2c" not in head
    assert b"HTTP2-Settings" not in head
    assert b"\r\nConnection: keep-alive" in head
