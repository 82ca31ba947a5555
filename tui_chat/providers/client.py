"""One request and its response.

1. A request's body is the bytes composed elsewhere, sent unchanged.
2. A key is looked up when the request leaves, put into its header, and forgotten. No value, log or
   error contains it.
3. `event_stream` splits a stream into events. What a response contains decides whether it is one,
   not its content type.
4. httpx exceptions become `Unreachable` before the response begins, and `ReplyCut` after.
5. An abandoned connection is closed, not drained. Redirects are not followed: the key is meant for
   one host.
6. A response has size limits, counted after decompression. We decompress ourselves, at most
   `PIECE` bytes at a time: httpx decompresses all the data of one read in a single call, and 64 KB
   of gzip may be 64 MB. Only encodings that can be bounded this way are requested and accepted.
7. While a response is read, the event loop gets a turn every `SLICE` seconds, however much arrives
   at once.
8. A response must begin within `MOST_SILENCES` times the endpoint's `silence`, whatever interim
   responses a server sends before it.
"""

from __future__ import annotations

import asyncio
import codecs
import os
import random
import time
import zlib
from collections import deque
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Generator,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import aclosing, asynccontextmanager, suppress
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

from tui_chat.errors import ConfigError, InputError, ReplyCut, TooLarge
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Retries, Timeouts
from tui_chat.providers.event_stream import EventSplitter, begins_events
from tui_chat.providers.failures import is_loopback, read_failures, unreachable
from tui_chat.providers.key_mask import KeyMasks
from tui_chat.providers.keys import RunKeys, resolve_key

if TYPE_CHECKING:
    import httpx


_TIMEOUTS, _RETRIES = Timeouts(), Retries()


ERROR_SIZE = 64_000
"""Bytes of an error body that are read."""
BODY_SIZE = 16_000_000
"""Maximum bytes of a body that is one JSON text. Parsing 16 MB takes 40 ms at most."""
EVENT_SIZE = 16_000_000
"""Maximum bytes between two events of a stream: one event, or data that is not an event."""
STREAM_SIZE = 256_000_000
"""Maximum bytes of a whole stream: a million tokens at 250 bytes an event."""
PIECE = 64 * 1024
"""Maximum bytes that are decompressed and processed at once."""
MOST_SILENCES = 10
"""The time in which a response must begin, in read timeouts."""
SLICE = 0.004
"""Seconds that reading may occupy the event loop. A key press takes some twenty turns of the loop
until its action has run."""

JSON_LINES = "application/x-ndjson"
"""The media type of a stream of JSON objects, one a line."""

_UTF_8 = codecs.getincrementaldecoder("utf-8")


_IMPORTED_LATE = ("httpcore._backends.anyio", "anyio._backends._asyncio")
"""Modules that httpx would import with the first request, blocking the event loop for 200 ms. If a
later version moves them, httpx imports them itself, as before.
"""


