"""HTTP requests and responses, the same for the httpx transport and the socket server.

A response is inert. Making it computes nothing of the reply: `play` pulls the steps one by one, so
a client that disconnects stops the work by not pulling.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import field
from typing import TypeAlias, assert_never
from urllib.parse import parse_qsl, unquote

from tui_chat.lazy_dataclass import dataclass
from tui_chat.offline.dependencies import OfflineDependencies
from tui_chat.offline.reply_pieces import Disconnect, Stall, Wait

Headers: TypeAlias = tuple[tuple[str, str], ...]
"""Names in lower case, in the order sent."""

Step: TypeAlias = bytes | Wait | Stall | Disconnect


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request, byte for byte. Its headers hold keys: they are never part of a reply or a repr."""

    method: str
    """In capitals."""

    target: str
    """Path and query as sent, still percent-encoded."""

    headers: Headers = field(repr=False)
    """Values are decoded as Latin-1."""

    body: bytes = field(repr=False)
    """The body exactly as sent, without the transfer coding."""

    @property
    def path(self) -> str:
        """The path alone, percent-decoded, without a trailing slash."""
        path = unquote(self.target.partition("?")[0], errors="replace")
        return path.rstrip("/") or "/"

    @property
    def query(self) -> dict[str, str]:
        """The query's parameters; of a repeated one, the last."""
        return dict(parse_qsl(self.target.partition("?")[2], keep_blank_values=True))

    def header(self, name: str) -> str | None:
        """Return the first value of a header, in any capitalisation; None if it is absent."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key == wanted), None)


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """The response to one request."""

    status: int
    headers: Headers
    steps: Iterable[Step]
    """The body and the events while it is sent. Can be iterated once."""

    before: tuple[Wait | Stall, ...] = ()
    """Events before the status line: an unstreamed reply is delayed as a whole."""


class ConnectionCut(Exception):
    """The model dropped the connection; raised by `play`."""


async def play(
    steps: Iterable[Step],
    dependencies: OfflineDependencies,
    pause: Callable[[float | None], Awaitable[None]],
) -> AsyncIterator[bytes]:
    """Yield the bytes of the steps, each when it is due.

    Waits add up on a clock of their own, so that a slow reader does not slow the model further.
    `pause` waits the given seconds, or for ever if given None. Raises `ConnectionCut`.
    """
    due = dependencies.monotonic()
    for step in steps:
        match step:
            case bytes():
                yield step
            case Wait(seconds):
                due += seconds
                remaining = due - dependencies.monotonic()
                if remaining > 0:
                    await pause(remaining)
            case Stall():
                await pause(None)
            case Disconnect():
                raise ConnectionCut
            case _:
                assert_never(step)


async def wait_forever() -> None:
    """Wait until cancelled."""
    import asyncio  # deferred: the catalogue of models is read without an event loop

    await asyncio.get_running_loop().create_future()
