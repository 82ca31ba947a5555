"""A provider on a loopback socket that sends more than anybody can want.

Each case answers every POST below `/NAME` in its own way, up to `size` bytes after decompression,
or until the client hangs up. A GET below `/NAME` gets the same: so model lists are hostile too.
"""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import chain, repeat

from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.providers.client import JSON_LINES

_SSE = "text/event-stream"
_JSON = "application/json"
_CHUNK = 64 * 1024


@dataclass(frozen=True, slots=True)
class Case:
    """One way to be hostile."""

    body: Callable[[int], Iterator[bytes]]
    """Makes a body of about so many bytes."""
    kind: str = _SSE
    status: int = 200
    encoding: str = ""
    protocol: Protocol = Protocol.OPENAI_CHAT
    before: bytes = b""
    """An interim response that is repeated, slowly and without end, in place of the head."""


def delta(**fields: object) -> bytes:
    """Return an event of Chat Completions."""
    return b"data: " + json.dumps({"id": "r", "choices": [{"delta": fields}]}).encode() + b"\n\n"


def call(index: int, arguments: str, **more: object) -> dict[str, object]:
    """Return a tool call, or more of one."""
    function = {"name": "f", "arguments": arguments} | more
    return {"index": index, "id": f"c{index}", "function": function}


def _event(**fields: object) -> bytes:
    return b"data: " + json.dumps(fields).encode() + b"\n\n"


BEGIN = delta(content="Hello.")
"""The text sent before it becomes hostile, which has to be kept."""
_END = b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'


