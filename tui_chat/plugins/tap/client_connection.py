"""One connection of a client, and the one to the upstream that goes with it.

1. What one side sends the other one gets as it came: chunks, trailers, pipelined requests,
   informational responses, `connection` headers. So the client and the provider agree with each
   other, and the proxy has nothing to invent.
2. Only the `host` header is written anew, and the target if the upstream has a path; an `upgrade`
   to HTTP/2 is left out. An upstream that switches the protocol all the same is left.
3. The end of either side is passed on as what it was. A client that leaves ends the request at the
   provider; a response that breaks off breaks off for the client too.
4. No more is read from one side than the other one takes.
5. WebSockets are refused with 426, so that clients fall back to plain requests at once.
6. What is kept of the bytes never delays them; see `exchange`.
7. A request that may be held is read whole before the upstream hears of it; see `pause`. Then it
   goes on as it came, or with another body, or the proxy answers.
"""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import struct
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import Any

from tui_chat.models.endpoint import Protocol
from tui_chat.plugins.tap.exchange import Outcome, RecordedExchange
from tui_chat.plugins.tap.held_answer import answer_by_hand
from tui_chat.plugins.tap.http_messages import (
    ByteSource,
    Headers,
    MessageFault,
    MessageReader,
    Part,
    ProtocolSwitch,
    RequestHead,
    ResponseHead,
    read_request_head,
)
from tui_chat.plugins.tap.pause import HeldRequest, HoldDecision, Pauses
from tui_chat.plugins.tap.upstreams import Route, Upstream
from tui_chat.protocols.registry import protocol_of_path

_LOG = logging.getLogger(__name__)
CONNECT_SECONDS = 30.0
"""Seconds to connect to an upstream."""
_SILENCE = 30.0
"""Seconds that an upstream may be silent after its client has closed its own direction."""
_LINGER = 1.0
"""Seconds in which a client's late bytes are read, so that they do not reset the response."""


class _Pending:
    """An exchange whose response has not been passed on yet, and the reader of that response."""

    def __init__(self, exchange: RecordedExchange, method: str) -> None:
        self.exchange = exchange
        self.reader = MessageReader.of_response(method)


class _UpstreamLeft(Exception):
    """The upstream takes no more of the request; its response may still come."""


class _Answered(Exception):
    """The proxy has answered, and takes no more requests on the connection."""


