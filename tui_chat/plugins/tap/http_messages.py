"""HTTP/1.1 messages as they pass: the bytes of a head, and where a message ends.

The bytes are passed on as they came. h11 reads a copy of them, and says where a message ends and
what its body is without the chunks; nothing is written anew but the two values of a request's head
that name the server: the target, if the upstream has a path of its own, and `host`. A wish for
another protocol than HTTP/1.1 is left out.
"""

from __future__ import annotations

import asyncio
from asyncio import StreamReader
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any, TypeAlias

import h11

from tui_chat.lazy_dataclass import dataclass

Headers: TypeAlias = tuple[tuple[str, str], ...]
"""In the order sent, spelled as sent."""

LARGEST_HEAD = 256 * 1024
"""Maximum bytes of a request line with its headers."""
_READ = 256 * 1024
_MOST_EARLY = 1024 * 1024
"""Bytes of later requests that are read while one is held."""
_END = b"\r\n\r\n"


class MessageFault(Exception):
    """A message is not HTTP/1.1. `status` is the answer that fits."""

    def __init__(self, sentence: str, status: int = 400) -> None:
        super().__init__(sentence)
        self.status = status


class ProtocolSwitch(MessageFault):
    """A server has left HTTP/1.1; what follows belongs to another protocol."""


@dataclass(frozen=True, slots=True)
class RequestHead:
    """The first lines of a request."""

    data: bytes
    """The exact bytes, with the empty line."""
    method: str
    target: str
    """Path and query as written."""
    headers: Headers

    def header(self, name: str) -> str | None:
        """Return the first value of a header; None if it is absent."""
        return next((value for key, value in self.headers if key.lower() == name), None)

    @property
    def is_http_1_0(self) -> bool:
        """True if the client speaks HTTP/1.0, which has no chunks."""
        return self.data.partition(b"\r\n")[0].endswith(b"HTTP/1.0")

    def addressed_to(self, host: str, target: str) -> RequestHead:
        """Return the same head with another host and target."""
        line, *fields = self.data[: -len(_END)].split(b"\r\n")
        method, _, rest = line.partition(b" ")
        _, _, version = rest.rpartition(b" ")
        if target != self.target:
            line = b" ".join((method, target.encode("latin-1"), version))
        for number, field in enumerate(fields):
            name, colon, _ = field.partition(b":")
            if name.lower() == b"host":
                fields[number] = name + colon + b" " + host.encode("latin-1")
        headers = tuple(
            (name, host if name.lower() == "host" else value) for name, value in self.headers
        )
        data = b"\r\n".join((line, *fields)) + _END
        return RequestHead(data, self.method, target, headers)

    def without_upgrade(self) -> RequestHead:
        """Return a head that does not ask for another protocol than HTTP/1.1."""
        if self.header("upgrade") is None:
            return self
        line, *fields = self.data[: -len(_END)].split(b"\r\n")
        kept: list[bytes] = []
        headers: list[tuple[str, str]] = []
        for field, (name, value) in zip(fields, self.headers, strict=True):
            if name.lower() == "connection":
                words = [word.strip() for word in value.split(",")]
                value = ", ".join(word for word in words if word.lower() not in _OF_UPGRADE)
                field = f"{name}: {value}".encode("latin-1")
            if value and name.lower() not in _OF_UPGRADE:
                kept.append(field)
                headers.append((name, value))
        data = b"\r\n".join((line, *kept)) + _END
        return RequestHead(data, self.method, self.target, tuple(headers))

    def with_body(self, size: int) -> RequestHead:
        """Return a head for another, unencoded body, without headers about the former one."""
        line, *fields = self.data[: -len(_END)].split(b"\r\n")
        length = f"content-length: {size}"
        kept = [field for field in fields if _name_of(field) not in _OF_BODY]
        data = b"\r\n".join((line, *kept, length.encode())) + _END
        headers = [pair for pair in self.headers if pair[0].lower() not in _OF_BODY]
        return RequestHead(
            data, self.method, self.target, (*headers, ("content-length", str(size)))
        )


_OF_BODY = frozenset(
    (
        *("content-length", "transfer-encoding", "content-encoding", "trailer", "expect"),
        *("content-md5", "content-digest", "digest", "repr-digest"),
    )
)
"""Headers that are about the bytes of one body."""
_OF_UPGRADE = frozenset(("upgrade", "http2-settings"))
"""Headers, also as words of `connection`, that ask for another protocol."""


def _name_of(field: bytes) -> str:
    return field.partition(b":")[0].strip().decode("latin-1").lower()