def _filled(before: bytes, size: int, after: bytes = b"", filling: bytes = b"x") -> Iterator[bytes]:
    yield before
    piece = filling * (_CHUNK // len(filling))
    yield from repeat(piece, size // len(piece))
    yield filling * (size % len(piece) // len(filling))
    yield after


def _again(piece: bytes, size: int) -> Iterator[bytes]:
    many = piece * max(_CHUNK // len(piece), 1)
    yield BEGIN
    yield from repeat(many, size // len(many) + 1)
    yield _END


_CHOICE = b'data: {"choices":[{"delta":{'
_MESSAGE = b'{"choices":[{"message":{"content":"'
_ARGUMENTS = _CHOICE + b'"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"'


def _calls(count: int) -> Iterator[bytes]:
    yield BEGIN
    for index in range(count):
        yield delta(tool_calls=[call(index, '{"a":1}')])
    yield _END


def _calls_at_once(size: int) -> Iterator[bytes]:
    yield BEGIN
    yield delta(tool_calls=[call(index, "{}") for index in range(size // 70)])
    yield _END


def _paths(size: int) -> Iterator[bytes]:
    """Arguments by JSON paths that each ask for thousands of empty places, on 60 levels."""
    yield _event(candidates=[{"content": {"parts": [{"text": "Hello."}]}}])
    for number in range(size // 600):
        path = f"$.a{number}" + "[9999]" * 60
        piece = {"jsonPath": path, "numberValue": 1}
        function = {"name": "" if number else "f", "partialArgs": [piece], "willContinue": True}
        yield _event(candidates=[{"content": {"parts": [{"functionCall": function}]}}])
    yield _event(candidates=[{"content": {"parts": []}, "finishReason": "STOP"}])


def _blocks(size: int) -> Iterator[bytes]:
    """Blocks of Anthropic that begin and never end."""
    yield _event(type="message_start", message={"id": "r", "content": []})
    text = {"type": "text", "text": "Hello."}
    yield _event(type="content_block_start", index=0, content_block=text)
    for index in range(1, size // 100):
        block = {"type": "server_tool_use", "name": "x"}
        yield _event(type="content_block_start", index=index, content_block=block)


def _line(**message: object) -> bytes:
    return json.dumps({"model": "m", "message": message, "done": False}).encode() + b"\n"


def _json_line(size: int) -> Iterator[bytes]:
    start = _line(content="Hello.") + b'{"model":"m","message":{"content":"'
    return _filled(start, size, b'"},"done":true}\n')


def _blank_lines(size: int) -> Iterator[bytes]:
    return _filled(_line(content="Hello."), size, b"", b"\n")


def _json_lines(size: int) -> Iterator[bytes]:
    words = _line(content="word " * 200)
    return chain([_line(content="Hello.")], repeat(words, size // len(words) + 1))


def _empty_lines(size: int) -> Iterator[bytes]:
    return _filled(_line(content="Hello."), size, b"", b"{}\n")


CASES: dict[str, Case] = {
    # Compressed: a small answer on the socket is a large one in memory.
    "gzip of one line": Case(lambda n: _filled(BEGIN + b"data: ", n), encoding="gzip"),
    "gzip of events": Case(lambda n: _again(delta(content="word "), n), encoding="gzip"),
    "gzip of JSON": Case(lambda n: _filled(_MESSAGE, n, b'"}}]}'), _JSON, encoding="gzip"),
    "gzip of an error": Case(lambda n: _filled(b"no: ", n), "text/plain", 400, "gzip"),
    "deflate of one line": Case(lambda n: _filled(BEGIN + b"data: ", n), encoding="deflate"),
    # Lines and events.
    "one line": Case(lambda n: _filled(BEGIN + b"data: ", n)),
    "one comment": Case(lambda n: _filled(BEGIN + b": ", n)),
    "a line without a field": Case(lambda n: _filled(BEGIN, n)),
    "many lines of one event": Case(lambda n: _filled(BEGIN, n, b"", b"data: x\n")),
    "comments without end": Case(lambda n: _filled(BEGIN, n, b"", b": keep alive\n\n")),
    "blank lines": Case(lambda n: _filled(BEGIN, n, b"", b"\n")),
    "events that say nothing": Case(lambda n: _again(b"data: {}\n\n", n)),
    "one event": Case(lambda n: _filled(BEGIN + _CHOICE + b'"content":"', n, b'"}}]}\n\n')),
    "one event of emoji": Case(
        lambda n: _filled(BEGIN + _CHOICE + b'"content":"', n, b'"}}]}\n\n' + _END, "😀".encode())
    ),
    "one event of newlines": Case(
        lambda n: _filled(BEGIN + _CHOICE + b'"content":"', n, b'"}}]}\n\n' + _END, b"a\\n")
    ),
    "one event of empty lists": Case(lambda n: _filled(BEGIN + b"data: [", n, b"0]\n\n", b"[],")),
    "one event of brackets": Case(lambda n: _filled(BEGIN + b"data: ", n, b"\n\n", b"[")),
    # Replies.
    "text without end": Case(lambda n: _again(delta(content="word " * 200), n)),
    "one line of text without end": Case(lambda n: _again(delta(content="x" * 1000), n)),
    "short lines without end": Case(lambda n: _again(delta(content="a\n" * 500), n)),
    "a list without end": Case(lambda n: _again(delta(content="- item\n" * 100), n)),
    "quotes in quotes": Case(lambda n: _again(delta(content="> " * 40 + "x\n"), n)),
    "events of a letter": Case(lambda n: _again(delta(content="a"), n)),
    "early hints": Case(lambda n: iter(()), before=b"HTTP/1.1 103 Early Hints\r\n\r\n"),
    "go on": Case(lambda n: iter(()), before=b"HTTP/1.1 100 Continue\r\n\r\n"),
    "a table without end": Case(
        lambda n: chain([delta(content="|a|\n|-|\n")], _again(delta(content="|b|\n" * 100), n))
    ),
    "reasoning without end": Case(lambda n: _again(delta(reasoning="think " * 200), n)),
    "a refusal without end": Case(lambda n: _again(delta(refusal="no " * 300), n)),
    "reasoning blocks": Case(
        lambda n: chain.from_iterable(
            [delta(reasoning_details=[{"type": "t", "index": i, "text": "x"}])]
            for i in range(n // 100)
        )
    ),
    "JSON": Case(lambda n: _filled(_MESSAGE, n, b'"}}]}'), _JSON),
    "JSON of empty lists": Case(lambda n: _filled(b"[", n, b"0]", b"[],"), _JSON),
    "an error": Case(lambda n: _filled(b'{"error":{"message":"', n, b'"}}'), _JSON, 400),
    # Tool calls.
    "one argument at once": Case(lambda n: _filled(BEGIN + _ARGUMENTS, n, b'"}}]}}]}\n\n' + _END)),
    "one argument in pieces": Case(
        lambda n: _again(delta(tool_calls=[{"index": 0, "function": {"arguments": "y" * 99}}]), n)
    ),
    "repeated keys": Case(lambda n: _again(delta(tool_calls=[call(0, '"a":{},' * 500)]), n)),
    "tool calls": Case(lambda n: _calls(n // 100)),
    "tool calls at once": Case(_calls_at_once),
    "JSON paths": Case(_paths, protocol=Protocol.GEMINI),
    # JSON lines.
    "one JSON line": Case(_json_line, JSON_LINES, protocol=Protocol.OLLAMA),
    "blank JSON lines": Case(_blank_lines, JSON_LINES, protocol=Protocol.OLLAMA),
    "JSON lines of text": Case(_json_lines, JSON_LINES, protocol=Protocol.OLLAMA),
    "JSON lines that say nothing": Case(_empty_lines, JSON_LINES, protocol=Protocol.OLLAMA),
    "blocks that never end": Case(_blocks, protocol=Protocol.ANTHROPIC),
}


class HostileServer:
    """The server's address, and how much of each body clients took."""

    def __init__(self, size: int) -> None:
        self.size = size
        """Bytes of each body after decompression, about."""
        self.port = 0

    def endpoint(self, name: str) -> Endpoint:
        """Return an endpoint that leads to a case."""
        case = CASES[name]
        url = f"http://127.0.0.1:{self.port}/{list(CASES).index(name)}"
        return Endpoint("hostile", case.protocol, url, models=("m",))

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request, and close the connection."""
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            number = head.split("/", 2)[1].split(" ")[0]
            length = next(
                (int(line[15:]) for line in head.splitlines() if line.lower()[:15] == _LENGTH), 0
            )
            await reader.readexactly(length)
            case = list(CASES.values())[int(number)]
            while case.before:
                writer.write(case.before)
                await writer.drain()
                await asyncio.sleep(_INTERIM_PAUSE)
            writer.write(
                f"HTTP/1.1 {case.status} X\r\nContent-Type: {case.kind}\r\n"
                f"{f'Content-Encoding: {case.encoding}' if case.encoding else 'X-Plain: 1'}\r\n"
                "Connection: close\r\n\r\n".encode()
            )
            window = {"gzip": 31, "deflate": 15}.get(case.encoding)
            pack = zlib.compressobj(9, zlib.DEFLATED, window) if window else None
            for piece in case.body(self.size):
                if packed := pack.compress(piece) if pack else piece:
                    writer.write(packed)
                    await writer.drain()
            if pack:
                writer.write(pack.flush())
            await writer.drain()
        with suppress(ConnectionError):
            writer.close()
            await writer.wait_closed()


_LENGTH = "content-length:"
_INTERIM_PAUSE = 0.004
"""Seconds between interim responses."""


@asynccontextmanager
async def serve_hostile(size: int) -> AsyncGenerator[HostileServer]:
    """Serve every case on a loopback socket."""
    hostile = HostileServer(size)
    server = await asyncio.start_server(hostile.handle, "127.0.0.1", 0)
    hostile.port = server.sockets[0].getsockname()[1]
    try:
        yield hostile
    finally:
        server.close()
