"""One exchange: a request and its response as they passed, with the credentials masked.

The proxy fills it while the bytes pass; whoever explains or stores it follows it by `changed`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import field
from typing import Literal, TypeAlias

from tui_chat.lazy_dataclass import dataclass
from tui_chat.plugins.tap.credentials import Credentials, Headers

Outcome = Literal[
    "open",
    "complete",
    "client disconnected",
    "upstream cut",
    "unreachable",
    "refused",
    "dropped",
    "ended",
]
"""The end of an exchange. `open`: none yet. `upstream cut`: before the response was whole.
`unreachable`: no upstream; the proxy itself answered. `refused`: the proxy answered, and passed
nothing on. `dropped`: the user had a held request refused. `ended`: the proxy ended first."""

HoldEnd = Literal["", "sent", "edited", "dropped", "expired", "client disconnected", "ended"]
"""What became of a held request; empty while it waits. `sent`: as it came. `expired`: as it came,
after the time limit. `ended`: refused, because the proxy ended."""

RawHeaders: TypeAlias = list[tuple[bytes, bytes]]
"""In the order sent, spelled as sent."""


def read_headers(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """Return the headers of a message as text."""
    return tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers)


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it passes, credentials included; it is not kept."""

    method: str
    target: str
    """Path and query as written."""
    headers: Headers
    body: bytes = field(default=b"", repr=False)

    def header(self, name: str) -> str:
        """Return the first value of a header; empty if it is absent."""
        return next((value for key, value in self.headers if key.lower() == name), "")


@dataclass(slots=True)
class BodyCopy:
    """A copy of a body, without the transfer coding, up to a limit."""

    limit: int
    size: int = 0
    """Bytes that passed."""
    chunks: list[bytes] = field(default_factory=list[bytes], repr=False)

    def add(self, data: bytes) -> None:
        """Keep what passed."""
        self.size += len(data)
        if self.is_whole:
            self.chunks.append(data)
        else:
            self.chunks.clear()

    @property
    def is_whole(self) -> bool:
        """False if it is larger than the limit; then nothing of it is kept."""
        return self.size <= self.limit

    @property
    def data(self) -> bytes:
        """The bytes that are kept."""
        return b"".join(self.chunks)


@dataclass(slots=True)
class Hold:
    """The time that a request was held before it went on."""

    since: float
    """When it began to be held, in monotonic seconds."""
    end: HoldEnd = ""
    seconds: float = 0.0
    sent: bytes | None = None
    """The body that was sent in place of the one that came; None if that was not edited."""
    sent_headers: Headers = ()
    """The headers that went with it, masked."""


class RecordedExchange:
    """A request and its response. Times are monotonic seconds."""

    def __init__(
        self, number: int, request: Request, upstream: str, max_body: int, now: float
    ) -> None:
        """`request` is the one that goes to the upstream; `now` is when all of it had come."""
        self.number = number
        self.credentials = Credentials(request.headers, request.target)
        self.method = request.method
        self.target = self.credentials.mask_target(request.target)
        self.headers = self.credentials.mask_headers(request.headers)
        self.encoding = request.header("content-encoding")
        self.upstream = upstream
        """The server's base URL."""
        self.began = self.requested = now
        """The time at which the request was begun, and the one at which it was whole."""
        self.request = BodyCopy(max_body)
        """The body as it came."""
        self.request.add(request.body)
        self.hold: Hold | None = None
        """None if the request was not held."""
        self.status = 0
        """The HTTP status; 0 before the response."""
        self.response_headers: Headers = ()
        self.response = BodyCopy(max_body)
        self.arrivals: list[float] = []
        """The times at which the pieces of the response arrived."""
        self.first_byte: float | None = None
        """The time of the response's first byte."""
        self.ended: float | None = None
        self.outcome: Outcome = "open"
        self.fault = ""
        """The reason why it failed, in a sentence."""
        self.changed = asyncio.Event()
        """Set whenever something was added."""

    def header(self, name: str) -> str:
        """Return a header of the request, masked; empty if it is absent."""
        return next((value for key, value in self.headers if key.lower() == name), "")

    def response_header(self, name: str) -> str:
        """Return a header of the response, masked; empty if it is absent."""
        values = (value for key, value in self.response_headers if key.lower() == name)
        return next(values, "")

    @property
    def url(self) -> str:
        """The whole URL, masked."""
        scheme, _, rest = self.upstream.partition("://")
        return f"{scheme}://{rest.partition('/')[0]}{self.target}"

    @property
    def path(self) -> str:
        """The path without the query."""
        return self.target.partition("?")[0]

    def begin_response(self, status: int, headers: Headers, now: float) -> None:
        """Take the response's head."""
        self.credentials.add_headers(headers)
        self.status = status
        self.response_headers = self.credentials.mask_headers(headers)
        self.first_byte = now
        self.changed.set()

    def add_response(self, data: bytes, now: float) -> None:
        """Take a piece of the response's body."""
        self.response.add(data)
        self.arrivals.append(now)
        self.changed.set()

    def end(self, outcome: Outcome, now: float, fault: str = "") -> None:
        """Mark the exchange as ended; only the first end counts."""
        if self.ended is None:
            self.ended, self.outcome, self.fault = now, outcome, self.credentials.mask_text(fault)
            self.changed.set()

    async def change(self, pause: float = 0.0) -> None:
        """Wait until something was added, and then so many seconds, or for its end."""
        await self.changed.wait()
        self.changed.clear()
        if pause and self.ended is None:
            await asyncio.sleep(pause)

    async def wait_for_end(self) -> None:
        """Wait until the exchange has ended; nothing more of it is kept."""
        while self.ended is None:
            await self.change()
            self.free()

    def free(self) -> None:
        """Keep no more of the bodies."""
        self.request.limit = self.response.limit = -1
        self.request.chunks.clear()
        self.response.chunks.clear()
        self.arrivals.clear()