@dataclass(frozen=True, slots=True)
class OutgoingRequest:
    """A complete request except for its key."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    secrets: tuple[str, ...] = ()
    """Values in the URL and headers that are masked where the server repeats them."""
    key: str = ""
    """A key reference; empty if no key is needed."""
    key_owner: str = ""
    """The name of the endpoint whose key it is, for errors."""
    key_header: tuple[str, str] | None = ("Authorization", "Bearer ")
    """Name of the header that carries the key, and the prefix of its value; None to send no key."""
    proxy: str = ""
    """See `Endpoint.proxy`."""
    timeouts: Timeouts = _TIMEOUTS
    retries: Retries = _RETRIES


class IncomingResponse:
    """A response whose headers have arrived."""

    def __init__(
        self,
        response: httpx.Response,
        silence: float = _TIMEOUTS.silence,
        now: Callable[[], float] = time.time,
        key_header: tuple[str, str] | None = None,
        secrets: Sequence[str] = (),
    ) -> None:
        self._response = response
        self._silence = silence
        self._now = now
        key = ""
        if key_header is not None:
            name, prefix = key_header
            key = response.request.headers.get(name, "").removeprefix(prefix)
        self.key_mask = KeyMasks((key, *secrets))
        """Masks the request's key, and what else it has of secrets, in the server's data."""
        self.on_chunk: Callable[[bytes], None] = lambda _: None
        """Called with each piece of the decompressed body as it is read."""
        self._ahead: deque[bytes] = deque()
        """Pieces of the body that were read to see what it is."""
        self._rest = self._decompressed()
        self.status: int = response.status_code
        self.headers: Mapping[str, str] = response.headers
        """Keys are case-insensitive."""

    @property
    def is_stream(self) -> bool:
        """True if the header says that the body is a stream of events or of JSON lines."""
        kind = self.headers.get("content-type", "")
        return JSON_LINES in kind or "text/event-stream" in kind

    async def holds_events(self) -> bool:
        """Return True if the body is a stream, whatever its header says. Raises ReplyCut."""
        if self.is_stream:
            return True
        with read_failures(self._silence):
            start = b""
            async for piece in self._rest:
                self._ahead.append(piece)
                start += piece
                if (answer := begins_events(start)) is not None:
                    return answer
        return bool(begins_events(start + b" " * 8))

    async def events(self) -> AsyncIterator[tuple[str, str]]:
        """Yield the name (empty if none) and data of each event; see `event_stream`.

        Raises ReplyCut; TooLarge if an event or the whole stream exceeds its limit.
        """
        decoder, splitter = _UTF_8("replace"), EventSplitter()  # the standard allows no other
        read = since_event = 0
        turn = time.monotonic()
        with read_failures(self._silence):
            async for piece in self._pieces():
                read, since_event = read + len(piece), since_event + len(piece)
                if since_event > EVENT_SIZE:
                    raise _endless("An event of the reply", EVENT_SIZE)
                for event in splitter.feed(decoder.decode(piece)):
                    since_event = 0
                    yield event
                    if time.monotonic() - turn > SLICE:
                        await asyncio.sleep(0)
                        turn = time.monotonic()
                if read > STREAM_SIZE:
                    raise _endless("The response", STREAM_SIZE)
            for event in chain(splitter.feed(decoder.decode(b"", True)), splitter.close()):
                yield event

    async def read_body(self, limit: int | None = None) -> bytes:
        """Read the whole body. Raises ReplyCut, and TooLarge beyond `limit` (`BODY_SIZE`) bytes."""
        limit = BODY_SIZE if limit is None else limit
        body, is_whole = await self.read_start(limit)
        if not is_whole:
            raise TooLarge(
                f"The answer is larger than {_megabytes(limit)}, so it was not read.",
                advice="The part that arrived is kept: the inspector shows it under Received.",
            )
        return body

    async def read_start(self, limit: int = ERROR_SIZE) -> tuple[bytes, bool]:
        """Return the first `limit` bytes of the body, and True if that is the whole body.

        Raises ReplyCut.
        """
        body = bytearray()
        with read_failures(self._silence):
            async with aclosing(self._pieces()) as pieces:
                async for piece in pieces:
                    body += piece[: limit + 1 - len(body)]
                    if len(body) > limit:
                        return bytes(body[:limit]), False
        return bytes(body), True

    async def _pieces(self) -> AsyncGenerator[bytes]:
        """Yield the pieces of the body. Raises ReplyCut."""
        while self._ahead:
            yield self._ahead.popleft()
        async with aclosing(self._rest) as rest:
            async for piece in rest:
                yield piece

    async def _decompressed(self) -> AsyncGenerator[bytes]:
        """Yield the decompressed body in pieces of at most `PIECE` bytes, giving other tasks their
        turn. Raises ReplyCut if it cannot be decompressed.
        """
        unpack = _decompressor(self.headers.get("content-encoding", ""))
        stream = cast("AsyncIterator[bytes]", self._response.stream)
        turn = time.monotonic()
        async for chunk in stream:
            for piece in unpack(chunk):
                self.on_chunk(piece)
                yield piece
                if time.monotonic() - turn > SLICE:
                    await asyncio.sleep(0)
                    turn = time.monotonic()

    @property
    def retry_after(self) -> float | None:
        """Seconds to wait before another attempt, from whichever header gives them; else None."""
        for name, scale in (("retry-after-ms", 1000), ("retry-after", 1)):
            try:
                seconds = float(self.headers[name]) / scale
            except (KeyError, ValueError):
                continue
            if seconds == seconds and seconds < 1e9:  # neither “nan” nor “inf”
                return max(seconds, 0.0)
        then, now = self._time_in("retry-after"), self._time_in("date")  # by the server's clock
        return None if then is None else max(then - (self._now() if now is None else now), 0.0)

    def _time_in(self, header: str) -> float | None:
        """Return the time that a header gives; None for none."""
        from email.utils import parsedate_to_datetime  # 15 ms, which the start need not wait for

        try:
            return parsedate_to_datetime(self.headers[header]).timestamp()
        except (KeyError, ValueError, OverflowError):
            return None


def _endless(what: str, limit: int) -> TooLarge:
    return TooLarge(f"{what} is larger than {_megabytes(limit)}; what came before that is kept.")


def _megabytes(size: int) -> str:
    return f"{size // 1_000_000} MB" if size >= 1_000_000 else f"{size // 1000} KB"


def _decompressor(encoding: str) -> Callable[[bytes], Iterable[bytes]]:
    """Return a function that decompresses the next chunk, in pieces of at most `PIECE` bytes.

    `encoding` is the response's Content-Encoding. Raises ReplyCut for one that was not requested;
    the function raises it for damaged data.
    """
    match encoding.strip().lower():
        case "" | "identity" | "utf-8" | "none":  # the last two are mistakes of real servers
            return _split
        case "gzip" | "x-gzip":
            return _Inflater(zlib.MAX_WBITS | 16)
        case "deflate":
            return _Inflater(zlib.MAX_WBITS)
        case _:
            raise ReplyCut(
                f"The answer is compressed as “{encoding[:40]}”, which was not requested.",
                advice="Check the endpoint's `headers`, and any proxy on the way.",
            )


def _split(chunk: bytes) -> Iterable[bytes]:
    return (chunk[start : start + PIECE] for start in range(0, len(chunk), PIECE))


class _Inflater:
    """Decompresses gzip, or deflate with and without its header, piece by piece."""

    def __init__(self, window: int) -> None:
        self._inflate = zlib.decompressobj(window)
        self._began = window != zlib.MAX_WBITS
        """True once the data is known to have the header that `window` implies."""

    def __call__(self, chunk: bytes) -> Generator[bytes]:
        for part in _split(chunk):
            rest, piece = part, b""
            while rest or len(piece) == PIECE:
                piece = self._more(rest)
                rest = self._inflate.unconsumed_tail
                if piece:
                    yield piece

    def _more(self, data: bytes) -> bytes:
        try:
            piece = self._inflate.decompress(data, PIECE)
        except zlib.error:
            if not self._began:  # many servers send deflate without a header
                self._began = True
                self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)
                return self._more(data)
            raise ReplyCut(
                "The answer is compressed, and the compressed data is damaged.",
                advice="What arrived is kept. Try again.",
            ) from None
        self._began = True
        return piece


class HttpClient:
    """Sends requests. It keeps one httpx client per mounted host and per proxy."""

    def __init__(
        self,
        mounts: Mapping[str, Callable[[], httpx.AsyncBaseTransport]] | None = None,
        environ: Mapping[str, str] = os.environ,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        random_fraction: Callable[[], float] = random.random,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._mounts = mounts or {}
        self.environ = environ
        self.run_keys: RunKeys = {}
        """What references `run:NAME` name."""
        self._clients: dict[tuple[str, str], httpx.AsyncClient] = {}
        self._making_client = asyncio.Lock()
        self.sleep = sleep
        """Waits the given seconds before another attempt."""
        self.random_fraction = random_fraction
        """Returns a number from 0 to 1, so that clients refused together do not return together."""
        self.now = now
        """Seconds since 1970."""

    @asynccontextmanager
    async def open(self, outgoing: OutgoingRequest) -> AsyncGenerator[IncomingResponse]:
        """Send a request and yield its response once the headers have arrived.

        Raises KeyMissing, ConfigError, Unreachable; reading inside the block raises ReplyCut.
        """
        response = await self._send(outgoing)
        try:
            key_header = outgoing.key_header if outgoing.key else None
            silence, secrets = outgoing.timeouts.silence, outgoing.secrets
            yield IncomingResponse(response, silence, self.now, key_header, secrets)
        finally:
            await response.aclose()

    async def _send(self, outgoing: OutgoingRequest) -> httpx.Response:
        limits = outgoing.timeouts
        try:
            client = await self._client(outgoing)
            import httpx  # already imported by _client

            request = client.build_request(
                outgoing.method,
                outgoing.url,
                headers=list(outgoing.headers),
                content=outgoing.body,
                timeout=httpx.Timeout(limits.silence, connect=limits.connect),
            )
            if outgoing.key and outgoing.key_header is not None:
                name, prefix = outgoing.key_header
                key = await resolve_key(
                    outgoing.key, self.environ, self.run_keys, owner=outgoing.key_owner
                )
                request.headers[name] = prefix + key.reveal()
            async with asyncio.timeout(MOST_SILENCES * limits.silence):
                return await client.send(request, stream=True)
        except InputError:
            raise
        except Exception as error:
            raise unreachable(outgoing.url, error, limits) from None

    async def _client(self, outgoing: OutgoingRequest) -> httpx.AsyncClient:
        host = urlsplit(outgoing.url).hostname or ""
        mount = self._mounts.get(host)
        # A proxy from the environment is not meant for servers on this machine.
        direct = not outgoing.proxy and is_loopback(outgoing.url)
        place = (host if mount else "", "none" if direct else outgoing.proxy)
        async with self._making_client:
            client = self._clients.get(place)
            if client is None:
                # Importing httpx and loading the system's certificates takes some 300 ms.
                client = await asyncio.to_thread(new_client, place[1], self.environ, mount)
                self._clients[place] = client
        return client

    async def aclose(self) -> None:
        """Close all connections."""
        for client in self._clients.values():
            await client.aclose()
        self._clients.clear()


def new_client(
    proxy: str,
    environ: Mapping[str, str],
    mount: Callable[[], httpx.AsyncBaseTransport] | None = None,
) -> httpx.AsyncClient:
    """Return an httpx client. `proxy` is as in an endpoint: a URL, `env:NAME`, `none`, or empty
    for the variables of the environment; `mount` answers in place of the network.

    Raises ConfigError for a proxy that cannot be used. Blocks: it imports and reads certificates.
    """
    import httpx

    if mount is None:
        for module in _IMPORTED_LATE:
            with suppress(ImportError):
                import_module(module)
    try:
        return httpx.AsyncClient(
            transport=mount() if mount else None,
            proxy=_proxy(proxy, environ) if proxy not in ("", "none") and not mount else None,
            trust_env=proxy != "none",
            headers={"User-Agent": "tui-chat", "Accept-Encoding": "gzip, deflate"},
        )
    except ImportError:
        raise ConfigError(
            "A SOCKS proxy is configured, but httpx's support for SOCKS is not installed.",
            advice="Install it with `pip install 'httpx[socks]'`, or use an HTTP proxy.",
        ) from None


def _proxy(proxy: str, environ: Mapping[str, str]) -> httpx.Proxy:
    import httpx

    kind, _, name = proxy.partition(":")
    try:
        return httpx.Proxy(environ[name] if kind == "env" else proxy)
    except KeyError:
        raise ConfigError(
            f"The endpoint's proxy is in the environment variable {name}, which is not set.",
            advice=f"Set {name} and start again, or remove `proxy` from the configuration.",
        ) from None
    except (ValueError, httpx.InvalidURL):
        raise ConfigError(
            "The endpoint's proxy is not the URL of an HTTP or SOCKS proxy.",
            advice='Write `proxy = "http://HOST:PORT"`.',
        ) from None
