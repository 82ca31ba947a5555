"""What one side sends, the other one gets: random exchanges.

Compared are the line, the headers with their order, spelling and duplicates, and the body; the
framing is each side's own.

TUI_CHAT_TAP_EXCHANGES=1000 uv run pytest tests/plugins/tap/test_bytes.py
"""

from __future__ import annotations

import asyncio
import gzip
import os
import random
from dataclasses import dataclass
from typing import Any

import h11

from tests.plugins.tap.wire import raw_server, tap_before
from tests.support.tables import each_row

EXCHANGES = int(os.environ.get("TUI_CHAT_TAP_EXCHANGES", "120"))
"""Random exchanges in one run."""
PER_CONNECTION = 4

_NAMES = ["Accept", "x-Stainless-Retry-Count", "X-Dup", "x-dup", "user-agent", "anthropic-beta"]
_PATHS = [
    "/v1/messages?beta=true",
    "/v1/chat/completions",
    "/v1beta/models/gemini-2:streamGenerateContent?alt=sse",
    "/v1/responses",
    '/a%2Fb//c?x=%20&&y={"a"}',
    "/v1/models",
]
_FRAMING = ("content-length", "transfer-encoding", "connection", "date")

Headers = list[tuple[str, str]]


@dataclass(frozen=True)
class Said:
    """A request or a response."""

    line: tuple[str, str]
    """Method and target, or status and reason."""
    headers: Headers
    body: bytes


def said(event: Any, body: bytes) -> Said:
    """Return what a message says, without its framing; the host is first in a request."""
    pairs = [(name.decode(), value.decode("latin-1")) for name, value in event.headers.raw_items()]
    headers = [pair for pair in pairs if pair[0].lower() not in _FRAMING]
    headers.sort(key=lambda pair: pair[0].lower() != "host")
    if isinstance(event, h11.Request):
        return Said((event.method.decode(), event.target.decode()), headers, body)
    return Said((str(event.status_code), event.reason.decode()), headers, body)


async def read(connection: h11.Connection, reader: asyncio.StreamReader) -> Said:
    """Return the next message of a connection."""
    head, body = None, b""
    while True:
        event: Any = connection.next_event()
        if event is h11.NEED_DATA:
            connection.receive_data(await reader.read(1 << 16))
        elif isinstance(event, h11.Data):
            body += event.data
        elif isinstance(event, h11.EndOfMessage):
            return said(head, body)
        elif isinstance(event, h11.ConnectionClosed):
            raise ConnectionAbortedError
        elif not isinstance(event, h11.InformationalResponse):
            head = event


def headers(dice: random.Random) -> Headers:
    pairs = []
    for _ in range(dice.randrange(6)):
        text = "".join(dice.choice("abc =;,\"'{}é") for _ in range(dice.randrange(40))).strip()
        pairs.append((dice.choice(_NAMES), text))
    return pairs