class ByteSource:
    """The bytes that one side sends; some can be put back."""

    def __init__(self, reader: StreamReader) -> None:
        self._reader = reader
        self._back = b""

    async def read(self) -> bytes:
        """Return the next bytes as they come; empty at the end."""
        if self._back:
            data, self._back = self._back, b""
            return data
        return await self._reader.read(_READ)

    def put_back(self, data: bytes) -> None:
        """Let the next `read` return these bytes first."""
        self._back = data + self._back

    async def wait_for_end(self) -> None:
        """Return when the other side has closed its direction. What it sends before that is read
        later; after a megabyte no more is read.
        """
        early: list[bytes] = []
        try:
            while sum(map(len, early)) < _MOST_EARLY:
                if not (data := await self.read()):
                    return
                early.append(data)
            await asyncio.Event().wait()
        finally:
            self.put_back(b"".join(early))

    async def read_head(self) -> bytes:
        """Return the bytes up to and with the next empty line; empty at the end of the input.

        Raises MessageFault if the head is too long or ends early.
        """
        data = bytearray()
        while True:
            more = await self.read()
            if not more:
                if data.strip():
                    raise MessageFault("The request ended within its headers.")
                return b""
            searched = max(0, len(data) - len(_END))
            data += more
            if not searched:
                del data[: len(data) - len(data.lstrip(b"\r\n"))]  # allowed before a request
            offset = data.find(_END, searched)
            if offset >= 0:
                end = offset + len(_END)
                self.put_back(bytes(data[end:]))
                return bytes(data[:end])
            if len(data) > LARGEST_HEAD:
                sentence = f"The headers are longer than {LARGEST_HEAD:,} bytes."
                raise MessageFault(sentence, 431)


@dataclass(frozen=True, slots=True)
class ResponseHead:
    """The first lines of a response."""

    status: int
    headers: Headers


Part: TypeAlias = RequestHead | ResponseHead | bytes
"""A part of a message that is kept: its head, or a piece of its body."""


class MessageReader:
    """Reads one message, and says where it ends."""

    def __init__(self, connection: h11.Connection) -> None:
        self._h11 = connection
        self.is_whole = False
        """True after the end of the message."""

    @classmethod
    def of_request(cls) -> MessageReader:
        """Return the reader of a request."""
        return cls(h11.Connection(h11.SERVER, max_incomplete_event_size=LARGEST_HEAD))

    @classmethod
    def of_response(cls, method: str) -> MessageReader:
        """Return the reader of the response to a request with this method."""
        connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=LARGEST_HEAD)
        headers = [("host", "upstream"), ("upgrade", "any"), ("connection", "upgrade")]
        connection.send(h11.Request(method=method, target="/", headers=headers))
        connection.send(h11.EndOfMessage())
        return cls(connection)

    def feed(self, data: bytes) -> tuple[list[Part], bytes]:
        """Return the parts that the next bytes hold, and the bytes after the message's end. Empty
        data mean that no more will come.

        Raises MessageFault if the message is not HTTP, or has not ended then.
        """
        parts: list[Part] = []
        try:
            self._h11.receive_data(data)
            while not self.is_whole:
                event: Any = self._h11.next_event()
                if event is h11.NEED_DATA or event is h11.PAUSED:
                    return parts, b""
                if isinstance(event, h11.Request):
                    method, target = event.method.decode(), event.target.decode("latin-1")
                    parts.append(RequestHead(b"", method, target, _headers(event)))
                elif isinstance(event, h11.InformationalResponse):
                    if event.status_code == HTTPStatus.SWITCHING_PROTOCOLS:
                        raise ProtocolSwitch("The server switched to another protocol.")
                    # 100 Continue, 103 Early Hints: passed on, and not of interest
                elif isinstance(event, h11.Response):
                    parts.append(ResponseHead(event.status_code, _headers(event)))
                elif isinstance(event, h11.Data):
                    parts.append(bytes(event.data))
                elif isinstance(event, h11.EndOfMessage):
                    self.is_whole = True
                else:
                    raise MessageFault("The connection was closed.")
        except h11.RemoteProtocolError as error:
            raise MessageFault(f"{error}.", error.error_status_hint) from error
        rest, _ = self._h11.trailing_data
        return parts, rest


def _headers(event: Any) -> Headers:
    """Return the headers of an event in their own spelling."""
    pairs: Iterable[tuple[bytes, bytes]] = event.headers.raw_items()
    return tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in pairs)


def read_request_head(data: bytes) -> tuple[RequestHead, MessageReader, bool]:
    """Return a head, the reader of its body, and whether there is a body.

    Raises MessageFault, also for line ends that two programs may read in two ways.
    """
    if data.count(b"\n") != data.count(b"\r\n") or b"\r\n " in data or b"\r\n\t" in data:
        raise MessageFault("A line of the headers is folded, or does not end with CR LF.")
    reader = MessageReader.of_request()
    parts, _ = reader.feed(data)
    head = parts[0] if parts else None
    if not isinstance(head, RequestHead):
        raise MessageFault("This is not a request of HTTP/1.1.")
    if not head.target.startswith("/") and head.target != "*":
        sentence = "This is a base URL, not an HTTP proxy: put it into the client's base URL."
        raise MessageFault(sentence)
    return RequestHead(data, head.method, head.target, head.headers), reader, not reader.is_whole
