"""The proxy: bytes in, the same bytes out, at once, and a copy for whoever explains them.

It listens; `client_connection` passes the bytes on. Requests with an `Origin`, or for another
`Host`, are refused: no web page may use the client's keys.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import Any

from tui_chat.plugins.tap.client_connection import ClientConnection
from tui_chat.plugins.tap.exchange import Held, RecordedExchange
from tui_chat.plugins.tap.http_messages import RequestHead
from tui_chat.plugins.tap.pause import Pauses
from tui_chat.plugins.tap.upstreams import Route, Upstream, is_loopback

MAX_BODY = 64 * 1024 * 1024
"""Bytes of a body that are kept if nothing else is said; no provider takes a larger one."""
_LIMIT = 256 * 1024
"""Bytes that are read ahead of a slow reader."""


class TapProxy:
    """The proxy on a port. An async context manager that listens inside the block."""

    def __init__(
        self,
        route: Route,
        on_exchange: Callable[[RecordedExchange], None],
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        allow_remote: bool = False,
        max_body: int = MAX_BODY,
        pauses: Pauses | None = None,
    ) -> None:
        """`on_exchange` is called when a request begins; `pauses` holds some. Raises ValueError
        for a host that other machines can reach, unless `allow_remote`.
        """
        if not allow_remote and not is_loopback(host):
            raise ValueError(f"{host} can be reached from other machines")
        self.route = route
        self._pauses = pauses or Pauses()
        self._on_exchange = on_exchange
        self._allow_remote = allow_remote
        self._max_body = max_body
        self.held = Held()
        self._host, self.port = host, port
        self._count = 0
        self._listener: asyncio.Server | None = None
        self._connections: set[asyncio.Task[Any]] = set()

    @property
    def base_url(self) -> str:
        """`http://HOST:PORT`, as a client on this machine reaches it."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self._host, self._host)  # noqa: S104
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"

    def _begin(self, head: RequestHead, upstream: Upstream) -> RecordedExchange:
        """Return a new exchange, and announce it."""
        self._count += 1
        exchange = RecordedExchange(
            self._count, head, upstream.url, self.held, self._max_body, monotonic()
        )
        self._on_exchange(exchange)
        return exchange

    def accepts_host(self, host: str) -> bool:
        """Return True if a `host` header names this machine."""
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        name = name.strip("[]").lower()
        return self._allow_remote or name == self._host.lower() or is_loopback(name)

    async def __aenter__(self) -> TapProxy:
        self._listener = await asyncio.start_server(
            self._serve, self._host, self.port, limit=_LIMIT
        )
        self.port = self._listener.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_exc: object) -> None:
        if self._listener is not None:
            self._listener.close()
        await self._pauses.close()
        for task in list(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        if self._listener is not None:
            await self._listener.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        connection = ClientConnection(
            reader,
            writer,
            route=self.route,
            begin=self._begin,
            accepts_host=self.accepts_host,
            pauses=self._pauses,
        )
        try:
            await connection.run()
        except asyncio.CancelledError:
            pass  # the proxy is closing; asyncio.streams would log a cancelled handler
        finally:
            with suppress(asyncio.CancelledError):
                await connection.close()
            self._connections.discard(task)
