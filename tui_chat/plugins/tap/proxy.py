"""The proxy: a transport of the loopback server that passes each request on through httpx.

1. Method, target, headers and body go on as they came. The `host` header is written anew and comes
   first, the target if the upstream has a path; an `upgrade` to HTTP/2 is left out. Framing is each
   side's own: a request is read whole before it goes on, and chunks are cut anew.
2. A response passes as it comes, undecoded, and no faster than the client takes it.
3. The end of either side is passed on as what it was. A client that leaves ends the request at the
   provider; a response that breaks off breaks off for the client too. Nothing is sent twice.
4. Requests with an `Origin`, or for another `Host`, are refused: no web page may use the client's
   keys. WebSockets are refused with 426, so that clients fall back to plain requests at once.
5. What is kept of the bytes never delays them; see `exchange`. Held requests wait; see `pause`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from http.cookiejar import DefaultCookiePolicy
from time import monotonic
from typing import Any, cast

import httpx

from tui_chat.errors import ConfigError, TuiChatError
from tui_chat.models.endpoint import Protocol, Timeouts
from tui_chat.plugins.tap.exchange import (
    Outcome,
    RawHeaders,
    RecordedExchange,
    Request,
    read_headers,
)
from tui_chat.plugins.tap.pause import PASSES, HeldRequests, HoldDecision
from tui_chat.plugins.tap.upstreams import Route, Upstream
from tui_chat.protocols.registry import protocol_of_path
from tui_chat.providers.client import new_client
from tui_chat.providers.failures import is_loopback, unreachable

MAX_BODY = 64 * 1024 * 1024
"""Bytes of a body that are kept if nothing else is said; no provider takes a larger one."""
MAX_REQUEST = 512 * 1024 * 1024
"""Bytes of the largest request that passes."""
_CONNECT_SECONDS = 30.0
_CLOSING_SECONDS = 1.0
"""Seconds in which held requests are refused when the proxy ends."""
_TIMEOUT = {"connect": _CONNECT_SECONDS, "read": None, "write": None, "pool": None}
_OF_BODY = frozenset(
    (
        *(b"content-length", b"transfer-encoding", b"content-encoding", b"trailer", b"expect"),
        *(b"content-md5", b"content-digest", b"digest", b"repr-digest"),
    )
)
"""Headers that are about the bytes of one body."""
_OF_UPGRADE = (b"upgrade", b"http2-settings")
"""Headers, also as words of `connection`, that ask for another protocol."""

NOWHERE = Upstream("http://127.0.0.1")
"""The upstream of requests that are refused."""
Follow = Callable[[RecordedExchange], None]


class TapTransport(httpx.AsyncBaseTransport):
    """Answers a request with what its upstream answers."""

    def __init__(
        self,
        route: Route,
        follow: Follow,
        *,
        host: str = "127.0.0.1",
        allow_remote: bool = False,
        max_body: int = MAX_BODY,
        holds: HeldRequests | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        """`follow` is called with each exchange as it goes on, `host` is the address listened on,
        and `environ` has the variables of proxies.
        """
        self.route = route
        self._follow = follow
        self._host, self._allow_remote = host.lower(), allow_remote
        self._max_body = max_body
        self._holds = holds
        self._environ = environ or {}
        self._clients: dict[str, httpx.AsyncClient] = {}
        self._opening = asyncio.Lock()
        self._count = 0
        self._is_closed = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Return the response of the upstream, or one of the proxy's own. Raises
        httpx.TransportError if the upstream closes before it answers.
        """
        target = cast("bytes", request.extensions["target"]).decode("latin-1")
        headers = request.headers.raw
        refusal = self._refusal(request, target)
        passed = Request(request.method, target, read_headers(headers), request.content)
        upstream = NOWHERE if refusal is not None else self.route(passed)
        if refusal is None:
            headers = _passed_headers(headers, upstream)
            target, shown = upstream.target(target), read_headers(headers)
            passed = replace(passed, target=target, headers=shown)
        self._count += 1
        exchange = RecordedExchange(self._count, passed, upstream.url, self._max_body, monotonic())
        if refusal is not None:
            self._follow(exchange)
            return _refused(exchange, "refused", *refusal)
        try:
            return await self._pass(exchange, upstream, passed, headers)
        except asyncio.CancelledError:
            self._leave(exchange)
            raise

    async def _pass(
        self, exchange: RecordedExchange, upstream: Upstream, request: Request, headers: RawHeaders
    ) -> httpx.Response:
        """Hold a request if it is to be held, and send it on unless it is answered here."""
        decision, body = PASSES, request.body
        try:
            if self._holds is not None and request.method == "POST":
                decision = await self._holds.hold(exchange)
            if decision.end == "edited":
                assert exchange.hold is not None
                exchange.hold.sent = body = decision.content
                headers = [pair for pair in headers if pair[0].lower() not in _OF_BODY]
                headers.append((b"content-length", str(len(body)).encode()))
                exchange.hold.sent_headers = exchange.credentials.mask_headers(
                    read_headers(headers)
                )
        finally:
            self._follow(exchange)
        if (own := _own_answer(exchange, decision)) is not None:
            return own
        url, extensions = _address(upstream, request.target.encode("latin-1"))
        onward = httpx.Request(
            request.method,
            url,
            headers=headers,
            stream=httpx.ByteStream(body),
            extensions={**extensions, "timeout": _TIMEOUT},
        )
        return await self._send(exchange, upstream, onward)

    async def _send(
        self, exchange: RecordedExchange, upstream: Upstream, request: httpx.Request
    ) -> httpx.Response:
        try:
            client = await self._client(upstream)
            response = await client.send(request, stream=True, auth=None)
        except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError):
            exchange.end("upstream cut", monotonic(), "The upstream closed the connection.")
            raise
        except (ConfigError, httpx.HTTPError) as error:
            why = error
            if not isinstance(error, TuiChatError):
                why = unreachable(upstream.url, error, Timeouts(connect=_CONNECT_SECONDS))
            sentence = f"tui-chat tap cannot reach {upstream.url}: {why}"
            return _refused(exchange, "unreachable", 502, sentence)
        exchange.begin_response(
            response.status_code, read_headers(response.headers.raw), monotonic()
        )
        if request.method == "HEAD":
            exchange.end("complete", monotonic())
        return httpx.Response(
            response.status_code,
            headers=response.headers.raw,
            stream=_ForwardedBody(response, exchange, self._leave),
            extensions={"reason_phrase": response.extensions.get("reason_phrase", b"")},
        )

    async def _client(self, upstream: Upstream) -> httpx.AsyncClient:
        """Return the client for the proxy on the way to an upstream. Raises ConfigError."""
        direct = not upstream.proxy and is_loopback(upstream.url)
        proxy = "none" if direct else upstream.proxy
        async with self._opening:
            if proxy not in self._clients:
                client = await asyncio.to_thread(new_client, proxy, self._environ)
                client.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=()))
                self._clients[proxy] = client
        return self._clients[proxy]

    def _leave(self, exchange: RecordedExchange) -> None:
        """Note that a request was given up: its client left, or the proxy ends."""
        if self._is_closed:
            exchange.end("ended", monotonic(), "The proxy ended first.")
        else:
            exchange.end("client disconnected", monotonic(), "The client closed first.")

    def _refusal(self, request: httpx.Request, target: str) -> tuple[int, str] | None:
        """Return status and sentence if a request is refused here."""
        headers = request.headers
        from_page = headers.get("sec-fetch-site") in ("cross-site", "same-site")
        if from_page or "origin" in headers:  # pages load pictures without an origin
            return 403, "Requests from web pages are refused."
        if not self._accepts_host(headers.get("host", "")):
            return 403, "The request is for another host: use this proxy as a base URL."
        upgrades = headers.get("upgrade", "").split(",")
        if "websocket" in (word.partition("/")[0].strip().lower() for word in upgrades):
            return 426, "WebSockets are not supported: the client must use plain requests."
        if request.method in ("CONNECT", "TRACE"):
            return 405, f"{request.method} requests are refused."
        if not target.startswith("/") and target != "*":
            return 400, "This is a base URL, not an HTTP proxy: put it into the client's base URL."
        if len(request.content) > MAX_REQUEST:
            return 413, f"Requests over {MAX_REQUEST:,} bytes are refused."
        return None

    def _accepts_host(self, host: str) -> bool:
        """Return True if a `host` header names this machine."""
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        name = name.strip("[]").lower()
        return self._allow_remote or name == self._host or is_loopback(f"http://{host}")

    async def aclose(self) -> None:
        """Refuse what is held, and close the connections to upstreams."""
        self._is_closed = True
        if self._holds is not None:
            await self._holds.close(_CLOSING_SECONDS)
        for client in self._clients.values():
            await client.aclose()


