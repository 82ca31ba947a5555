"""What one side sends, the other one gets: random exchanges, compared byte by byte.

TUI_CHAT_TAP_EXCHANGES=1000 uv run pytest tests/plugins/tap/test_bytes.py
"""

from __future__ import annotations

import asyncio
import gzip
import os
import random
from dataclasses import dataclass

from tests.plugins.tap.wire import raw_server, tap_before, within
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
    "/a%2Fb//c?x=%20&&y",
    "/v1/models",
]


@dataclass(frozen=True)
class Sent:
    """A request and its response as bytes, and what is recorded of them."""

    request: bytes
    response: bytes
    method: str
    path: str
    body: bytes
    reply: bytes
    status: int
    closes: bool = False


def headers(dice: random.Random) -> list[bytes]:
    lines = []
    for _ in range(dice.randrange(6)):
        name = dice.choice(_NAMES)
        value = "".join(dice.choice("abc =;,\"'{}é") for _ in range(dice.randrange(40))).strip()
        lines.append(name.encode() + dice.choice([b":", b": ", b":  "]) + value.encode("latin-1"))
    return lines


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


def framed(dice: random.Random, lines: list[bytes], body: bytes) -> bytes:
    """Return the headers and the body after the first line."""
    if body and dice.random() < 0.5:
        lines.insert(dice.randrange(len(lines) + 1), b"Transfer-Encoding: chunked")
        return b"\r\n".join([*lines, b"", b""]) + chunked(dice, body)
    lines.insert(dice.randrange(len(lines) + 1), b"content-length:%d" % len(body))
    return b"\r\n".join([*lines, b"", b""]) + body


def exchange(dice: random.Random, host: str, *, last: bool) -> Sent:
    method = dice.choice(["POST", "POST", "POST", "GET", "HEAD", "DELETE"])
    path = dice.choice(_PATHS)
    body = data(dice) if method == "POST" else b""
    lines = headers(dice)
    lines.insert(
        dice.randrange(len(lines) + 1), f"{dice.choice(['Host', 'host'])}: {host}".encode()
    )
    request = f"{method} {path} HTTP/1.1\r\n".encode()
    request += framed(dice, lines, body) if body else b"\r\n".join([*lines, b"", b""])
    status = dice.choice([200, 200, 200, 204, 304, 400, 429, 529])
    reply = b"" if status in (204, 304) else data(dice)
    response = b""
    if dice.random() < 0.15:
        response += b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n"
    response += f"HTTP/1.1 {status} {dice.choice(['', 'OK', 'Over loaded'])}\r\n".encode()
    until_end = last and dice.random() < 0.5 and bool(reply)
    if until_end:
        response += b"\r\n".join([*headers(dice), b"Connection: close", b"", b""]) + reply
    elif status in (204, 304):
        response += b"\r\n".join([*headers(dice), b"", b""])
    else:
        response += framed(dice, headers(dice), reply)
    if method == "HEAD":
        head_end = response.rindex(b"HTTP/1.1 ")
        response = response[: response.index(b"\r\n\r\n", head_end) + 4]
        reply = b""
    return Sent(request, response, method, path, body, reply, status, until_end)


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
async def test_both_sides_get_the_bytes_that_were_sent(seed: int):
    await asyncio.gather(*(one_connection(seed * 100 + number) for number in range(10)))


async def one_connection(seed: int) -> None:
    dice, other = random.Random(seed), random.Random(-seed - 1)
    pipelined = dice.random() < 0.3
    received = bytearray()
    got_request = asyncio.Event()
    plan: list[Sent] = []

    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for number, sent in enumerate(plan):
            received.extend(await reader.readexactly(len(expected(sent))))
            got_request.set()
            await write_split(other, writer, sent.response)
            if number == len(plan) - 1 and sent.closes:
                return
        received.extend(await reader.read())

    async with raw_server(upstream) as port, tap_before(port) as tap:
        host = f"localhost:{tap.proxy.port}"
        last = PER_CONNECTION - 1
        plan += [exchange(dice, host, last=n == last) for n in range(PER_CONNECTION)]
        own = host.encode()
        there = f"127.0.0.1:{port}".encode()

        def expected(sent: Sent) -> bytes:
            return sent.request.replace(b"ost: " + own, b"ost: " + there, 1)

        reader, writer = await tap.connect()
        if pipelined:
            sending = asyncio.ensure_future(
                write_split(dice, writer, b"".join(sent.request for sent in plan))
            )
            for sent in plan:
                assert await within(reader.readexactly(len(sent.response))) == sent.response
            await sending
        else:
            for sent in plan:
                sending = asyncio.ensure_future(write_split(dice, writer, sent.request))
                assert await within(reader.readexactly(len(sent.response))) == sent.response
                await sending
        if plan[-1].closes:
            assert await within(reader.read()) == b""
        writer.close()
        exchanges = await tap.ended(PER_CONNECTION)
    assert bytes(received) == b"".join(map(expected, plan))
    for found, sent in zip(exchanges, plan, strict=True):
        assert (found.method, found.target, found.status) == (sent.method, sent.path, sent.status)
        assert (found.request.data, found.response.data) == (sent.body, sent.reply)
        assert found.outcome == "complete"
