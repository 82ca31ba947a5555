"""The streams between the package `mcp` and a server, with what the package does not bound.

1. A message is decoded by us: no lone surrogate, no deep nesting, and a line or an event that is
   none is skipped and counted.
2. The package refuses a whole result for one invalid entry. Such an entry is left out, or said to
   be left out where a model reads it.
3. Numbers in a notification of progress that would raise inside the package are dropped.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any, Self, cast

import anyio
import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.inbound import find_invalid_x_mcp_header
from mcp.shared.message import SessionMessage
from mcp_types import (
    ContentBlock,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    Tool,
    jsonrpc_message_adapter,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter, ValidationError

from tui_chat.models.json_text import as_array, as_object, as_string, clean_json, decode_lenient
from tui_chat.models.sanitize import one_line
from tui_chat.plugins.mcp.process import MESSAGE_SIZE, ServerProcess
from tui_chat.plugins.mcp.settings import ServerSettings

_CONTENT: TypeAdapter[Any] = TypeAdapter(ContentBlock)
_ENTRIES: dict[str, tuple[str, TypeAdapter[Any]]] = {
    "tools/list": ("tools", TypeAdapter(Tool)),
    "tools/call": ("content", _CONTENT),
}
"""The key of a result's entries and their type, by method."""
_CACHING = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
"""What a modern server must say in a result, and some do not."""
_ESCAPED_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
MAX_OPEN = 100
"""Maximum requests of a server that are not answered; further ones are dropped."""
_LARGEST_AMOUNT = 1e15
"""Limit of the progress that a server tells, which is divided and shown."""


def decoded(data: bytes) -> object:
    """Return the JSON of a line or an event. Raises ValueError."""
    value = decode_lenient(data.decode("utf-8", "replace"))
    return clean_json(value) if _ESCAPED_SURROGATE.search(data) else value


class MessageFilter:
    """Mends the messages of a server, and counts those that the package must not get."""

    def __init__(self) -> None:
        self.version = "2025-11-25"
        """The version of the protocol, as far as it is known."""
        self.noise = 0
        """The number of lines that were skipped, as they were no message."""
        self.left_out: list[str] = []
        """Sentences about tools that were left out of a list."""
        self._methods: dict[int | str, str] = {}
        """Methods of the requests that are not answered yet, by id."""
        self._open = 0
        """The number of requests of the server that are not answered yet."""

    def messages(self, data: bytes) -> Iterator[SessionMessage]:
        """Yield the messages of a line: one, or several in an array, as older servers send."""
        if not data.strip():
            return
        try:
            value = decoded(data)
            for item in as_array(value) or (value,):
                yield SessionMessage(jsonrpc_message_adapter.validate_python(item, by_name=False))
        except ValueError:
            self.noise += 1

    def sent(self, message: object) -> None:
        """Remember a request, and count an answer."""
        if isinstance(message, JSONRPCRequest):
            self._methods[message.id] = message.method
        elif not isinstance(message, JSONRPCNotification):
            self._open -= 1

    def accept(self, message: object) -> bool:
        """Mend a message of the server. Return False for one that the package must not get."""
        if isinstance(message, JSONRPCNotification) and message.method == "notifications/progress":
            params = as_object(message.params)
            return all(map(_is_amount, (params.get("progress"), params.get("total") or 0)))
        if isinstance(message, JSONRPCRequest):
            if self._open >= MAX_OPEN:
                return False  # each would be a task, until the server reads its answer
            self._open += 1
        if isinstance(message, JSONRPCResponse) and message.id in self._methods:
            self._mend(self._methods.pop(message.id), message)
        return True

    def _mend(self, method: str, message: JSONRPCResponse) -> None:
        if method not in _ENTRIES:
            return
        key, form = _ENTRIES[method]
        if is_modern := self.version in MODERN_PROTOCOL_VERSIONS:
            message.result.update({**_CACHING, **message.result})
        if key in message.result:
            mended: list[object] = []
            for entry in as_array(message.result[key]):
                _add_schema_type(entry)
                is_valid = _is_valid(form, entry) and not (is_modern and _is_marked_wrong(entry))
                mended += [entry] if is_valid else self._substitutes(method, as_object(entry))
            message.result[key] = mended

    def _substitutes(self, method: str, entry: Mapping[str, Any]) -> Iterator[object]:
        """Yield what takes the place of an invalid entry."""
        if method == "tools/list":
            name = one_line(as_string(entry.get("name")), 80)
            self.left_out.append(f"The tool “{name}” is not offered: its definition is invalid.")
        elif method == "tools/call":
            yield _left_out(entry)


