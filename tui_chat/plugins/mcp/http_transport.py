"""The way of the package `mcp` to a server over HTTP: our own client, which bounds and masks.

1. Requests to the server's origin carry the headers of the configuration; those to others (a login)
   do not, and no request carries those of an endpoint. Redirects are the package's: on the same
   origin only.
2. Whatever fails becomes the answer to its request, and ends no other: the package would end the
   whole connection.
3. No further stream is kept open for what a server sends unasked, except the one of the transport
   of 2024 (`sse`).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from types import MappingProxyType

import httpx2

from tui_chat.errors import InputError, ProviderError, Refused, ReplyCut, TooLarge, Unreachable
from tui_chat.models.endpoint import Timeouts
from tui_chat.models.json_text import as_count, as_object, object_or_none
from tui_chat.models.sanitize import one_line
from tui_chat.plugins.mcp.process import MESSAGE_SIZE
from tui_chat.plugins.mcp.settings import ServerSettings, is_reference
from tui_chat.plugins.mcp.transport import MessageFilter, decoded
from tui_chat.providers.client import HttpClient, IncomingResponse, OutgoingRequest
from tui_chat.providers.keys import resolve_key

_CLOSE_SECONDS = 2.0
_SILENCE = 3_600.0
"""Seconds of silence after which a response is given up; a call has its own timeout."""
_MOST_FAULTS = 100
_JSON = {"content-type": "application/json"}
_OURS = ("host", "content-length", "accept-encoding", "connection", "user-agent")
"""Headers that our own client writes."""


class HttpTransport(httpx2.AsyncBaseTransport):
    """Sends the requests of the package."""

    def __init__(
        self, settings: ServerSettings, client: HttpClient, message_filter: MessageFilter
    ) -> None:
        self._settings = settings
        self._client = client
        self._message_filter = message_filter
        self._faults: dict[int, ProviderError | InputError] = {}
        self._number = 0
        self.is_left = False
        """True once nothing more is sent."""
        self.is_session_lost = False
        """True after the server said that the session is over."""

    def fault(self, data: object) -> ProviderError | InputError | None:
        """Return the error behind one that the package reports with `data`."""
        return self._faults.pop(as_count(as_object(data).get("fault")) or 0, None)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        is_stream = request.method == "GET" and self._is_endpoint(request)
        if self.is_left or (is_stream and self._settings.transport != "sse"):
            return httpx2.Response(405)
        try:
            if request.method == "DELETE":
                async with asyncio.timeout(_CLOSE_SECONDS):
                    return await self._exchange(request)
            return await self._exchange(request)
        except TimeoutError:
            return httpx2.Response(504)
        except (ProviderError, InputError) as error:
            return self._failed(error)

    def _failed(
        self,
        error: ProviderError | InputError,
        status: int = 503,
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> httpx2.Response:
        """Return the answer that says that a request failed."""
        self._number += 1
        if len(self._faults) >= _MOST_FAULTS:
            self._faults.clear()
        self._faults[self._number] = error
        answer = {"code": -32603, "message": str(error), "data": {"fault": self._number}}
        content = json.dumps({"jsonrpc": "2.0", "id": None, "error": answer}).encode()
        return httpx2.Response(status, headers={**headers, **_JSON}, content=content)

    def _is_own(self, request: httpx2.Request) -> bool:
        """Return True for a request to the server's origin."""
        url = httpx2.URL(self._settings.url)
        return (url.scheme, url.host, url.port) == (
            request.url.scheme,
            request.url.host,
            request.url.port,
        )

    def _is_endpoint(self, request: httpx2.Request) -> bool:
        """Return True for a request to the server's URL itself, and not for a login."""
        return request.url == httpx2.URL(self._settings.url) or self._settings.transport == "sse"

    async def _exchange(self, request: httpx2.Request) -> httpx2.Response:
        outgoing = await self._outgoing(request)
        async with AsyncExitStack() as stack:
            try:
                response = await stack.enter_async_context(self._client.open(outgoing))
            except Unreachable as error:
                advice = f"Start it, or check `url` in [mcp.{self._settings.name}]."
                raise Unreachable(str(error), advice=advice, sent=error.sent) from None
            headers = {
                key: value
                for key, value in response.headers.items()
                if key.lower() not in ("content-encoding", "content-length", "transfer-encoding")
            }
            if response.is_stream and response.status < 400:
                events = _Events(response, self._message_filter, stack.pop_all())
                return httpx2.Response(response.status, headers=headers, stream=events)
            body, is_whole = await response.read_start(MESSAGE_SIZE)
            if not is_whole:
                raise TooLarge(
                    f"The MCP server “{self._settings.name}” sent more than 16 MB at once."
                )
            body = response.key_mask.mask_bytes(body)
            return self._answer(request, response.status, headers, body)

    def _answer(
        self, request: httpx2.Request, status: int, headers: Mapping[str, str], body: bytes
    ) -> httpx2.Response:
        """Return what the package gets of a response that is no stream."""
        is_message = request.method == "POST" and self._is_endpoint(request)
        asked = object_or_none(decoded(request.content)) if is_message else None
        is_redirect = 300 <= status < 400
        if asked is None or not {"id", "method"} <= asked.keys() or status == 202 or is_redirect:
            return httpx2.Response(status, headers=dict(headers), content=body)
        try:
            value = object_or_none(decoded(body))
        except ValueError:
            value = None
        if value is not None and value.get("jsonrpc") == "2.0":
            content = json.dumps({**value, "id": asked["id"]}).encode()
            return httpx2.Response(status, headers={**headers, **_JSON}, content=content)
        name = self._settings.name
        if status == 404 and "mcp-session-id" in request.headers:
            self.is_session_lost = True
            return self._failed(Refused(f"The MCP server “{name}” has ended the session."), 404)
        if status < 300:
            sentence = f"The MCP server “{name}” ended the response without an answer."
            return self._failed(ReplyCut(sentence))
        words = one_line(body.decode("utf-8", "replace"), 200)
        sentence = f"The MCP server “{name}” answered with status {status}"
        advice = f"`tui-chat mcp login {name}`, or `headers` with a key in [mcp.{name}]."
        refusal = Refused(
            f"{sentence}: {words}" if words else f"{sentence}.",
            status=status,
            advice=advice if status in (401, 403) else "",
        )
        return self._failed(refusal, status, headers)

    async def _outgoing(self, request: httpx2.Request) -> OutgoingRequest:
        own: list[tuple[str, str]] = []
        for name, value in self._settings.headers if self._is_own(request) else ():
            if is_reference(value):
                key = await resolve_key(value, self._client.environ, self._client.run_keys)
                own.append((name, key.reveal()))
            else:
                own.append((name, value))
        names = {*_OURS, *(name.lower() for name, _ in own)}
        headers = [(key, v) for key, v in request.headers.items() if key.lower() not in names]
        secrets = [value.rpartition(" ")[2] for _, value in own]
        if "authorization" in request.headers:  # of a login
            secrets.append(request.headers["authorization"].rpartition(" ")[2])
        return OutgoingRequest(
            request.method,
            str(request.url),
            (*own, *headers),
            await request.aread(),
            secrets=tuple(secrets),
            timeouts=Timeouts(silence=_SILENCE),
        )


class _Events(httpx2.AsyncByteStream):
    """The events of a response, each a message on one line."""

    def __init__(
        self, response: IncomingResponse, message_filter: MessageFilter, stack: AsyncExitStack
    ) -> None:
        self._response, self._message_filter, self._stack = response, message_filter, stack

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for name, data in self._response.events():
                text = self._response.key_mask.mask_text(data)
                if name == "endpoint":
                    yield f"event: endpoint\ndata: {one_line(text)}\n\n".encode()
                    continue
                try:
                    yield f"data: {json.dumps(decoded(text.encode()))}\n\n".encode()
                except ValueError:
                    self._message_filter.noise += 1
        except ProviderError as error:
            raise httpx2.ReadError(str(error)) from None

    async def aclose(self) -> None:
        await self._stack.aclose()
