"""A server over Streamable HTTP: each message is a POST, answered by JSON or by a stream of events.

1. Requests carry our own headers and those of the configuration, never those of an endpoint.
2. A redirect is followed only to the same scheme, host and port, and only once.
3. In the modern era method, name and marked arguments are repeated in headers; closing the response
   cancels a request. In the legacy era a session has an id, and requests of the server come within
   the stream of one of ours. No further stream is kept open for what a server sends unasked.
4. `HttpClient` bounds and masks what comes back, and follows nothing by itself.
"""

from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast
from urllib.parse import urljoin, urlsplit

from tui_chat.errors import InputError, ProviderError, Refused, ReplyCut, TooLarge, Unreachable
from tui_chat.models.endpoint import Timeouts
from tui_chat.models.json_text import as_object
from tui_chat.models.sanitize import one_line
from tui_chat.plugins.mcp.messages import (
    MESSAGE_SIZE,
    MODERN,
    Answer,
    Message,
    MessageId,
    cancellation,
    line_of,
    messages_in,
)
from tui_chat.plugins.mcp.settings import ServerSettings, is_reference
from tui_chat.plugins.mcp.transport import Receiver
from tui_chat.providers.client import HttpClient, IncomingResponse, OutgoingRequest
from tui_chat.providers.keys import resolve_key

_REDIRECTS = (301, 302, 303, 307, 308)
_CLOSE_SECONDS = 2.0
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""Parameters that the modern era repeats in the header `Mcp-Name`."""
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_PLAIN = re.compile(r"[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?")
_BASE_64, _END = "=?base64?", "?="
_LARGEST_INTEGER = 2**53 - 1


class HttpTransport:
    """An address, and the session there."""

    fault = None

    def __init__(self, settings: ServerSettings, client: HttpClient, receive: Receiver) -> None:
        self._name = settings.name
        self._url = settings.url
        self._headers = settings.headers
        self._timeouts = Timeouts(silence=settings.timeout)
        self._client = client
        self._receive = receive
        self._session = ""
        self.protocol = MODERN
        """The version in the header of requests; empty before the handshake of a session."""
        self.noise = 0
        self._closing: asyncio.Task[None] | None = None

    async def exchange(
        self, message: dict[str, Any], headers: Sequence[tuple[str, str]] = ()
    ) -> Answer:
        number: MessageId = message["id"]
        try:
            return await self._post(message, (*_repeated(message), *headers))
        except Unreachable as error:
            advice = f"Start it, or check `url` in [mcp.{self._name}]."
            raise Unreachable(str(error), advice=advice, sent=error.sent) from None
        except asyncio.CancelledError:
            if self._session:  # a modern server sees that the response is closed
                self._closing = asyncio.ensure_future(self.send(cancellation(number)))
            raise

    async def _post(
        self, message: dict[str, Any], headers: Sequence[tuple[str, str]], url: str = ""
    ) -> Answer:
        outgoing = await self._outgoing("POST", message, headers, url)
        async with self._client.open(outgoing) as response:
            if response.status in _REDIRECTS and not url:
                url = self._redirected(response.headers.get("location", ""))
            else:
                return await self._answer(response, message)
        return await self._post(message, headers, url)

    async def _answer(self, response: IncomingResponse, message: Mapping[str, Any]) -> Answer:
        if response.status == 404 and self._session:
            self._session = ""
            raise SessionLost(f"The MCP server “{self._name}” has ended the session.")
        is_stream = response.is_stream and response.status < 400
        if message["method"] == "initialize" and response.status < 400:
            self._session = response.headers.get("mcp-session-id", "")
        if is_stream:
            async for _, data in response.events():
                if answer := self._sort(response.key_mask.mask_text(data).encode(), message["id"]):
                    return answer
        else:
            body, is_whole = await response.read_start(MESSAGE_SIZE)
            if not is_whole:
                size = MESSAGE_SIZE // 1_000_000
                raise TooLarge(f"The MCP server “{self._name}” sent more than {size} MB at once.")
            body = response.key_mask.mask_bytes(body)
            if answer := self._sort(body, message["id"]):
                return answer
            if response.status >= 300:
                raise self._refusal(response, body)
        raise ReplyCut(f"The MCP server “{self._name}” ended the response without an answer.")

    def _sort(self, data: bytes, number: MessageId) -> Answer | None:
        """Pass on the messages of a body or an event, and return the answer if it is among them."""
        try:
            messages: tuple[Message, ...] = tuple(messages_in(data))
        except ValueError:
            self.noise += bool(data.strip())
            return None
        found = None
        for message in messages:
            if not isinstance(message, Answer):
                self._receive(message)
            elif message.id == number or (message.id is None and message.error is not None):
                found = message
            else:
                self.noise += 1
        return found

    def _refusal(self, response: IncomingResponse, body: bytes) -> Refused:
        words = one_line(body.decode("utf-8", "replace"), 200)
        advice = ""
        if response.status in (401, 403):
            advice = f"Set `headers` with a key reference in [mcp.{self._name}]."
        return Refused(
            f"The MCP server “{self._name}” answered with status {response.status}"
            f"{f': {words}' if words else '.'}",
            status=response.status,
            advice=advice,
        )

    def _redirected(self, location: str) -> str:
        url = urljoin(self._url, location)
        if _origin(url) != _origin(self._url):
            raise Refused(
                f"The MCP server “{self._name}” redirects to another address "
                f"({one_line(url, 120)}), which is not followed.",
                advice=f"If you trust it, set it as `url` in [mcp.{self._name}].",
            )
        return url

    async def _outgoing(
        self,
        method: str,
        message: dict[str, Any] | None,
        headers: Sequence[tuple[str, str]] = (),
        url: str = "",
    ) -> OutgoingRequest:
        own: list[tuple[str, str]] = []
        secrets: list[str] = []
        for name, value in self._headers:
            if is_reference(value):
                key = await resolve_key(value, self._client.environ, self._client.run_keys)
                own.append((name, key.reveal()))
            else:
                own.append((name, value))
            secrets.append(own[-1][1].rpartition(" ")[2])
        fixed = [("Content-Type", "application/json")] if message else []
        fixed.append(("Accept", "application/json, text/event-stream"))
        if self.protocol:
            fixed.append(("MCP-Protocol-Version", self.protocol))
        if self._session:
            fixed.append(("Mcp-Session-Id", self._session))
        return OutgoingRequest(
            method,
            url or self._url,
            (*own, *fixed, *headers),
            line_of(message).rstrip() if message else b"",
            secrets=tuple(secrets),
            timeouts=self._timeouts,
        )

    async def send(self, message: dict[str, Any]) -> None:
        try:
            async with self._client.open(await self._outgoing("POST", message)) as response:
                await response.read_start()
        except (ProviderError, InputError):
            return

    async def close(self) -> None:
        """End a session of the legacy era, if the server answers soon."""
        if not self._session:
            return
        outgoing = await self._outgoing("DELETE", None)
        self._session = ""
        try:
            async with asyncio.timeout(_CLOSE_SECONDS), self._client.open(outgoing):
                pass
        except (TimeoutError, ProviderError, InputError):
            return

    def leave(self) -> None:
        """Do nothing: a session that is not used ends by itself."""


class SessionLost(Refused):
    """A session of the legacy era is over; the request was not processed."""


def _origin(url: str) -> tuple[str, str, int | None]:
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
        return parts.scheme, (parts.hostname or "").lower(), port
    except ValueError:
        return "", "", None


# Headers of the modern era


def _repeated(message: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the headers that repeat method and name of a request of the modern era."""
    params = as_object(message.get("params"))
    if not any(key.endswith("/protocolVersion") for key in as_object(params.get("_meta"))):
        return
    method = message["method"]
    yield "Mcp-Method", method
    if method in _NAMED:
        yield "Mcp-Name", _header_value(str(params.get(_NAMED[method], "")))


