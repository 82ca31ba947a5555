"""The door on a socket, for other programs: a small HTTP/1.1 server over asyncio and h11.

1. It listens on the loopback interface only, by refusing any other host.
2. A connection serves one request after another (keep-alive); a body may be chunked, `Expect:
   100-continue` is honoured, and a body over the limit is answered with 413 before it has all come.
3. While a reply is said the socket is also read. If it ends, the client is gone and the reply is
   cancelled there. What arrives early instead (a pipelined request) waits its turn.
4. A model that cuts closes the socket without the last chunk, which is what a client sees of a
   crashed provider.
"""

import asyncio
import ipaddress
from collections.abc import Callable
from contextlib import suppress
from email.utils import formatdate
from http import HTTPStatus
from typing import Any, cast

import h11

from tui_chat.offline.answer import Answer, ConnectionCut, play
from tui_chat.offline.pieces import Wait
from tui_chat.offline.problems import NotJson, TooLarge
from tui_chat.offline.provider import MAX_BODY, Provider
from tui_chat.offline.received import Received
from tui_chat.offline.routes import house_of
from tui_chat.offline.world import World

_CHUNK = 1 << 16
_EARLY = 1 << 20
"""Bytes of later requests that are kept while a reply is said; then the socket is left unread."""


class Server:
    """The provider on a port. An async context manager: it listens inside the `async with`."""

    def __init__(
        self,
        port: int,
        host: str,
        *,
        on_request: Callable[[Received], None] | None = None,
        world: World | None = None,
    ) -> None:
        self._host = _loopback(host)
        self._port = port
        self._provider = Provider(world, on_request)
        self._listener: asyncio.Server | None = None
        self._connections: set[asyncio.Task[Any]] = set()

    @property
    def port(self) -> int:
        """The port listened on; the one asked for until then."""
        return self._port

    @property
    def base_url(self) -> str:
        """`http://HOST:PORT`, without a path: each protocol adds its own (`/v1`, `/v1beta`)."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self._port}"

    @property
    def connections(self) -> int:
        """How many clients are connected."""
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

    async def __aenter__(self) -> "Server":
        await self.start()
        return self

    async def __aexit__(self, *_exc: object) -> None:
        await self.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            await _Connection(reader, writer, self._provider).run()
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
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, provider: Provider
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._provider = provider
        self._h11 = h11.Connection(h11.SERVER, max_incomplete_event_size=_CHUNK)

    async def run(self) -> None:
        """Serve requests until either side is done."""
        try:
            while (received := await self._request()) is not None:
                answer = self._provider.answer(received)
                if not await self._while_connected(answer, received):
                    return
                if self._h11.our_state is not h11.DONE or self._h11.their_state is not h11.DONE:
                    return
                self._h11.start_next_cycle()
        except h11.RemoteProtocolError as error:
            await self._complain(error)
        except OSError:
            return  # the client is gone

    async def _request(self) -> Received | None:
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
                    house = house_of(_received(request, b""))
                    await self._say(self._provider.refuse(house, TooLarge(MAX_BODY)), close=True)
                    return None
            elif isinstance(event, h11.EndOfMessage) and request is not None:
                return _received(request, bytes(body))
            else:
                return None  # ConnectionClosed, or PAUSED with nothing more to serve

    async def _while_connected(self, answer: Answer, received: Received) -> bool:
        """Say the answer, unless the client leaves first; True if it was said to the end."""
        work = asyncio.ensure_future(self._say(answer, head=received.method == "HEAD"))
        watch = asyncio.ensure_future(self._watch())
        try:
            await asyncio.wait({work, watch}, return_when=asyncio.FIRST_COMPLETED)
            return await work if work.done() else False
        finally:
            work.cancel()
            watch.cancel()
            # Gathered, not awaited one by one: our own cancellation is not to be taken for theirs.
            await asyncio.gather(work, watch, return_exceptions=True)

    async def _watch(self) -> None:
        """Return when the client has closed its side."""
        early = 0
        while early < _EARLY:
            data = await self._reader.read(_CHUNK)
            if not data:
                return
            early += len(data)
            self._h11.receive_data(data)
        await _forever()

    async def _say(self, answer: Answer, *, head: bool = False, close: bool = False) -> bool:
        """Send an answer; False if the model cut the connection."""
        for step in answer.before:
            await self._pause(step.seconds if isinstance(step, Wait) else None)
        extra = [("date", formatdate(self._provider.world.now(), usegmt=True))]
        if close:
            extra.append(("connection", "close"))
        await self._send(
            h11.Response(
                status_code=answer.status,
                headers=[*answer.headers, *extra],
                reason=_reason(answer.status),
            )
        )
        try:
            if not head:
                async for data in play(answer.steps, self._provider.world, self._pause):
                    await self._send(h11.Data(data=data))
                    await asyncio.sleep(0)  # drain returns at once while the buffer has room
            await self._send(h11.EndOfMessage())
        except ConnectionCut:
            return False
        return True

    async def _pause(self, seconds: float | None) -> None:
        await (_forever() if seconds is None else self._provider.world.sleep(seconds))

    async def _send(self, event: Any) -> None:
        data = cast("bytes | None", self._h11.send(event))
        if data:
            self._writer.write(data)
            await self._writer.drain()

    async def _complain(self, error: h11.RemoteProtocolError) -> None:
        """Say a last word to a client whose HTTP is broken."""
        if self._h11.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            return
        house = house_of(Received("GET", "/", (), b""))
        answer = self._provider.refuse(house, NotJson(str(error)))
        answer = Answer(error.error_status_hint, answer.headers, answer.steps)
        with suppress(OSError, h11.LocalProtocolError):
            await self._say(answer, close=True)


def _received(request: h11.Request, body: bytes) -> Received:
    return Received(
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


def _loopback(host: str) -> str:
    """Return the host, if it can only be reached from this machine."""
    if host == "localhost":
        return "127.0.0.1"  # a hosts file could say otherwise
    try:
        if ipaddress.ip_address(host).is_loopback:
            return host
    except ValueError:
        pass
    raise ValueError(f"The loopback provider listens on this machine only, not on {host!r}.")


async def _forever() -> None:
    await asyncio.get_running_loop().create_future()
