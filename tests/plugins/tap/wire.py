"""A raw client and a raw upstream: bytes, without an HTTP library between them and the test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from tui_chat.plugins.tap.exchange import RecordedExchange
from tui_chat.plugins.tap.proxy import TapTransport
from tui_chat.plugins.tap.upstreams import Upstream, read_upstream, route_to
from tui_chat.providers.server import LoopbackServer

PATIENCE = 60.0
"""Seconds after which a test that waits has failed."""

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def raw_server(handler: Handler) -> AsyncIterator[int]:
    """Run a server; yields its port."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.current_task())
        try:
            await handler(reader, writer)
        except (OSError, asyncio.CancelledError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    tasks: set[asyncio.Task[None] | None] = set()
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in tasks:
            if task is not None:
                task.cancel()
        await asyncio.gather(*filter(None, tasks), return_exceptions=True)


@dataclass
class Tap:
    """A proxy in front of an upstream, and what it recorded."""

    upstream: Upstream
    transport: TapTransport
    proxy: LoopbackServer
    exchanges: list[RecordedExchange] = field(default_factory=list)
    begun: asyncio.Event = field(default_factory=asyncio.Event)

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect a client."""
        return await asyncio.open_connection("127.0.0.1", self.proxy.port)

    async def send(self, data: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect a client that sends this."""
        reader, writer = await self.connect()
        writer.write(data)
        return reader, writer

    async def end(self, writer: asyncio.StreamWriter) -> RecordedExchange:
        """Let the client leave; return the only exchange once it has ended."""
        writer.close()
        (exchange,) = await self.ended()
        return exchange

    async def ended(self, count: int = 1) -> list[RecordedExchange]:
        """Return the exchanges when so many have ended."""
        async with asyncio.timeout(PATIENCE):
            while len(self.exchanges) < count:
                await self.begun.wait()
                self.begun.clear()
            for exchange in self.exchanges[:count]:
                while exchange.ended is None:
                    await exchange.changed.wait()
                    exchange.changed.clear()
        return self.exchanges


@asynccontextmanager
async def tap_before(
    port: int, *, path: str = "", max_body: int = 1 << 26, proxy: str = "", route: Any = None
) -> AsyncIterator[Tap]:
    """Run a proxy in front of a port of this machine, behind an HTTP proxy if one is given."""
    upstream = read_upstream(f"http://127.0.0.1:{port}{path}", proxy=proxy)
    exchanges = list[RecordedExchange]()
    begun = asyncio.Event()

    def follow(exchange: RecordedExchange) -> None:
        exchanges.append(exchange)
        begun.set()

    transport = TapTransport(route or route_to(upstream), follow, max_body=max_body)
    async with LoopbackServer(transport) as server, transport:
        yield Tap(upstream, transport, server, exchanges, begun)


@asynccontextmanager
async def tap_with(handler: Handler, **options: Any):
    """Run an upstream and a proxy in front of it."""
    async with raw_server(handler) as port, tap_before(port, **options) as tap:
        yield tap


async def read_request(reader: asyncio.StreamReader) -> bytes:
    """Return the bytes of a request with its length in a header."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
    return head + await reader.readexactly(length)


def answering(answer: bytes, received: list[bytes] | None = None) -> Handler:
    """Return an upstream that answers each request so, and keeps what it receives."""

    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            request = await read_request(reader)
            if received is not None:
                received.append(request)
            writer.write(answer)
            if b"connection: close" in answer:
                await writer.drain()
                return

    return upstream


async def within(awaitable: Awaitable[bytes]) -> bytes:
    """Await, but not for ever."""
    async with asyncio.timeout(PATIENCE):
        return await awaitable
