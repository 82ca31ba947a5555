"""The offline provider inside the process: an httpx transport, so client code runs unchanged.

To a client it behaves like a socket: bytes arrive when they are sent, the read timeout applies,
closing a response stops its model at once even while another task is reading it, and a dropped
connection is the `httpx.RemoteProtocolError` that httpx raises for one.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import suppress

import httpx

from tui_chat.offline.dependencies import OfflineDependencies
from tui_chat.offline.http_messages import (
    ConnectionCut,
    HttpRequest,
    HttpResponse,
    play,
    wait_forever,
)
from tui_chat.offline.models.script import Script
from tui_chat.offline.reply_pieces import Stall, Wait
from tui_chat.offline.service import OfflineService


class LoopbackTransport(httpx.AsyncBaseTransport):
    """Answers every request from the offline provider, without a network, whatever the host."""

    def __init__(
        self,
        *,
        on_request: Callable[[HttpRequest], None] | None = None,
        dependencies: OfflineDependencies | None = None,
        alias: str = "",
        script: Script | None = None,
    ) -> None:
        """`alias` and `script` are those of `OfflineService`."""
        self._service = OfflineService(dependencies, on_request, alias, script)

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
        response = self._service.respond(received)
        limits: dict[str, float | None] = request.extensions.get("timeout", {})
        stream = _ResponseStream(response, self._service.dependencies, limits.get("read"), request)
        await stream.ready()
        return httpx.Response(
            response.status,
            headers=[(name, value) for name, value in response.headers],
            stream=stream,
            extensions={"http_version": b"HTTP/1.1"},
        )


class _ResponseStream(httpx.AsyncByteStream):
    """One response body, produced while it is read."""

    def __init__(
        self,
        response: HttpResponse,
        dependencies: OfflineDependencies,
        timeout: float | None,
        request: httpx.Request,
    ) -> None:
        self._response = response
        self._dependencies = dependencies
        self._timeout = timeout
        self._request = request
        self._waiting: asyncio.Task[None] | None = None
        self._closed = False
        self._body = self._send()

    async def ready(self) -> None:
        """Wait for the events before the status line."""
        for step in self._response.before:
            match step:
                case Wait(seconds):
                    await self._pause(seconds)
                case Stall():
                    await self._pause(None)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._body

    async def _send(self) -> AsyncGenerator[bytes, None]:
        try:
            async for data in play(self._response.steps, self._dependencies, self._pause):
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
            await self._body.aclose()

    async def _pause(self, seconds: float | None) -> None:
        pause = wait_forever() if seconds is None else self._dependencies.sleep(seconds)
        self._waiting = asyncio.ensure_future(pause)
        try:
            done, _ = await asyncio.wait({self._waiting}, timeout=self._timeout)
            if not done:
                raise httpx.ReadTimeout("The loopback model stopped sending", request=self._request)
            self._check_open()
            self._waiting.result()
        finally:
            self._waiting.cancel()
            self._waiting = None

    def _check_open(self) -> None:
        if self._closed:
            raise httpx.ReadError("The response was closed", request=self._request)
