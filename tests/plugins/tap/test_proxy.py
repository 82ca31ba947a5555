"""The proxy between a raw client and a raw upstream: time, ends, refusals and limits."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from base64 import b64encode
from dataclasses import replace

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
from tui_chat.errors import InputError
from tui_chat.models.endpoint import Protocol
from tui_chat.plugins.tap import upstreams
from tui_chat.plugins.tap.http_messages import MessageFault, RequestHead
from tui_chat.plugins.tap.proxy import TapProxy
from tui_chat.plugins.tap.upstreams import (
    Upstream,
    behind_proxy,
    protocol_of_call,
    read_http_proxy,
    read_upstream,
    route_to,
)

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
        assert await within(reader.readexactly(len(HEAD))) == HEAD
        for number in range(20):
            event = chunk(f"event: e\n: comment\n\ndata: {number}\n\n")
            assert await within(reader.readexactly(len(event))) == event
            arrived.release()
        assert await within(reader.readexactly(5)) == b"0\r\n\r\n"
        exchange = await tap.end(writer)
        assert exchange.outcome == "complete"
        assert len(exchange.arrivals) == 20
        assert exchange.began <= exchange.requested <= exchange.first_byte <= exchange.ended


@each_row("delimited", [True, False], ids=["chunked", "until the end"])
@each_row("reset", [True, False], ids=["reset", "closed"])
async def test_a_cut_response_is_cut_for_the_client(delimited: bool, reset: bool):
    got = asyncio.Event()

    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(HEAD + chunk("data: 1\n\n") if delimited else b"HTTP/1.0 200 OK\r\n\r\nhalf")
        await got.wait()
        if reset:
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            writer.transport.abort()

    async with tap_with(upstream) as tap:
        reader, writer = await tap.send(request(tap.proxy.port))
        text = b"data: 1\n\n\r\n" if delimited else b"half"
        await within(reader.readuntil(text))
        got.set()
        if reset and not delimited:
            with pytest.raises(ConnectionResetError):
                await within(reader.read())
        else:
            assert await within(reader.read()) == b""
        exchange = await tap.end(writer)
        is_tidy = not reset and not delimited
        assert exchange.outcome == ("complete" if is_tidy else "upstream cut")
        assert exchange.response.data == (b"data: 1\n\n" if delimited else b"half")


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


async def test_a_client_that_closes_only_its_own_direction_gets_its_response():
    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        assert await reader.read() == b""
        writer.write(OK)

    async with tap_with(upstream) as tap:
        reader, writer = await tap.send(request(tap.proxy.port))
        writer.write_eof()
        assert (await within(reader.read())).endswith(b"ok")
        (exchange,) = await tap.ended()
        assert exchange.outcome == "complete"


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
        assert await within(reader.read()) == answer
        exchange = await tap.end(writer)
        assert (exchange.status, exchange.outcome) == (413, "complete")


async def test_expect_100_continue_is_the_upstreams():
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


async def test_held_bytes_are_counted_and_freed():
    async with tap_with(answering(OK)) as tap:
        tap.proxy.held.take((1 << 28) - 3000)
        reader, writer = await tap.send(request(tap.proxy.port, b"x" * 5000))
        await within(reader.readuntil(b"ok"))
        exchange = await tap.end(writer)
        assert not exchange.request.is_whole
        assert exchange.response.data == b"ok"
        exchange.response.free()
        assert tap.proxy.held.take(3000)
        assert not tap.proxy.held.take(1)


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
                length = int(head.partition(b"content-length: ")[2].split(b"\r\n")[0])
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
        (b"CONNECT api.openai.com:443 HTTP/1.1\r\nhost: localhost\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nhost: localhost\r\nupgrade: websocket\r\n\r\n", 426),
        (b"GET / HTTP/1.1\r\nhost: localhost\r\nupgrade: h2c, WebSocket\r\n\r\n", 426),
        (b"GET / HTTP/1.1\r\nhost: localhost\r\nupgrade: websocket/13\r\n\r\n", 426),
        (
            b"GET / HTTP/1.1\r\nhost: localhost\r\nupgrade: h2c\r\nupgrade: websocket\r\n\r\n",
            426,
        ),
        (b"GET /v1 HTTP/1.1\r\nhost: localhost\r\nsec-fetch-site: cross-site\r\n\r\n", 403),
        (b"GET /v1 HTTP/1.1\r\nhost: localhost\r\nsec-fetch-site: same-site\r\n\r\n", 403),
        (b"CONNECT / HTTP/1.1\r\nhost: localhost\r\n\r\n", 405),
        (b"TRACE /v1 HTTP/1.1\r\nhost: localhost\r\n\r\n", 405),
        (
            b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 3\r\n"
            b"transfer-encoding: chunked\r\n\r\n0\r\n\r\n",
            400,
        ),
        (
            b"POST / HTTP/1.0\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
            400,
        ),
        (b"GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n", 400),
        (b"GET / HTTP/1.1\nhost: localhost\r\nx: y\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nhost: localhost\r\n folded: y\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nx: " + b"y" * 300_000, 431),
        (b"GET / HT", 400),
    ],
)
async def test_other_requests_are_refused_and_reach_nobody(data: bytes, status: int):
    reached: list[bool] = []

    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reached.append(True)

    async with tap_with(upstream) as tap:
        reader, writer = await tap.connect()
        writer.write(data)
        writer.write_eof()
        answer = await within(reader.read())
        assert answer.startswith(f"HTTP/1.1 {status} ".encode())
        assert b"x-tui-chat-tap" in answer
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]
        assert not reached
        refused = [exchange.outcome for exchange in tap.exchanges]
        assert status != 426 or "plain requests" in tap.exchanges[0].fault
        is_read = status in (403, 405, 426) or b"transfer-encoding" in data
        assert refused == ["refused"] * is_read


async def test_a_body_that_is_not_http_is_refused():
    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with tap_with(upstream) as tap:
        reader, writer = await tap.connect()
        head = b"POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n"
        writer.write(head + b"zz\r\n\r\n")
        assert (await within(reader.read())).startswith(b"HTTP/1.1 400 ")
        (exchange,) = await tap.ended()
        assert exchange.outcome == "unreadable"


async def test_a_response_that_is_not_http_passes_as_it_came():
    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(b"SSH-2.0-x\r\n\r\n" + bytes(range(256)))

    async with tap_with(upstream) as tap:
        reader, writer = await tap.send(request(tap.proxy.port))
        assert await within(reader.read()) == b"SSH-2.0-x\r\n\r\n" + bytes(range(256))
        exchange = await tap.end(writer)
        assert exchange.outcome == "unreadable"


async def test_requests_of_one_connection_may_go_to_two_upstreams():
    head = b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n"
    first, second = answering(head + b"one"), answering(head + b"two")
    async with raw_server(first) as one, raw_server(second) as two:
        servers = {
            "/1": Upstream("http", "127.0.0.1", one),
            "/2": Upstream("http", "127.0.0.1", two),
        }
        exchanges = []
        async with TapProxy(lambda head: servers[head.target], exchanges.append) as proxy:
            reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
            paths = ["/1", "/2", "/2", "/1"]
            writer.write(b"".join(request(proxy.port, b"{}", path) for path in paths))
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


async def test_only_this_machine_is_served_unless_told_otherwise():
    with pytest.raises(ValueError, match="other machines"):
        TapProxy(route_to(None), print, host="0.0.0.0")
    assert TapProxy(route_to(None), print, host="0.0.0.0", allow_remote=True).base_url
    proxy = TapProxy(route_to(None), print)
    accepted = [
        h for h in ("localhost:1", "127.0.0.1", "[::1]:80", "a.b:1") if proxy.accepts_host(h)
    ]
    assert accepted == ["localhost:1", "127.0.0.1", "[::1]:80"]


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


async def tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    """Open the tunnel that a client asks for, pass its bytes both ways, and return its request."""
    asked = await reader.readuntil(b"\r\n\r\n")
    host, _, port = asked.split(b" ")[1].decode().rpartition(":")
    server_reader, server_writer = await asyncio.open_connection(host, int(port))
    writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")

    async def pass_on(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while data := await source.read(65536):
            sink.write(data)
        sink.close()

    await asyncio.gather(pass_on(reader, server_writer), pass_on(server_reader, writer))
    return asked


async def test_an_http_proxy_is_used_on_the_way_to_the_upstream():
    asked: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.set_result(await tunnel(reader, writer))

    sent: list[bytes] = []
    answer = OK.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n")
    upstream = answering(answer, sent)
    async with raw_server(upstream) as port, raw_server(proxy) as proxy_port, tap_before(port) as t:
        via = read_http_proxy(f"http://me:secret%20word@127.0.0.1:{proxy_port}", "HTTPS_PROXY")
        t.proxy.route = route_to(replace(t.upstream, proxy=via))
        reader, writer = await t.send(request(t.proxy.port))
        assert (await within(reader.read())).endswith(b"ok")
        exchange = await t.end(writer)
        assert exchange.outcome == "complete"
        head = (await asyncio.wait_for(asked, PATIENCE)).lower()
        assert head.startswith(f"connect 127.0.0.1:{port} http/1.1".encode())
        assert b"basic " + b64encode(b"me:secret word").lower() in head
        assert KEY.encode() not in head
        assert "secret" not in repr(via)
        assert b"proxy-authorization" not in sent[0].lower()


async def test_a_proxy_that_refuses_the_tunnel_is_named_without_its_password():
    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n")
        await writer.drain()

    async with raw_server(proxy) as proxy_port, tap_before(1) as t:
        via = read_http_proxy(f"http://me:secret@127.0.0.1:{proxy_port}", "HTTPS_PROXY")
        t.proxy.route = route_to(replace(t.upstream, proxy=via))
        reader, writer = await t.send(request(t.proxy.port))
        answer = await within(reader.readuntil(b"}}"))
        writer.close()
        assert answer.startswith(b"HTTP/1.1 502")
        assert f"the proxy 127.0.0.1:{proxy_port} refused the tunnel (407)".encode() in answer
        assert b"secret" not in answer


def test_the_proxy_of_the_environment_is_found_as_httpx_finds_it():
    upstream = read_upstream("https://api.openai.com")
    local = read_upstream("http://127.0.0.1:11434")
    environ = {"HTTPS_PROXY": "http://up:1", "https_proxy": "low.example:3128", "ALL_PROXY": "x:9"}
    found = behind_proxy(upstream, environ).proxy
    assert found is not None
    assert (found.host, found.port) == ("low.example", 3128)
    assert behind_proxy(local, {"ALL_PROXY": "http://x:9"}) == local
    assert behind_proxy(upstream, environ | {"NO_PROXY": "x.org,openai.com"}) == upstream
    assert behind_proxy(upstream, environ | {"NO_PROXY": "localhost, *"}) == upstream
    assert behind_proxy(upstream, {"HTTP_PROXY": "http://x:9"}) == upstream
    with pytest.raises(InputError, match="SOCKS") as told:
        behind_proxy(upstream, {"all_proxy": "socks5://me:secret@x:9"})
    assert "secret" not in str(told.value)


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
        writer.write(data)
        if switches:
            writer.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
            assert (await within(reader.read())).startswith(b"HTTP/1.1 101 ")
        else:
            assert (await within(reader.readuntil(b"hello"))).startswith(b"HTTP/1.1 200 ")
            writer.write(data)  # the connection goes on
            assert (await within(reader.readuntil(b"hello"))).startswith(b"HTTP/1.1 200 ")
        writer.close()
        exchange, *_ = await tap.ended()
        assert exchange.outcome == ("unreadable" if switches else "complete")
        assert ("another protocol" in exchange.fault) == switches
    head = asked[0].partition(b"\r\n\r\n")[0]
    assert b"h2c" not in head
    assert b"HTTP2-Settings" not in head
    assert b"\r\nConnection: keep-alive" in head


def test_a_protocol_without_a_known_server_needs_an_upstream(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(upstreams, "_OWN_SERVERS", {})
    with pytest.raises(MessageFault, match="--upstream"):
        route_to(None)(RequestHead(b"", "POST", "/v1/messages", ()))
