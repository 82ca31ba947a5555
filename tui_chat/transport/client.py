"""The only way out: HTTP requests and their responses. With `loopback`, all that knows httpx.

1. A request's body is bytes that somebody else made; they are sent as they are.
2. A key is looked up when the request leaves, put into its header, and forgotten. It is in no
   value, no log and no error.
3. Server-sent events are split by httpx-sse, which splits as the standard says; their meaning
   is `wire`'s business.
4. What httpx raises becomes `Unreachable` before the response begins, and `ReplyCut` after.
5. A connection that was given up is closed, not drained.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

from tui_chat.errors import KeyMissing, ProviderError, ReplyCut, Unreachable

if TYPE_CHECKING:
    import httpx

CONNECT_SECONDS = 15.0
SILENCE_SECONDS = 600.0
"""How long a provider may say nothing: reasoning models think for minutes. Esc is quicker."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A request, ready to leave but for its key."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    key: str = ""
    """A key reference; empty where none is needed."""
    key_header: tuple[str, str] = ("Authorization", "Bearer ")
    """The header that carries the key, and what stands before it."""


class Incoming:
    """A response that has begun."""

    def __init__(self, response: httpx.Response) -> None:
        self._response = response
        self.status = response.status_code
        self.headers: Mapping[str, str] = response.headers
        """Looked up without regard to case."""

    @property
    def is_stream(self) -> bool:
        """Whether the body is a stream of server-sent events."""
        return "text/event-stream" in self.headers.get("content-type", "")

    async def events(self) -> AsyncIterator[tuple[str, str]]:
        """Yield each event's name (empty for none) and data. Raises ReplyCut."""
        from httpx_sse import EventSource

        self._response.encoding = "utf-8"  # the standard knows no other
        source = cast("httpx.Response", _Ended(self._response))
        with _reading():
            async for event in EventSource(source).aiter_sse():
                yield event.event, event.data

    async def body(self) -> bytes:
        """Read the whole body. Raises ReplyCut."""
        with _reading():
            return await self._response.aread()

    @property
    def retry_after(self) -> float | None:
        """Seconds to wait before another try, where the header says so in seconds."""
        for name, scale in (("retry-after-ms", 1000), ("retry-after", 1)):
            try:
                return max(float(self.headers[name]) / scale, 0.0)
            except (KeyError, ValueError):
                continue
        return None


class _Ended:
    """A response whose last event counts though no blank line follows it.

    The standard drops such an event; real providers end their last one so, and it may carry
    text and the reason for stopping.
    """

    def __init__(self, response: httpx.Response) -> None:
        self._response = response
        self.headers = response.headers

    async def aiter_text(self) -> AsyncIterator[str]:
        async for text in self._response.aiter_text():
            yield text
        yield "\n\n"


class Transport:
    """Sends requests; keeps one client per host, made when it is first needed."""

    def __init__(
        self,
        mounts: Mapping[str, Callable[[], httpx.AsyncBaseTransport]] | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._mounts = mounts or {}
        self._environ = environ
        self._clients: dict[str, httpx.AsyncClient] = {}

    @asynccontextmanager
    async def open(self, outgoing: Outgoing) -> AsyncGenerator[Incoming]:
        """Send a request and give its response once it has begun.

        Raises KeyMissing, Unreachable; inside the block, reading raises ReplyCut.
        """
        import httpx

        headers = dict(outgoing.headers)
        if outgoing.key:
            name, prefix = outgoing.key_header
            headers[name] = prefix + resolve_key(outgoing.key, self._environ)
        client = self._client(outgoing.url)
        request = client.build_request(
            outgoing.method, outgoing.url, headers=headers, content=outgoing.body
        )
        try:
            response = await client.send(request, stream=True)
        except httpx.HTTPError as error:
            raise _unreachable(outgoing.url, error) from None
        try:
            yield Incoming(response)
        finally:
            await response.aclose()

    def _client(self, url: str) -> httpx.AsyncClient:
        import httpx

        host = urlsplit(url).hostname or ""
        client = self._clients.get(host)
        if client is None:
            mount = self._mounts.get(host)
            client = self._clients[host] = httpx.AsyncClient(
                transport=mount() if mount else None,
                timeout=httpx.Timeout(SILENCE_SECONDS, connect=CONNECT_SECONDS),
                headers={"User-Agent": "tui-chat"},
            )
        return client

    async def aclose(self) -> None:
        """Close all connections."""
        for client in self._clients.values():
            await client.aclose()
        self._clients.clear()


def resolve_key(reference: str, environ: Mapping[str, str]) -> str:
    """Return the key behind a reference such as `env:NAME`. Raises KeyMissing."""
    kind, _, name = reference.partition(":")
    if kind != "env" or not name:
        raise KeyMissing(
            "The endpoint's key is not a reference that can be followed.",
            advice='Write `key = "env:NAME"` and put the key into that environment variable.',
        )
    key = environ.get(name, "").strip()
    if not key:
        raise KeyMissing(
            f"The environment variable {name} is not set, so there is no key to send.",
            advice=f"Set {name} and start again, or choose another endpoint.",
        )
    if not key.isascii() or not key.isprintable():
        raise KeyMissing(
            f"The environment variable {name} holds characters that no key has.",
            advice=f"Set {name} again; was a line break or a quotation mark pasted with it?",
        )
    return key


class _reading:
    """Turns what httpx raises while a body is read into ReplyCut."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        import httpx
        from httpx_sse import SSEError

        match error:
            case httpx.ReadTimeout():
                raise ReplyCut(
                    f"Nothing arrived for {SILENCE_SECONDS:.0f} seconds.",
                    advice="What came is kept. Try again.",
                ) from None
            case httpx.HTTPError() | httpx.StreamError():
                raise ReplyCut(
                    "The connection broke before the reply was complete.",
                    advice="What came is kept. Try again.",
                ) from None
            case SSEError():
                raise ProviderError(
                    "The provider answered with something that is no event stream."
                ) from None
            case _:
                return


def _unreachable(url: str, error: Exception) -> Unreachable:
    import httpx

    host = urlsplit(url).netloc
    match error:
        case httpx.ConnectTimeout():
            why = f"{host} did not answer within {CONNECT_SECONDS:.0f} seconds."
        case httpx.ConnectError():
            why = f"No connection to {host} could be made."
        case httpx.ReadTimeout():
            why = f"{host} took the request and said nothing for {SILENCE_SECONDS:.0f} seconds."
        case httpx.InvalidURL() | httpx.UnsupportedProtocol():
            why = f"“{host}” is no address that can be reached; look at the endpoint's base_url."
        case _:
            why = f"The connection to {host} broke before it answered."
    return Unreachable(why, advice="Check the network and the endpoint's address, then try again.")
