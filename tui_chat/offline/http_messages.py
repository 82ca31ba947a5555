"""HTTP requests and responses, the same for the httpx transport and the socket server, and the
sources of time and randomness, which a test can replace.
"""

import os
import string
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from dataclasses import field
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, unquote

from tui_chat.lazy_dataclass import dataclass

Headers: TypeAlias = tuple[tuple[str, str], ...]
"""Names in lower case, in the order sent."""

Pause: TypeAlias = Callable[[float | None], Awaitable[None]]
"""Waits the given seconds, or for ever if given None."""

_ALPHABET = string.ascii_letters + string.digits


async def _sleep(seconds: float) -> None:
    import asyncio  # deferred: the models are read without an event loop

    await asyncio.sleep(seconds)


def _random_id(length: int) -> str:
    return "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in os.urandom(length))


@dataclass(frozen=True, slots=True)
class OfflineDependencies:
    """The sources of time and randomness."""

    now: Callable[[], float] = time.time
    """Seconds since 1970, for `created`, `date` and similar fields."""

    monotonic: Callable[[], float] = time.monotonic
    """Seconds on a clock that never jumps, for the speed of a reply and the prompt cache."""

    sleep: Callable[[float], Coroutine[Any, Any, None]] = _sleep
    """Waits the given seconds. Only called with a positive number."""

    random_id: Callable[[int], str] = _random_id
    """Returns random letters and digits of the given length, for ids and signatures."""


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
        """Return the first value of a header, in any letter case; None if it is absent."""
        lower_name = name.lower()
        return next((value for key, value in self.headers if key == lower_name), None)


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """The response to one request."""

    status: int
    headers: Headers
    body: AsyncGenerator[bytes, None]
    """Makes each piece when it is read, so a client that disconnects stops the model. Raises
    ConnectionCut."""


class ConnectionCut(Exception):
    """The model dropped the connection."""