class ClientConnection:
    """A client's connection, and the one to the upstream."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        route: Route,
        begin: Callable[[RequestHead, Upstream], RecordedExchange],
        accepts_host: Callable[[str], bool],
        pauses: Pauses,
    ) -> None:
        """`begin` is called with each request as it is passed on, and returns what keeps it;
        `accepts_host` returns True if requests for a host are.
        """
        self._route, self._begin, self._accepts_host = route, begin, accepts_host
        self._pauses = pauses
        self._client = ByteSource(reader)
        self._to_client = writer
        self._upstream: Upstream | None = None
        self._to_upstream: asyncio.StreamWriter | None = None
        self._responses: asyncio.Task[None] | None = None
        """Passes the responses of the current upstream on."""
        self._upstream_ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when no more comes from the upstream."""
        self._pending: deque[_Pending] = deque()
        self._nothing_pending = asyncio.Event()
        self._nothing_pending.set()
        self._unsent: RecordedExchange | None = None
        """The exchange whose request is read or held before it is sent."""
        self._passed = 0
        """Bytes of responses that were passed on."""
        self._client_left = False
        """True if the client has closed its direction, or the whole connection."""

    async def run(self) -> None:
        """Pass requests and responses on until both are done, or one side has left."""
        requests = asyncio.ensure_future(self._pass_requests())
        try:
            await asyncio.wait(
                {requests, self._upstream_ended}, return_when=asyncio.FIRST_COMPLETED
            )
            if not requests.done():
                requests.cancel()
                await asyncio.gather(requests, return_exceptions=True)
                await self._let_client_read()
            elif await requests and self._pending:
                await self._wait_for_responses()
        finally:
            requests.cancel()
            await asyncio.gather(requests, return_exceptions=True)

    async def close(self) -> None:
        """Close both sides; what was written to the client is still sent."""
        await self._leave_upstream()
        unsent = () if self._unsent is None else (self._unsent,)
        for exchange in (*(pending.exchange for pending in self._pending), *unsent):
            if self._client_left:
                self._end(exchange, "client disconnected", "The client closed first.")
            else:
                self._end(exchange, "ended", "The proxy ended first.")
        self._to_client.close()
        with suppress(OSError, asyncio.TimeoutError):
            await asyncio.wait_for(self._to_client.wait_closed(), _SILENCE)

    # --- requests ---------------------------------------------------------------------------

    async def _pass_requests(self) -> bool:
        """Pass the client's requests on. Return True if its direction was closed in order."""
        try:
            while data := await self._client.read_head():
                try:
                    await self._pass_request(data)
                except _UpstreamLeft:
                    await self._upstream_ended
        except MessageFault as fault:
            await self._nothing_pending.wait()
            with suppress(OSError):
                await self._answer(fault.status, str(fault), "/", close=True)
            return False
        except _Answered:
            return False
        except OSError:
            self._client_left = True
            return False
        self._client_left = True
        return True

    async def _pass_request(self, data: bytes) -> None:
        head, reader, has_body = read_request_head(data)
        upstream = self._route(head)
        passed = head.addressed_to(upstream.authority, upstream.target(head.target))
        if (refusal := self._refusal(head)) is None:
            passed = passed.without_upgrade()
        exchange = self._begin(passed, upstream)
        if refusal is not None:
            self._end(exchange, "refused", refusal[1])
            await self._nothing_pending.wait()
            await self._answer(*refusal, head.target, close=True)
            raise _Answered
        body: list[bytes] = []
        if has_body and self._pauses.may_hold(head):
            self._unsent = exchange
            body = await self._read_ahead(exchange, head, reader)
            if held := await self._held_request(exchange, reader):
                decision = await self._decision(held)
                if not await self._obeyed(decision, held):
                    return
                if decision.end == "edited":
                    passed, body = self._edited(passed, exchange, decision.content)
        try:
            await self._connect(upstream)
        except (TimeoutError, OSError) as error:
            await self._answer_unreachable(error, exchange, head, reader)
            return
        self._unsent = None
        self._pending.append(_Pending(exchange, head.method))
        self._nothing_pending.clear()
        for data in (passed.data, *body):
            await self._send(data)
        await self._pass_body(exchange, reader)
        exchange.finish_request(monotonic())

    async def _pass_body(self, exchange: RecordedExchange, reader: MessageReader) -> None:
        """Pass the body of a request on. Raises ConnectionResetError if the client leaves."""
        while not reader.is_whole:
            data = await self._client.read()
            if not data:
                raise ConnectionResetError("the client left within its request")
            try:
                parts, rest = reader.feed(data)
            except MessageFault as fault:
                await self._leave_upstream()
                self._end(exchange, "unreadable", f"The request is not HTTP/1.1: {fault}")
                while self._pending:
                    self._forget_first()
                raise
            self._client.put_back(rest)
            await self._send(data[: len(data) - len(rest)])
            _keep_request(exchange, parts)

    async def _send(self, data: bytes) -> None:
        assert self._to_upstream is not None
        try:
            self._to_upstream.write(data)
            await self._to_upstream.drain()
        except OSError as error:
            raise _UpstreamLeft from error

    def _refusal(self, head: RequestHead) -> tuple[int, str] | None:
        """Return status and sentence if a request is refused here."""
        from_page = head.header("sec-fetch-site") in ("cross-site", "same-site")
        if from_page or head.header("origin") is not None:  # pages load pictures without an origin
            return 403, "Requests from web pages are refused."
        if not self._accepts_host(head.header("host") or ""):
            return 403, "The request is for another host: use this proxy as a base URL."
        upgrades = ",".join(value for name, value in head.headers if name.lower() == "upgrade")
        protocols = (word.partition("/")[0].strip().lower() for word in upgrades.split(","))
        if "websocket" in protocols:
            return 426, "WebSockets are not supported: the client must use plain requests."
        if head.method in ("CONNECT", "TRACE"):
            return 405, f"{head.method} requests are refused."
        names = {name.lower() for name, _ in head.headers}
        if names >= _LENGTHS or ("transfer-encoding" in names and head.is_http_1_0):
            return 400, "The length of the request's body is ambiguous."
        return None

    # --- held requests ----------------------------------------------------------------------

    async def _read_ahead(
        self, exchange: RecordedExchange, head: RequestHead, reader: MessageReader
    ) -> list[bytes]:
        """Return the bytes of a body, read until its end, or as long as it is kept whole and its
        time lasts. Raises ConnectionResetError if the client leaves.
        """
        body: list[bytes] = []
        if _expects_continue(head):
            await self._nothing_pending.wait()
            self._to_client.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        with suppress(TimeoutError):
            async with asyncio.timeout(self._pauses.seconds):
                while not reader.is_whole and exchange.request.is_whole:
                    if not (data := await self._client.read()):
                        raise ConnectionResetError("the client left within its request")
                    try:
                        parts, rest = reader.feed(data)
                    except MessageFault as fault:
                        sentence = f"The request is not HTTP/1.1: {fault}"
                        self._end(exchange, "unreadable", sentence)
                        raise
                    self._client.put_back(rest)
                    body.append(data[: len(data) - len(rest)])
                    _keep_request(exchange, parts)
        return body

    async def _held_request(
        self, exchange: RecordedExchange, reader: MessageReader
    ) -> HeldRequest | None:
        if not exchange.request.is_whole:
            self._pauses.pass_unheld(exchange, "it is too large to be held")
        elif not reader.is_whole:
            self._pauses.pass_unheld(exchange, "it did not arrive in time to be held")
        else:
            return await self._pauses.hold(exchange)
        return None

    async def _decision(self, held: HeldRequest) -> HoldDecision:
        """Return what is decided about a held request. Its upstream would not wait: it is left."""
        await self._nothing_pending.wait()
        await self._leave_upstream()
        left = asyncio.ensure_future(self._client.wait_for_end())
        try:
            return await self._pauses.decision(held, left)
        finally:
            left.cancel()
            await asyncio.gather(left, return_exceptions=True)

    async def _obeyed(self, decision: HoldDecision, held: HeldRequest) -> bool:
        """Do what was decided about a held request. Return True if it is to be sent."""
        exchange = held.exchange
        if decision.end in ("sent", "edited", "expired"):
            return True
        exchange.finish_request(monotonic())
        match decision.end:
            case "answered":
                headers, body = answer_by_hand(held.call, decision.content.decode())
                await self._answer_for_model(exchange, headers, body)
            case "dropped":
                self._end(exchange, "dropped", "Dropped by hand; it was not sent.")
                sentence = "tui-chat tap: the user dropped this request; it was not sent."
                await self._answer(403, sentence, exchange.path, close=False)
            case "client disconnected":
                raise ConnectionResetError("the client left while its request was held")
            case _:
                self._end(exchange, "ended", "The proxy ended first; it was not sent.")
                sentence = "tui-chat tap ended while it held this request; it was not sent."
                await self._answer(503, sentence, exchange.path, close=True)
                raise _Answered
        return False

    def _edited(
        self, head: RequestHead, exchange: RecordedExchange, body: bytes
    ) -> tuple[RequestHead, list[bytes]]:
        """Return head and body of an edited request, and keep what is sent."""
        assert exchange.hold is not None
        head = head.with_body(len(body))
        exchange.hold.sent = body
        exchange.hold.sent_headers = exchange.credentials.mask_headers(head.headers)
        return head, [body]

    async def _answer_for_model(
        self, exchange: RecordedExchange, headers: Headers, body: bytes
    ) -> None:
        """Answer a request in the model's place."""
        headers = (
            *headers,
            ("content-length", str(len(body))),
            ("x-tui-chat-tap", "answered by hand"),
        )
        lines = ["HTTP/1.1 200 OK", *(f"{name}: {value}" for name, value in headers)]
        now = monotonic()
        exchange.begin_response(200, headers, now)
        exchange.add_response(body, now)
        self._end(exchange, "answered")
        self._to_client.write("\r\n".join((*lines, "", "")).encode() + body)
        await self._to_client.drain()

    # --- the upstream -----------------------------------------------------------------------

    async def _connect(self, upstream: Upstream) -> None:
        """Connect to an upstream, unless it is the current one."""
        if upstream == self._upstream:
            return
        await self._nothing_pending.wait()
        await self._leave_upstream()
        connecting = upstream.connect()
        reader, self._to_upstream = await asyncio.wait_for(connecting, CONNECT_SECONDS)
        self._upstream = upstream
        self._responses = asyncio.ensure_future(self._pass_responses(ByteSource(reader)))

    async def _leave_upstream(self) -> None:
        """Close the connection to the upstream at once, whatever it still sends."""
        if self._responses is not None:
            self._responses.cancel()
            await asyncio.gather(self._responses, return_exceptions=True)
        if self._to_upstream is not None:
            self._to_upstream.transport.abort()
        self._upstream = self._to_upstream = self._responses = None

    async def _answer_unreachable(
        self,
        error: Exception,
        exchange: RecordedExchange,
        head: RequestHead,
        reader: MessageReader,
    ) -> None:
        """Answer a request whose upstream cannot be reached."""
        why = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        sentence = f"tui-chat tap cannot reach {self._route(head).url}: {why}."
        waits = _expects_continue(head) and not exchange.request.size
        while not waits and not reader.is_whole:
            data = await self._client.read()
            if not data:
                self._end(exchange, "client disconnected", "The client closed first.")
                raise ConnectionResetError("the client left within its request")
            parts, rest = reader.feed(data)
            self._client.put_back(rest)
            _keep_request(exchange, parts)
        exchange.finish_request(monotonic())
        self._end(exchange, "unreachable", sentence)
        await self._nothing_pending.wait()
        await self._answer(502, sentence, head.target, close=waits)
        if waits:
            raise _Answered

    # --- responses --------------------------------------------------------------------------

    async def _pass_responses(self, source: ByteSource) -> None:
        """Pass on what the upstream sends until it ends, then tell `run`."""
        try:
            while data := await source.read():
                await self._pass_response(data)
            await self._end_of_upstream()
        except OSError as error:  # either side was reset
            await self._end_of_upstream(reset=True, fault=str(error))
        except Exception as error:  # a defect of ours must not leave the client waiting
            _LOG.error("a response was not passed on: %s", type(error).__name__)
        if not self._upstream_ended.done():
            self._upstream_ended.set_result(None)

    async def _pass_response(self, data: bytes) -> None:
        """Pass bytes on, at once, and keep what they say."""
        now = monotonic()
        if not self._to_client.is_closing():
            self._to_client.write(data)
        self._passed += len(data)
        finished: list[RecordedExchange] = []
        while data and self._pending:
            pending = self._pending[0]
            exchange = pending.exchange
            if exchange.outcome == "unreadable":
                break
            try:
                parts, data = pending.reader.feed(data)
            except MessageFault as fault:
                self._end(exchange, "unreadable", f"The response is not HTTP/1.1: {fault}")
                if isinstance(fault, ProtocolSwitch):  # the client's next bytes are no request
                    raise ConnectionAbortedError(str(fault)) from fault
                break
            _keep_response(exchange, parts, now)
            if not pending.reader.is_whole:
                break
            self._forget_first()
            finished.append(exchange)
        try:
            await self._to_client.drain()
        except OSError:
            self._client_left = True
            for exchange in finished:
                self._end(exchange, "client disconnected", "The client closed first.")
            raise
        for exchange in finished:
            self._end(exchange, "complete")

    def _forget_first(self) -> None:
        self._pending.popleft()
        if not self._pending:
            self._nothing_pending.set()

    async def _end_of_upstream(self, *, reset: bool = False, fault: str = "") -> None:
        """Note how the open exchanges ended, and let the response end for the client as it did."""
        until_end = False
        for pending in tuple(self._pending):
            exchange = pending.exchange
            if exchange.status and not reset:
                with suppress(MessageFault):  # the end of the connection may end the response
                    parts, _ = pending.reader.feed(b"")
                    _keep_response(exchange, parts, monotonic())
                    self._forget_first()
                    self._end(exchange, "complete")
                    continue
            lengths = {name.lower() for name, _ in exchange.response_headers}
            until_end |= bool(exchange.status) and not lengths & _LENGTHS
            if self._client_left:
                self._end(exchange, "client disconnected", "The client closed first.")
            else:
                why = f" ({fault})" if fault else ""
                self._end(exchange, "upstream cut", f"The upstream closed the connection{why}.")
        if reset and until_end and not self._client_left:
            with suppress(OSError):
                await self._to_client.drain()
                _reset(self._to_client)

    async def _wait_for_responses(self) -> None:
        """Let the upstream answer a client that has closed only its own direction."""
        assert self._to_upstream is not None
        if not self._to_upstream.can_write_eof():
            return
        with suppress(OSError):
            self._to_upstream.write_eof()
        passed = -1
        while self._pending and passed != self._passed:
            passed = self._passed
            idle = asyncio.ensure_future(self._nothing_pending.wait())
            await asyncio.wait(
                {idle, self._upstream_ended},
                timeout=_SILENCE,
                return_when=asyncio.FIRST_COMPLETED,
            )
            idle.cancel()
            if self._upstream_ended.done():
                return

    async def _let_client_read(self) -> None:
        """End the client's response, and read what it still sends for a moment: a socket that is
        closed with unread bytes discards what it was to send.
        """
        with suppress(OSError, asyncio.TimeoutError):
            if self._to_client.can_write_eof():
                self._to_client.write_eof()
            await asyncio.wait_for(self._discard_input(), _LINGER)

    async def _discard_input(self) -> None:
        while await self._client.read():
            pass

    # --- answers of the proxy itself ----------------------------------------------------------

    async def _answer(self, status: int, sentence: str, target: str, *, close: bool) -> None:
        """Answer in place of the upstream, in the form of the provider's errors."""
        body = error_body(status, sentence, protocol_of_path(target.partition("?")[0]))
        lines = [
            f"HTTP/1.1 {status} {_REASONS.get(status, 'Error')}",
            "content-type: application/json",
            f"content-length: {len(body)}",
            "x-tui-chat-tap: answered by the proxy",
            *(["x-should-retry: false"] if status in (403, 503) else []),
            *(["connection: close"] if close else []),
            *(["upgrade: websocket"] if status == 426 else []),
        ]
        self._to_client.write("\r\n".join((*lines, "", "")).encode() + body)
        await self._to_client.drain()
        if close:
            await self._let_client_read()

    def _end(self, exchange: RecordedExchange, outcome: Outcome, fault: str = "") -> None:
        exchange.end(outcome, monotonic(), fault)