def data(dice: random.Random) -> bytes:
    size = dice.choice([0, 1, 17, 300, 5_000, 70_000, 300_000])
    body = dice.randbytes(size // 10) * 10
    return gzip.compress(body) if dice.random() < 0.2 else body


def chunked(dice: random.Random, body: bytes) -> bytes:
    out = bytearray()
    at = 0
    while at < len(body):
        size = min(dice.choice([1, 5, 100, 4096, 65536, 200_000]), len(body) - at)
        digits = f"{size:x}" if dice.random() < 0.5 else f"{size:04X}"
        out += digits.encode() + (b";ext=1" if dice.random() < 0.2 else b"") + b"\r\n"
        out += body[at : at + size] + b"\r\n"
        at += size
    trailers = b"X-Checksum: abc\r\nx-Second:1\r\n" if dice.random() < 0.3 else b""
    return bytes(out) + b"0\r\n" + trailers + b"\r\n"


def written(dice: random.Random, line: str, what: Said) -> bytes:
    """Return a message as bytes, framed in one of the ways that there are."""
    pairs, body = list(what.headers), b""
    if what.body and dice.random() < 0.5:
        pairs.insert(dice.randrange(len(pairs) + 1), ("Transfer-Encoding", "chunked"))
        body = chunked(dice, what.body)
    elif what.body or what.line[0] == "POST":
        pairs.insert(dice.randrange(len(pairs) + 1), ("content-length", str(len(what.body))))
        body = what.body
    elif what.line[0].isdigit() and what.line[0] not in ("204", "304"):
        pairs.append(("Content-Length", "0"))
    head = [line, *(f"{name}:{dice.choice(['', ' ', '  '])}{value}" for name, value in pairs)]
    return "\r\n".join([*head, "", ""]).encode("latin-1") + body


async def write_split(dice: random.Random, writer: asyncio.StreamWriter, sent: bytes) -> None:
    """Write in pieces of random size, some of them on their own."""
    at = 0
    while at < len(sent):
        size = dice.choice([1, 3, 50, 1000, 100_000, 1_000_000])
        writer.write(sent[at : at + size])
        await writer.drain()
        at += size
        if dice.random() < 0.3:
            await asyncio.sleep(0)


@each_row("seed", range(max(1, EXCHANGES // (10 * PER_CONNECTION))))
async def test_both_sides_get_what_was_sent(seed: int):
    await asyncio.gather(*(one_connection(seed * 100 + number) for number in range(10)))


async def one_connection(seed: int) -> None:
    dice = random.Random(seed)
    received: list[Said] = []
    replies: list[Said] = []

    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = h11.Connection(h11.SERVER)
        while True:
            received.append(await read(connection, reader))
            reply = replies[len(received) - 1]
            early = b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n" * (dice.random() < 0.15)
            line = f"HTTP/1.1 {' '.join(reply.line)}"
            await write_split(dice, writer, early + written(dice, line, reply))
            connection.send(h11.Response(status_code=200, headers=[("content-length", "0")]))
            connection.send(h11.EndOfMessage())
            connection.start_next_cycle()

    async with raw_server(upstream) as port, tap_before(port) as tap:
        reader, writer = await tap.connect()
        host = ("Host", f"localhost:{tap.proxy.port}")
        requests: list[Said] = []
        for _ in range(PER_CONNECTION):
            method = dice.choice(["POST", "POST", "POST", "GET", "DELETE"])
            body = data(dice) if method == "POST" else b""
            pairs = headers(dice)
            pairs.insert(dice.randrange(len(pairs) + 1), host)
            request = Said((method, dice.choice(_PATHS)), pairs, body)
            status = dice.choice([200, 200, 200, 204, 304, 400, 429, 529])
            reply = b"" if status in (204, 304) else data(dice)
            reason = dice.choice(["OK", "Over loaded"])
            requests.append(request)
            replies.append(Said((str(status), reason), headers(dice), reply))
            line = f"{method} {request.line[1]} HTTP/1.1"
            connection = h11.Connection(h11.CLIENT)
            connection.send(h11.Request(method=method, target="/", headers=[host]))
            connection.send(h11.EndOfMessage())
            sending = asyncio.ensure_future(write_split(dice, writer, written(dice, line, request)))
            async with asyncio.timeout(60):
                assert await read(connection, reader) == replies[-1]
            await sending
        writer.close()
        exchanges = await tap.ended(PER_CONNECTION)
    own = ("Host", f"127.0.0.1:{port}")
    for got, request in zip(received, requests, strict=True):
        rest = [pair for pair in request.headers if pair != host]
        assert got == Said(request.line, [own, *rest], request.body)
    for found, got, reply in zip(exchanges, received, replies, strict=True):
        assert (found.method, found.target) == got.line
        kept = [pair for pair in found.headers if pair[0].lower() not in _FRAMING]
        assert kept == got.headers
        assert (found.request.data, found.response.data) == (got.body, reply.body)
        assert (str(found.status), found.outcome) == (reply.line[0], "complete")
