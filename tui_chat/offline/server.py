"""The offline provider on a socket, for other programs: an HTTP/1.1 server with asyncio and h11.

1. It listens on the loopback interface only, by refusing any other host.
2. A connection serves one request after another (keep-alive); a body may be chunked, `Expect:
   100-continue` is honored, and a body over the limit gets its 413 before all of it has arrived.
3. While a reply is sent the socket is also read. If it ends, the client has disconnected and the
   reply is cancelled. Early data instead (a pipelined request) waits its turn.
4. A model that disconnects closes the socket without the last chunk, as a crashed provider would.
"""

import asyncio
import ipaddress
from collections.abc import Callable
from contextlib import aclosing, suppress
from dataclasses import replace
from email.utils import formatdate
from http import HTTPStatus
from typing import Any, cast

import h11

from tui_chat.offline.http_messages import (
    ConnectionCut,
    HttpRequest,
    HttpResponse,
    OfflineDependencies,
)
from tui_chat.offline.reply import Problem
from tui_chat.offline.script import Script
from tui_chat.offline.service import MAX_BODY, OfflineService, protocol_of, too_large

_CHUNK = 1 << 16
_MAX_EARLY = 1 << 20
"""Bytes of later requests that are buffered while a reply is sent; then the socket is not read."""


class OfflineServer:
    """The offline provider on a port. An async context manager that listens inside the block."""

    def __init__(self, service: OfflineService, port: int, host: str) -> None:
        self._service = service
        self._host = _checked_host(host)
        self._port = port
        self._listener: asyncio.Server | None = None
        self._connections: set[asyncio.Task[Any]] = set()

    @property
    def port(self) -> int:
        """The port listened on; the requested one before `start`."""
        return self._port

    @property
    def base_url(self) -> str:
        """`http://HOST:PORT`, without a path: each protocol adds its own (`/v1`, `/v1beta`)."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self._port}"

    @property
    def connections(self) -> int:
        """The number of connected clients."""
        return len(self._connections)

    async def start(self) -> None:
        """Listen. Raises OSError if the port is taken."""
        self._listener = await asyncio.start_server(self._serve, self._host, self._port)
        self._port = self._listener.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Stop listening and end every connection."""
        if self._listener is not None:
            self._listener.close()
        for task in list(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        if self._listener is not None:
            await self._listener.wait_closed()
            self._listener = None

    async def __aenter__(self) -> "OfflineServer":
        await self.start()
        return self

    async def __aexit__(self, *_exc: object) -> None:
        await self.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            await _Connection(reader, writer, self._service).run()
        except asyncio.CancelledError:
            pass  # the server is closing; asyncio.streams would log a cancelled handler
        finally:
            self._connections.discard(task)
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()


class _Connection:
    """One client."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, service: OfflineService
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._service = service
        self._h11 = h11.Connection(h11.SERVER, max_incomplete_event_size=_CHUNK)

    async def run(self) -> None:
        """Serve requests until either side is done."""
        try:
            while (request := await self._read_request()) is not None:
                if not await self._answered(request):
                    return
                if self._h11.our_state is not h11.DONE or self._h11.their_state is not h11.DONE:
                    return
                self._h11.start_next_cycle()
        except h11.RemoteProtocolError as error:
            await self._refuse(error)
        except OSError:
            return  # the client has disconnected

    async def _read_request(self) -> HttpRequest | None:
        request: h11.Request | None = None
        body = bytearray()
        while True:
            event = self._h11.next_event()
            if event is h11.NEED_DATA:
                if self._h11.they_are_waiting_for_100_continue:
                    go_on = h11.InformationalResponse(
                        status_code=100, headers=[], reason="Continue"
                    )
                    await self._send(go_on)
                self._h11.receive_data(await self._reader.read(_CHUNK))
            elif isinstance(event, h11.Request):
                request = event
            elif isinstance(event, h11.Data):
                body += event.data
                if request is not None and len(body) > MAX_BODY:
                    protocol = protocol_of(_http_request(request, b""))
                    refusal = self._service.refuse(protocol, too_large(), "")
                    await self._send_response(refusal, close=True)
                    return None
            elif isinstance(event, h11.EndOfMessage) and request is not None:
                return _http_request(request, bytes(body))
            else:
                return None  # ConnectionClosed, or PAUSED with nothing more to serve

    async def _answered(self, request: HttpRequest) -> bool:
        """Answer unless the client leaves first; True if all of it was sent."""
        work = asyncio.ensure_future(self._answer(request))
        watch = asyncio.ensure_future(self._watch())
        try:
            await asyncio.wait({work, watch}, return_when=asyncio.FIRST_COMPLETED)
            return await work if work.done() else False
        finally:
            work.cancel()
            watch.cancel()
            # Gathered, not awaited one by one: our own cancellation must not pass for theirs.
            await asyncio.gather(work, watch, return_exceptions=True)

    async def _answer(self, request: HttpRequest) -> bool:
        response = await self._service.respond(request, self._pause)
        return await self._send_response(response, head=request.method == "HEAD")

    async def _watch(self) -> None:
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
        self, response: HttpResponse, *, head: bool = False, close: bool = False
    ) -> bool:
        """Send a response; False if the model dropped the connection."""
        extra = [("date", formatdate(self._service.dependencies.now(), usegmt=True))]
        if close:
            extra.append(("connection", "close"))
        await self._send(
            h11.Response(
                status_code=response.status,
                headers=[*response.headers, *extra],
                reason=_reason(response.status),
            )
        )
        try:
            if not head:
                async with aclosing(response.body) as body:
                    async for data in body:
                        await self._send(h11.Data(data=data))
                        await asyncio.sleep(0)  # drain returns at once while the buffer has room
            await self._send(h11.EndOfMessage())
        except ConnectionCut:
            return False
        return True

    async def _pause(self, seconds: float | None) -> None:
        sleep = self._service.dependencies.sleep
        await (asyncio.Event().wait() if seconds is None else sleep(seconds))

    async def _send(self, event: Any) -> None:
        data = cast("bytes | None", self._h11.send(event))
        if data:
            self._writer.write(data)
            await self._writer.drain()

    async def _refuse(self, error: h11.RemoteProtocolError) -> None:
        """Answer a client whose HTTP is invalid, before the connection closes."""
        if self._h11.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            return
        protocol = protocol_of(HttpRequest("GET", "/", (), b""))
        response = self._service.refuse(protocol, Problem("invalid", str(error)), "")
        response = replace(response, status=error.error_status_hint)
        with suppress(OSError, h11.LocalProtocolError):
            await self._send_response(response, close=True)


def _http_request(request: h11.Request, body: bytes) -> HttpRequest:
    return HttpRequest(
        method=request.method.decode("latin-1").upper(),
        target=request.target.decode("latin-1"),
        headers=tuple(
            (name.decode("latin-1"), value.decode("latin-1")) for name, value in request.headers
        ),
        body=body,
    )


def _reason(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Overloaded"  # 529, Anthropic's own


def _checked_host(host: str) -> str:
    """Return a host that only this machine can reach. Raises ValueError for others."""
    if host == "localhost":
        return "127.0.0.1"  # a hosts file could say otherwise
    try:
        if ipaddress.ip_address(host).is_loopback:
            return host
    except ValueError:
        pass
    raise ValueError(f"The loopback provider listens on this machine only, not on {host!r}.")


def serve(
    port: int = 0,
    host: str = "127.0.0.1",
    *,
    on_request: Callable[[HttpRequest], None] | None = None,
    dependencies: OfflineDependencies | None = None,
    alias: str = "",
    script: Script | None = None,
) -> OfflineServer:
    """Return a server of the offline provider on a loopback socket; it listens in an `async with`.

    It has a `port` and a `base_url`. Port 0 takes a free one. The other arguments are those of
    `OfflineService`. Raises ValueError for a host that other machines can reach.
    """
    return OfflineServer(OfflineService(dependencies, on_request, alias, script), port, host)