def _left_out(content: Mapping[str, Any]) -> dict[str, str]:
    kind = one_line(as_string(content.get("type")), 40)
    return {"type": "text", "text": f"[content of the unknown type “{kind}” left out]"}


def _add_schema_type(entry: object) -> None:
    """Name the type of a tool's schema, which many servers leave out."""
    schema = as_object(entry).get("inputSchema")
    if isinstance(schema, dict):
        cast("dict[str, Any]", schema).setdefault("type", "object")


def _is_valid(form: TypeAdapter[Any], entry: object) -> bool:
    try:
        valid = form.validate_python(entry, by_name=False)
    except ValidationError:
        return False
    return not isinstance(valid, Tool) or valid.input_schema.get("type") == "object"


def _is_marked_wrong(entry: object) -> bool:
    """Return True for a tool that the package leaves out for its `x-mcp-header`, without a word."""
    schema = as_object(entry).get("inputSchema")
    return isinstance(schema, dict) and find_invalid_x_mcp_header(schema) is not None


def _is_amount(value: object) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return 0 <= value < _LARGEST_AMOUNT


class _Stream:
    """A stream of the package. What is behind it is closed by the transport."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close it."""


class ReadStream(_Stream):
    """The messages of a server that the package may read."""

    def __init__(
        self, source: AsyncIterator[SessionMessage | Exception], message_filter: MessageFilter
    ) -> None:
        self._source, self._message_filter = source, message_filter

    def __aiter__(self) -> ReadStream:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        async for item in self._source:
            if isinstance(item, Exception):
                self._message_filter.noise += 1
            elif self._message_filter.accept(item.message):
                return item
        raise StopAsyncIteration

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message. Raises EndOfStream."""
        try:
            return await anext(self)
        except StopAsyncIteration:
            raise anyio.EndOfStream from None


class WriteStream(_Stream):
    """The messages of the package."""

    def __init__(
        self, send: Callable[[SessionMessage], Awaitable[None]], message_filter: MessageFilter
    ) -> None:
        self._send, self._message_filter = send, message_filter

    async def send(self, item: SessionMessage, /) -> None:
        """Send a message."""
        self._message_filter.sent(item.message)
        await self._send(item)


@asynccontextmanager
async def over_stdio(
    process: ServerProcess, message_filter: MessageFilter, ended: Callable[[], None]
) -> AsyncGenerator[tuple[Any, Any]]:
    """Open the streams of a process, which is ended elsewhere. `ended` is called at their end."""

    async def received() -> AsyncGenerator[SessionMessage]:
        async for line in process.lines():
            for message in message_filter.messages(line):
                yield message
        ended()

    async def send(item: SessionMessage) -> None:
        text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
        await process.write(text.encode() + b"\n")

    async with aclosing(received()) as source:
        yield ReadStream(source, message_filter), WriteStream(send, message_filter)


@asynccontextmanager
async def over_http(
    settings: ServerSettings,
    gate: httpx2.AsyncBaseTransport,
    message_filter: MessageFilter,
    login: httpx2.Auth | None,
) -> AsyncGenerator[tuple[Any, Any]]:
    """Open the streams to the address of expanded settings; `login` adds tokens to requests."""
    client = httpx2.AsyncClient(transport=gate, timeout=None, auth=login)

    def made(*_: object, **__: object) -> httpx2.AsyncClient:
        return client

    if settings.transport == "sse":  # it closes the client; the gate has nothing to close
        transport = sse_client(settings.url, httpx_client_factory=made)
    else:
        transport = streamable_http_client(
            settings.url, http_client=client, max_sse_event_size=MESSAGE_SIZE
        )
    async with transport as (inbox, outbox):
        yield ReadStream(inbox, message_filter), WriteStream(outbox.send, message_filter)