def _expects_continue(head: RequestHead) -> bool:
    return (head.header("expect") or "").lower() == "100-continue"


_LENGTHS = {"content-length", "transfer-encoding"}
_REASONS = {
    400: "Bad Request",
    403: "Forbidden",
    405: "Method Not Allowed",
    426: "Upgrade Required",
    431: "Request Header Fields Too Large",
    502: "Bad Gateway",
    503: "Service Unavailable",
}


def _keep_request(exchange: RecordedExchange, parts: list[Part]) -> None:
    for part in parts:
        if isinstance(part, bytes):
            exchange.request.add(part)


def _keep_response(exchange: RecordedExchange, parts: list[Part], now: float) -> None:
    for part in parts:
        if isinstance(part, ResponseHead):
            exchange.begin_response(part.status, part.headers, now)
        elif isinstance(part, bytes):
            exchange.add_response(part, now)


def error_body(status: int, sentence: str, protocol: Protocol | None) -> bytes:
    """Return an error of the proxy's own in the form of a provider's."""
    match protocol:
        case Protocol.ANTHROPIC:
            kind = {400: "invalid_request_error", 403: "permission_error"}.get(status, "api_error")
            error: Any = {"type": "error", "error": {"type": kind, "message": sentence}}
        case Protocol.GEMINI:
            kinds = {400: "INVALID_ARGUMENT", 403: "PERMISSION_DENIED"}
            kind = kinds.get(status, "UNAVAILABLE")
            error = {"error": {"code": status, "message": sentence, "status": kind}}
        case Protocol.OLLAMA:
            error = {"error": sentence}
        case _:
            kind = "tap_error" if status >= 500 else "invalid_request_error"
            error = {"error": {"message": sentence, "type": kind, "param": None, "code": None}}
    return json.dumps(error).encode()


def _reset(writer: asyncio.StreamWriter) -> None:
    """Abort a connection, so that the client does not take its response for complete."""
    connection = writer.get_extra_info("socket")
    if connection is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
