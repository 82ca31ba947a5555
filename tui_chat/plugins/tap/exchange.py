"""One exchange: what passed of a request and its response, with the credentials masked.

The proxy fills it while the bytes pass; whoever explains or stores it follows it by `changed`. It
never holds a stream up: what is kept of a body has a limit, and so have all exchanges together.
"""

from __future__ import annotations

import asyncio
from dataclasses import field
from typing import Literal

from tui_chat.lazy_dataclass import dataclass
from tui_chat.plugins.tap.credentials import Credentials
from tui_chat.plugins.tap.http_messages import Headers, RequestHead

Outcome = Literal[
    "open",
    "complete",
    "client disconnected",
    "upstream cut",
    "unreachable",
    "unreadable",
    "refused",
    "answered",
    "dropped",
    "ended",
]
"""The end of an exchange. `open`: none yet. `upstream cut`: before the response was whole.
`unreachable`: no upstream; the proxy itself answered. `unreadable`: the response is not HTTP/1.1,
and was passed on as it came. `refused`: the proxy answered, and passed nothing on. `answered` and
`dropped`: the user answered a held request by hand, or had it refused. `ended`: the proxy ended
first."""

HoldEnd = Literal[
    "", "sent", "edited", "answered", "dropped", "expired", "client disconnected", "ended"
]
"""What became of a held request; empty while it waits. `sent`: as it came. `expired`: as it came,
after the time limit. `ended`: refused, because the proxy ended."""

MAX_HELD = 256 * 1024 * 1024
"""Maximum bytes that all exchanges hold until they are explained and stored."""


class Held:
    """Counts the bytes that all exchanges hold."""

    def __init__(self, limit: int = MAX_HELD) -> None:
        self._room = limit
        self.passed = float("-inf")
        """The time of the last byte of any exchange, in monotonic seconds."""

    def take(self, size: int) -> bool:
        """Return True if so many more bytes may be held, and count them."""
        if size > self._room:
            return False
        self._room -= size
        return True

    def free(self, size: int) -> None:
        """Count bytes no longer."""
        self._room += size


@dataclass(slots=True)
class BodyCopy:
    """A copy of a body, without the transfer coding, up to a limit."""

    limit: int
    held: Held
    size: int = 0
    """Bytes that passed."""
    chunks: list[bytes] = field(default_factory=list[bytes], repr=False)
    kept: int = 0
    is_whole: bool = True
    """False if it is larger than the limit; then nothing of it is kept."""

    def add(self, data: bytes) -> None:
        """Keep what passed."""
        self.size += len(data)
        if not self.is_whole:
            return
        if self.size > self.limit or not self.held.take(len(data)):
            self.is_whole = False
            self.free()
            return
        self.kept += len(data)
        self.chunks.append(data)

    def free(self) -> None:
        """Hold the bytes no longer."""
        self.chunks.clear()
        self.held.free(self.kept)
        self.kept = 0

    @property
    def data(self) -> bytes:
        """The bytes that are kept."""
        return b"".join(self.chunks)


@dataclass(slots=True)
class Hold:
    """The time that a request was held before it went on."""

    since: float
    """In monotonic seconds."""
    end: HoldEnd = ""
    seconds: float = 0.0
    """Its length; 0 while the request waits."""
    sent: bytes | None = field(default=None, repr=False)
    """The edited body that was sent; None if it was sent as it came, or not at all."""
    sent_headers: Headers = ()
    """The headers of the edited request, masked."""


class RecordedExchange:
    """A request and its response. Times are monotonic seconds."""

    def __init__(
        self, number: int, head: RequestHead, upstream: str, held: Held, max_body: int, now: float
    ) -> None:
        """`head` is the one that goes to the upstream."""
        self.number = number
        self.credentials = Credentials(head.headers, head.target)
        self.method = head.method
        self.target = self.credentials.mask_target(head.target)
        self.headers = self.credentials.mask_headers(head.headers)
        self.encoding = head.header("content-encoding") or ""
        self.upstream = upstream
        """The server's base URL."""
        self.began = now
        self.requested: float | None = None
        """The time of the last byte of the request; None before."""
        self.request = BodyCopy(max_body, held)
        """The body as it came."""
        self.hold: Hold | None = None
        """None if the request was not held."""
        self.status = 0
        """The HTTP status; 0 before the response."""
        self.response_headers: Headers = ()
        self.response = BodyCopy(max_body, held)
        self.arrivals: list[tuple[float, int]] = []
        """The times at which pieces of the response arrived, and its bytes by then."""
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
        self.first_byte = self.response.held.passed = now
        self.changed.set()

    def add_response(self, data: bytes, now: float) -> None:
        """Take a piece of the response's body."""
        self.response.add(data)
        self.response.held.passed = now
        self.arrivals.append((now, self.response.size))
        self.changed.set()

    def finish_request(self, now: float) -> None:
        """Mark the request as whole."""
        self.requested = self.request.held.passed = now
        self.changed.set()

    def end(self, outcome: Outcome, now: float, fault: str = "") -> None:
        """Mark the exchange as ended; only the first end counts."""
        if self.ended is None:
            self.ended, self.outcome, self.fault = now, outcome, self.credentials.mask_text(fault)
            self.changed.set()
