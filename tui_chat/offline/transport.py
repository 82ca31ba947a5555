"""The offline provider inside the process: an httpx transport, so client code runs unchanged.

To a client it behaves like a socket: bytes arrive when they are sent, the read timeout applies,
closing a response stops its model at once even while another task is reading it, and a dropped
connection is the `httpx.RemoteProtocolError` that httpx raises for one.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress
from typing import Any

import httpx

from tui_chat.offline.http_messages import ConnectionCut, HttpRequest
from tui_chat.offline.service import OfflineService


class LoopbackTransport(httpx.AsyncBaseTransport):
    """Answers every request from the offline provider, without a network, whatever the host."""

    def __init__(self, service: OfflineService | None = None) -> None:
        self._service = service or OfflineService()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Return the response, its body not yet sent. Raises `httpx.ReadTimeout`."""
        received = HttpRequest(
            method=request.method.upper(),
            target=request.url.raw_path.decode("ascii", "replace"),
            headers=tuple(
                (name.decode("latin-1").lower(), value.decode("latin-1"))
                for name, value in request.headers.raw
            ),
            body=await request.aread(),
        )
        stream = _ResponseStream(self._service, request)
        response = await self._service.respond(received, stream.pause)
        stream.body = response.body
        return httpx.Response(
            response.status,
            headers=[(name, value) for name, value in response.headers],
            stream=stream,
            extensions={"http_version": b"HTTP/1.1"},
        )


class _ResponseStream(httpx.AsyncByteStream):
    """One response body, produced while it is read."""

    body: AsyncGenerator[bytes, None]

    def __init__(self, service: OfflineService, request: httpx.Request) -> None:
        self._sleep = service.dependencies.sleep
        self._timeout: float | None = request.extensions.get("timeout", {}).get("read")
        self._request = request
        self._waiting: asyncio.Task[Any] | None = None
        self._closed = False
        self._sent = self._send()

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._sent

    async def _send(self) -> AsyncGenerator[bytes, None]:
        try:
            async with aclosing(self.body) as body:
                async for data in body:
                    await asyncio.sleep(0)  # a model at full speed must not hold the event loop
                    self._check_open()
                    yield data
        except ConnectionCut:
            raise httpx.RemoteProtocolError(
                "peer closed connection without sending complete message body "
                "(incomplete chunked read)",
                request=self._request,
            ) from None

    async def aclose(self) -> None:
        """Stop the model. A task that is waiting for the next bytes gets `httpx.ReadError`."""
        self._closed = True
        if self._waiting is not None:
            self._waiting.cancel()
        with suppress(RuntimeError):  # another task is reading; `_closed` ends it there
            await self._sent.aclose()

    async def pause(self, seconds: float | None) -> None:
        """Wait within the read timeout; None waits for ever."""
        pause = asyncio.Event().wait() if seconds is None else self._sleep(seconds)
        self._waiting = waiting = asyncio.ensure_future(pause)
        try:
            await asyncio.wait({waiting}, timeout=self._timeout)
            if not waiting.done():
                raise httpx.ReadTimeout("The loopback model stopped sending", request=self._request)
            self._check_open()
            waiting.result()
        finally:
            waiting.cancel()
            self._waiting = None

    def _check_open(self) -> None:
        if self._closed:
            raise httpx.ReadError("The response was closed", request=self._request)
