"""An httpx transport on a loopback socket, for other programs: an HTTP/1.1 server with h11.

1. It listens on the loopback interface only, by refusing any other host unless it is told not to.
2. The transport gets the target and the headers as they came: their order, spelling and duplicates.
3. A connection serves one request after another; a body may be chunked, and `Expect: 100-continue`
   is honored. Of a body over the limit no more is read than shows that it is.
4. While a reply is sent the socket is also read. If it ends, the client has disconnected and the
   reply is cancelled. Early data instead (a pipelined request) waits its turn.
5. A transport that fails closes the socket without the last chunk, as a crashed provider would.
"""

import asyncio
import ipaddress
from collections.abc import AsyncIterable
from contextlib import suppress
from email.utils import formatdate
from http import HTTPStatus
from typing import Any, cast

import h11
import httpx

_CHUNK = 1 << 16
_CONTINUE = h11.InformationalResponse(status_code=100, headers=[], reason=b"Continue")
_MAX_EARLY = 1 << 20
"""Bytes of later requests that are buffered while a reply is sent; then the socket is not read."""


class LoopbackServer:
    """A transport on a port. An async context manager that listens inside the block."""

    def __init__(
        self,
        transport: httpx.AsyncBaseTransport,
        port: int = 0,
        host: str = "127.0.0.1",
        max_body: int = 64 * 1024 * 1024,
        allow_remote: bool = False,
    ) -> None:
        """Port 0 takes a free one. Raises ValueError for a host that others can reach, unless
        `allow_remote`.
        """
        self._transport, self._max_body = transport, max_body
        self._host = "127.0.0.1" if host == "localhost" else host
        self.port = port
        """The port listened on; the requested one before."""
        self._connections: set[asyncio.Task[Any]] = set()
        try:
            is_loopback = ipaddress.ip_address(self._host).is_loopback
        except ValueError:
            is_loopback = False
        if not is_loopback and not allow_remote:
            raise ValueError(f"It listens on this machine only, not on {host!r}.")

    @property
    def base_url(self) -> str:
        """`http://HOST:PORT`, without a path, as a client on this machine reaches it."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self._host, self._host)  # noqa: S104
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"

    @property
    def connections(self) -> int:
        """The number of connected clients."""
        return len(self._connections)

    async def __aenter__(self) -> "LoopbackServer":
        self._listener = await asyncio.start_server(self._serve, self._host, self.port)
        self.port = self._listener.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_exc: object) -> None:
        self._listener.close()
        for task in list(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await self._listener.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            await _Connection(reader, writer, self._transport, self._max_body).run()
        except asyncio.CancelledError:
            pass  # the server is closing; asyncio.streams would log a cancelled handler
        except OSError:
            pass  # the client has disconnected
        finally:
            self._connections.discard(task)
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()


class _Connection:
    """One client."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        transport: httpx.AsyncBaseTransport,
        max_body: int,
    ) -> None:
        self._reader, self._writer, self._transport = reader, writer, transport
        self._max_body = max_body
        self._h11 = h11.Connection(h11.SERVER, max_incomplete_event_size=_CHUNK)

    async def run(self) -> None:
        """Serve requests until either side is done."""
        try:
            while (request := await self._read_request()) is not None:
                work = asyncio.ensure_future(self._answer(request))
                watch = asyncio.ensure_future(self._wait_for_end())
                try:
                    await asyncio.wait({work, watch}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    work.cancel()
                    watch.cancel()
                    # Gathered: our own cancellation must not pass for theirs.
                    ended, _ = await asyncio.gather(work, watch, return_exceptions=True)
                if ended is not None or self._h11.their_state is not h11.DONE:
                    return
                self._h11.start_next_cycle()
        except h11.RemoteProtocolError as error:
            if self._h11.our_state in (h11.IDLE, h11.SEND_RESPONSE):
                status, body = error.error_status_hint, str(error).encode()
                await self._send_response(httpx.Response(status, content=body), close=True)

    async def _read_request(self) -> httpx.Request | None:
        head: h11.Request | None = None
        body = bytearray()
        while True:
            event = self._h11.next_event()
            if event is h11.NEED_DATA:
                if self._h11.they_are_waiting_for_100_continue:
                    await self._send(_CONTINUE)
                self._h11.receive_data(await self._reader.read(_CHUNK))
            elif isinstance(event, h11.Request):
                head = event
            elif isinstance(event, h11.Data):
                body += event.data
            elif not isinstance(event, h11.EndOfMessage):
                return None  # ConnectionClosed, or PAUSED with nothing more to serve
            is_whole = isinstance(event, h11.EndOfMessage) or len(body) > self._max_body
            if head is not None and is_whole:
                request = httpx.Request(
                    head.method.decode("latin-1"),
                    _url_of(head.target),
                    headers=list(head.headers.raw_items()),
                    stream=httpx.ByteStream(bytes(body)),
                    extensions={"target": head.target},
                )
                request.read()
                return request

    async def _answer(self, request: httpx.Request) -> None:
        response = await self._transport.handle_async_request(request)
        is_whole = self._h11.their_state is not h11.SEND_BODY
        await self._send_response(response, close=not is_whole, head=request.method == "HEAD")

    async def _wait_for_end(self) -> None:
        """Return when the client has closed its side."""
        early = 0
        while early < _MAX_EARLY:
            data = await self._reader.read(_CHUNK)
            if not data:
                return
            early += len(data)
            self._h11.receive_data(data)
        await asyncio.Event().wait()

    async def _send_response(
        self, response: httpx.Response, *, close: bool = False, head: bool = False
    ) -> None:
        headers = list(response.headers.raw)
        if "date" not in response.headers:
            headers.append((b"date", formatdate(usegmt=True).encode()))
        headers += [(b"connection", b"close")] if close else []
        reason: bytes = response.extensions.get("reason_phrase") or _reason(response.status_code)
        status = response.status_code
        try:
            await self._send(h11.Response(status_code=status, headers=headers, reason=reason))
            if not head:
                async for data in cast("AsyncIterable[bytes]", response.stream):
                    await self._send(h11.Data(data=data))
            await self._send(h11.EndOfMessage())
        finally:
            await response.aclose()

    async def _send(self, event: Any) -> None:
        if data := cast("bytes | None", self._h11.send(event)):
            self._writer.write(data)
            await self._writer.drain()
            await asyncio.sleep(0)  # drain returns at once while the buffer has room


def _reason(status: int) -> bytes:
    try:
        return HTTPStatus(status).phrase.encode()
    except ValueError:
        return b"Overloaded"  # 529, Anthropic's own


def _url_of(target: bytes) -> httpx.URL:
    """Return a URL for a target, the root for one that is no path. Raises RemoteProtocolError."""
    try:
        path = target if target.startswith(b"/") else b"/"
        return httpx.URL("http://127.0.0.1", raw_path=path)
    except httpx.InvalidURL as error:
        raise h11.RemoteProtocolError(f"The target of the request is no URL: {error}") from error
