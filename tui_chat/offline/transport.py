"""The door inside the process: an httpx transport, so the app's own client code runs unchanged.

It behaves as a socket would, as far as a client can tell: bytes come when they are said, the read
timeout counts, closing a response stops its model at once even while another task is reading it,
and a cut is the `httpx.RemoteProtocolError` that httpx raises for one.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import suppress

import httpx

from tui_chat.offline.answer import Answer, ConnectionCut, play
from tui_chat.offline.pieces import Stall, Wait
from tui_chat.offline.provider import Provider
from tui_chat.offline.received import Received
from tui_chat.offline.world import World


class LoopbackTransport(httpx.AsyncBaseTransport):
    """Answers every request from the built-in provider; no network, whatever the host."""

    def __init__(
        self,
        *,
        on_request: Callable[[Received], None] | None = None,
        world: World | None = None,
    ) -> None:
        self._provider = Provider(world, on_request)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Return the response, with its body still to be said. Raises `httpx.ReadTimeout`."""
        received = Received(
            method=request.method.upper(),
            target=request.url.raw_path.decode("ascii", "replace"),
            headers=tuple(
                (name.decode("latin-1").lower(), value.decode("latin-1"))
                for name, value in request.headers.raw
            ),
            body=await request.aread(),
        )
        answer = self._provider.answer(received)
        limits: dict[str, float | None] = request.extensions.get("timeout", {})
        stream = _Stream(answer, self._provider.world, limits.get("read"), request)
        await stream.ready()
        return httpx.Response(
            answer.status,
            headers=[(name, value) for name, value in answer.headers],
            stream=stream,
            extensions={"http_version": b"HTTP/1.1"},
        )


class _Stream(httpx.AsyncByteStream):
    """One response body, said while it is read."""

    def __init__(
        self, answer: Answer, world: World, timeout: float | None, request: httpx.Request
    ) -> None:
        self._answer = answer
        self._world = world
        self._timeout = timeout
        self._request = request
        self._waiting: asyncio.Task[None] | None = None
        self._closed = False
        self._body = self._say()

    async def ready(self) -> None:
        """Wait for what comes before the status line."""
        for step in self._answer.before:
            match step:
                case Wait(seconds):
                    await self._pause(seconds)
                case Stall():
                    await self._pause(None)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._body

    async def _say(self) -> AsyncGenerator[bytes, None]:
        try:
            async for data in play(self._answer.steps, self._world, self._pause):
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
        """Stop the model. A task that is waiting for its next words gets `httpx.ReadError`."""
        self._closed = True
        if self._waiting is not None:
            self._waiting.cancel()
        with suppress(RuntimeError):  # another task is inside it; `_closed` ends it there
            await self._body.aclose()

    async def _pause(self, seconds: float | None) -> None:
        nap = _forever() if seconds is None else self._world.sleep(seconds)
        self._waiting = asyncio.ensure_future(nap)
        try:
            done, _ = await asyncio.wait({self._waiting}, timeout=self._timeout)
            if not done:
                raise httpx.ReadTimeout("The loopback model fell silent", request=self._request)
            self._check_open()
            self._waiting.result()
        finally:
            self._waiting.cancel()
            self._waiting = None

    def _check_open(self) -> None:
        if self._closed:
            raise httpx.ReadError("The response was closed", request=self._request)


async def _forever() -> None:
    await asyncio.get_running_loop().create_future()