def _header_value(text: str) -> str:
    """Return a text as the value of a header."""
    if _PLAIN.fullmatch(text) and not (text.startswith(_BASE_64) and text.endswith(_END)):
        return text
    return f"{_BASE_64}{base64.b64encode(text.encode()).decode()}{_END}"


HeaderPaths = tuple[tuple[str, tuple[str, ...]], ...]
"""The arguments of a tool that are repeated in headers: name of the header, and path."""


def header_paths(schema: Mapping[str, Any]) -> HeaderPaths:
    """Return the arguments that a schema marks with `x-mcp-header`. Raises ValueError for an
    invalid mark, with which a tool must not be offered.
    """
    paths = tuple(_marked(schema, ()))
    names = [name.lower() for name, _ in paths]
    if len(set(names)) < len(names):
        raise ValueError("two arguments have the same `x-mcp-header`")
    if len(paths) < _marks(schema):
        raise ValueError("an `x-mcp-header` is at a place where none is allowed")
    return paths


def _marked(
    schema: Mapping[str, Any], path: tuple[str, ...]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    for key, value in as_object(schema.get("properties")).items():
        inner = as_object(value)
        if (name := inner.get("x-mcp-header")) is not None:
            if not isinstance(name, str) or not _TOKEN.fullmatch(name):
                raise ValueError("an `x-mcp-header` is not the name of a header")
            if inner.get("type") not in ("string", "integer", "boolean"):
                raise ValueError(f"`x-mcp-header` {name} is at an argument of another type")
            yield f"Mcp-Param-{name}", (*path, key)
        yield from _marked(inner, (*path, key))


def _marks(value: object) -> int:
    """Return the number of marks anywhere in a schema, but not of arguments of that name."""
    if isinstance(value, list):
        return sum(map(_marks, cast("list[object]", value)))
    if not isinstance(value, dict):
        return 0
    count = 0
    for key, inner in cast("dict[str, object]", value).items():
        if key == "x-mcp-header":
            count += not isinstance(inner, dict)
        elif key not in ("default", "const", "enum", "examples"):
            count += _marks(inner)
    return count


def argument_headers(paths: HeaderPaths, arguments: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the headers that repeat arguments of a call."""
    for name, path in paths:
        value: object = arguments
        for key in path:
            value = as_object(value).get(key)
        if isinstance(value, bool):
            yield name, "true" if value else "false"
        elif isinstance(value, int) and abs(value) <= _LARGEST_INTEGER:
            yield name, str(value)
        elif isinstance(value, str):
            yield name, _header_value(value)
