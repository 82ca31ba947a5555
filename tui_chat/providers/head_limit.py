"""The ceiling on what a server may send before the head of its response.

A server may send any number of interim responses (100 Continue, 103 Early Hints) before the real
one, and httpcore passes over them without a limit.

1. Until a response has begun, little is read at a time: what has been read is parsed without a turn
   for other tasks, and an interim response takes less than 20 bytes.
2. After `MOST_BYTES` without a response the connection is given up.
3. `response_began` ends this for a connection, and the next request begins it again.
"""

# ruff: noqa: ASYNC109 - the parameters are httpcore's
from __future__ import annotations

import ssl
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import httpcore

from tui_chat.providers.failures import NoResponse

if TYPE_CHECKING:
    import httpx
    from httpcore._backends.base import SOCKET_OPTION

PIECE = 1_024
"""Bytes that are read at once before a response begins: some 60 interim responses, 5 ms."""
MOST_BYTES = 128 * 1024
"""Bytes before a response, more than the largest head that h11 reads (100 KB)."""
_STREAM = "tui_chat.head_limit"


class HeadLimit(httpcore.AsyncNetworkBackend):
    """Connections that limit what is read before a response begins."""

    def __init__(self, backend: httpcore.AsyncNetworkBackend) -> None:
        self._backend = backend

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to a server."""
        return _LimitedStream(
            await self._backend.connect_tcp(host, port, timeout, local_address, socket_options)
        )

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to a server at a socket of this machine."""
        return _LimitedStream(
            await self._backend.connect_unix_socket(path, timeout, socket_options)
        )

    async def sleep(self, seconds: float) -> None:
        """Wait between two attempts to connect."""
        await self._backend.sleep(seconds)


class _LimitedStream(httpcore.AsyncNetworkStream):
    def __init__(self, stream: httpcore.AsyncNetworkStream) -> None:
        self._stream = stream
        self._before_head = 0
        """Bytes read since the last request; -1 once its response has begun."""

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if self._before_head < 0:
            return await self._stream.read(max_bytes, timeout)
        if self._before_head >= MOST_BYTES:
            raise NoResponse
        data = await self._stream.read(min(max_bytes, PIECE), timeout)
        self._before_head += len(data)
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._before_head = 0
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.AsyncNetworkStream:
        return _LimitedStream(await self._stream.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        return self if info == _STREAM else self._stream.get_extra_info(info)

    def begin(self) -> None:
        self._before_head = -1


def limit_heads(client: httpx.AsyncClient) -> None:
    """Limit what a client reads before a response begins. httpx takes no network backend, so those
    of its connection pools are wrapped.
    """
    transports: list[Any] = [client._transport, *client._mounts.values()]  # pyright: ignore[reportPrivateUsage]
    for pool in filter(None, (getattr(transport, "_pool", None) for transport in transports)):
        pool._network_backend = HeadLimit(pool._network_backend)


def response_began(response: httpx.Response) -> None:
    """Read the rest of a response without the limit."""
    network: Any = response.extensions.get("network_stream")
    stream = network.get_extra_info(_STREAM) if network is not None else None
    if isinstance(stream, _LimitedStream):
        stream.begin()