class _ForwardedBody(httpx.AsyncByteStream):
    """The body of a response as it passes."""

    def __init__(
        self,
        response: httpx.Response,
        exchange: RecordedExchange,
        leave: Callable[[RecordedExchange], None],
    ) -> None:
        self._response, self._exchange, self._leave = response, exchange, leave

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for data in cast("httpx.AsyncByteStream", self._response.stream):
                self._exchange.add_response(data, monotonic())
                yield data
        except httpx.TransportError as error:
            sentence = f"The upstream closed the connection ({error})."
            self._exchange.end("upstream cut", monotonic(), sentence)
            raise
        self._exchange.end("complete", monotonic())

    async def aclose(self) -> None:
        """Close the connection to the upstream unless the response has ended."""
        self._leave(self._exchange)
        await self._response.aclose()


def _address(upstream: Upstream, target: bytes) -> tuple[httpx.URL, dict[str, Any]]:
    """Return the URL of a target, and how httpx is told of one that it would write otherwise."""
    with suppress(httpx.InvalidURL, UnicodeDecodeError):
        url = httpx.URL(upstream.origin, raw_path=target)
        if url.raw_path == target:
            return url, {}
    return httpx.URL(upstream.origin), {"target": target}


def _passed_headers(headers: RawHeaders, upstream: Upstream) -> RawHeaders:
    """Return the headers of a request as they go to an upstream."""
    host = next((name for name, _ in headers if name.lower() == b"host"), b"Host")
    passed = [(host, upstream.authority.encode("latin-1"))]
    upgrades = any(name.lower() == b"upgrade" for name, _ in headers)
    for name, value in headers:
        if upgrades and name.lower() == b"connection":
            words = [word.strip() for word in value.split(b",")]
            value = b", ".join(word for word in words if word.lower() not in _OF_UPGRADE)
            if not value:
                continue
        if name.lower() not in (b"host", *(_OF_UPGRADE if upgrades else ())):
            passed.append((name, value))
    return passed


def _own_answer(exchange: RecordedExchange, decision: HoldDecision) -> httpx.Response | None:
    """Return the answer to a held request that is not sent; None for one that is."""
    match decision.end:
        case "dropped":
            sentence = "tui-chat tap: the user dropped this request; it was not sent."
            return _refused(exchange, "dropped", 403, sentence, "Dropped by hand; it was not sent.")
        case "ended":
            sentence = "tui-chat tap ended while it held this request; it was not sent."
            return _refused(exchange, "ended", 503, sentence)
        case _:
            return None


def _refused(
    exchange: RecordedExchange, outcome: Outcome, status: int, sentence: str, fault: str = ""
) -> httpx.Response:
    """End an exchange, and return the answer in place of its upstream."""
    exchange.end(outcome, monotonic(), fault or sentence)
    headers = {"content-type": "application/json", "x-tui-chat-tap": "answered by the proxy"}
    if status in (403, 503):
        headers["x-should-retry"] = "false"
    if status == 426:
        headers["upgrade"] = "websocket"
    body = error_body(status, sentence, protocol_of_path(exchange.path))
    return httpx.Response(status, headers=headers, content=body)


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
