"""One request and its response.

1. A request's body is bytes that somebody else made; they are sent as they are.
2. A key is looked up when the request leaves, put into its header, and forgotten. It is in no
   value, no log and no error.
3. Server-sent events are split by httpx-sse, which splits as the standard says.
4. What httpx raises becomes `Unreachable` before the response begins, and `ReplyCut` after.
5. A connection that was given up is closed, not drained. A redirect is not followed: the key is
   meant for one host.
6. What a server sends has ceilings, counted after decompression. We decompress ourselves, at most
   `PIECE` bytes at a time: httpx decompresses what one read brought in a single call, and 64 KB of
   gzip may be 64 MB. Only encodings that can be bounded so are asked for and accepted.
7. While a response is read the event loop gets its turn every `SLICE` seconds, however much
   arrives at once.
"""

from __future__ import annotations

import asyncio
import codecs
import os
import random
import time
import zlib
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Generator,
    Iterable,
    Mapping,
)
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from importlib import import_module
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

from tui_chat.errors import ConfigError, InputError, ReplyCut, TooLarge
from tui_chat.models.endpoint import Retries, Timeouts
from tui_chat.providers.failures import Reading, is_loopback, unreachable
from tui_chat.providers.key_mask import KeyMask
from tui_chat.providers.keys import find_key

if TYPE_CHECKING:
    import httpx


_TIMEOUTS, _RETRIES = Timeouts(), Retries()


ERROR_SIZE = 64_000
"""Bytes of an error's body that are read."""
BODY_SIZE = 16_000_000
"""Bytes of a body that is read as one JSON text. Parsing 16 MB takes 40 ms at most."""
EVENT_SIZE = 16_000_000
"""Bytes between two events of a stream: one event, its longest line, or what is no event."""
STREAM_SIZE = 256_000_000
"""Bytes of a whole stream. A million tokens at 250 bytes an event."""
PIECE = 64 * 1024
"""Bytes that are decompressed and looked at together."""
SLICE = 0.004
"""Seconds that reading may keep the event loop to itself. A key takes some twenty turns of the
loop until its action has run."""

_UTF_8 = codecs.getincrementaldecoder("utf-8")


_LOADED_LATER = ("httpcore._backends.anyio", "anyio._backends._asyncio")
"""What httpx loads with the first request, on the event loop, for 200 ms. If it has gone to other
places in a later version, it is loaded then as it was before.
"""


def _deaf(_: bytes) -> None:
    """Hear nothing."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A request, ready to leave but for its key."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    key: str = ""
    """A key reference; empty where none is needed."""
    key_header: tuple[str, str] | None = ("Authorization", "Bearer ")
    """The header that carries the key, and what stands before it; None where none is sent."""
    proxy: str = ""
    """See `Endpoint.proxy`."""
    timeouts: Timeouts = _TIMEOUTS
    retries: Retries = _RETRIES


class Incoming:
    """A response that has begun."""

    def __init__(
        self,
        response: httpx.Response,
        silence: float = _TIMEOUTS.silence,
        now: Callable[[], float] = time.time,
        key_header: tuple[str, str] | None = None,
    ) -> None:
        self._response = response
        self._silence = silence
        self._now = now
        self.key_mask = KeyMask(_key_in(response, key_header))
        """Hides the key that the request carried in what the server says."""
        self.heard: Callable[[bytes], None] = _deaf
        """Told of each piece of the body as it is read."""
        self.status = response.status_code
        self.headers: Mapping[str, str] = response.headers
        """Looked up without regard to case."""

    @property
    def is_stream(self) -> bool:
        """Whether the body is a stream of server-sent events."""
        return "text/event-stream" in self.headers.get("content-type", "")

    async def events(self) -> AsyncIterator[tuple[str, str]]:
        """Yield each event's name (empty for none) and data.

        Raises ReplyCut; TooLarge where an event or the whole stream passes its ceiling.
        """
        from httpx_sse import EventSource

        with Reading(self._silence):
            text = _EventText(self.headers, self._pieces())
            turn = time.monotonic()
            async for event in EventSource(cast("httpx.Response", text)).aiter_sse():
                text.since_event = 0
                yield event.event, event.data
                if time.monotonic() - turn > SLICE:
                    await asyncio.sleep(0)
                    turn = time.monotonic()

    async def body(self, limit: int | None = None) -> bytes:
        """Read the whole body. Raises ReplyCut; TooLarge where it has more than `limit` bytes
        (`BODY_SIZE` if none is given).
        """
        limit = BODY_SIZE if limit is None else limit
        body, is_whole = await self.beginning(limit)
        if not is_whole:
            raise TooLarge(
                f"The answer is larger than {_megabytes(limit)}, so it was not read.",
                advice="What came of it last is kept: the inspector shows it under Received.",
            )
        return body

    async def beginning(self, limit: int = ERROR_SIZE) -> tuple[bytes, bool]:
        """Read the first `limit` bytes of the body; the second value is True if that is all of
        it. Raises ReplyCut.
        """
        found = bytearray()
        with Reading(self._silence):
            async with aclosing(self._pieces()) as pieces:
                async for piece in pieces:
                    found += piece[: limit + 1 - len(found)]
                    if len(found) > limit:
                        return bytes(found[:limit]), False
        return bytes(found), True

    async def _pieces(self) -> AsyncGenerator[bytes]:
        """Yield the body decompressed, in pieces of at most `PIECE` bytes, and give other tasks
        their turn. Raises ReplyCut where it cannot be decompressed.
        """
        unpack = _decompressor(self.headers.get("content-encoding", ""))
        stream = cast("AsyncIterator[bytes]", self._response.stream)
        turn = time.monotonic()
        async for chunk in stream:
            for piece in unpack(chunk):
                self.heard(piece)
                yield piece
                if time.monotonic() - turn > SLICE:
                    await asyncio.sleep(0)
                    turn = time.monotonic()

    def without_key(self, said: bytes) -> bytes:
        """Return what a server said with the request's key hidden, where it repeats it."""
        return self.key_mask.hide_in(said)

    @property
    def retry_after(self) -> float | None:
        """Seconds to wait before another try, where a header says so, in whatever way."""
        for name, scale in (("retry-after-ms", 1000), ("retry-after", 1)):
            try:
                seconds = float(self.headers[name]) / scale
            except (KeyError, ValueError):
                continue
            if seconds == seconds and seconds < 1e9:  # neither “nan” nor “inf”
                return max(seconds, 0.0)
        try:
            then = parsedate_to_datetime(self.headers["retry-after"]).timestamp()
        except (KeyError, ValueError, OverflowError):
            return None
        return max(then - self._server_time(), 0.0)

    def _server_time(self) -> float:
        """Return the time by the server's own clock where it tells it, which may not be ours."""
        try:
            return parsedate_to_datetime(self.headers["date"]).timestamp()
        except (KeyError, ValueError, OverflowError):
            return self._now()


def _key_in(response: httpx.Response, key_header: tuple[str, str] | None) -> str:
    if key_header is None:
        return ""
    name, prefix = key_header
    return response.request.headers.get(name, "").removeprefix(prefix)


class _EventText:
    """The text of an event stream, in the shape of the response that httpx-sse reads.

    Its last event counts though no blank line follows it. The standard drops such an event; real
    providers end their last one so, and it may carry text and the reason for stopping.
    """

    def __init__(self, headers: Mapping[str, str], pieces: AsyncGenerator[bytes]) -> None:
        self._pieces = pieces
        self.headers = headers
        self.since_event = 0
        """Bytes read since the last event; whoever takes an event sets it to 0."""

    async def aiter_text(self) -> AsyncGenerator[str]:
        decoder = _UTF_8("replace")  # the standard knows no other
        read = 0
        async for piece in self._pieces:
            self.since_event += len(piece)
            read += len(piece)
            if self.since_event > EVENT_SIZE:
                size = _megabytes(EVENT_SIZE)
                raise TooLarge(f"An event of the reply is larger than {size}; {_KEPT_BEFORE}")
            yield decoder.decode(piece)
            if read > STREAM_SIZE:
                size = _megabytes(STREAM_SIZE)
                raise TooLarge(f"The response is larger than {size}; {_KEPT_BEFORE}")
        yield decoder.decode(b"", True) + "\n\n"


_KEPT_BEFORE = "what came before that is kept."


def _megabytes(size: int) -> str:
    return f"{size // 1_000_000} MB" if size >= 1_000_000 else f"{size // 1000} KB"


def _decompressor(encoding: str) -> Callable[[bytes], Iterable[bytes]]:
    """Return what decompresses one chunk after the other, in pieces of at most `PIECE` bytes.

    `encoding` is the response's Content-Encoding. Raises ReplyCut for one that was not asked for,
    and while decompressing where the data is damaged.
    """
    match encoding.strip().lower():
        case "" | "identity" | "utf-8" | "none":  # the last two come from careless servers
            return _cut_up
        case "gzip" | "x-gzip":
            return _Inflater(zlib.MAX_WBITS | 16)
        case "deflate":
            return _Inflater(zlib.MAX_WBITS)
        case _:
            raise ReplyCut(
                f"The answer is compressed as “{encoding[:40]}”, which was not asked for.",
                advice="Check the endpoint's `headers` and what stands between it and you.",
            )


def _cut_up(chunk: bytes) -> Iterable[bytes]:
    return (chunk[at : at + PIECE] for at in range(0, len(chunk), PIECE))


class _Inflater:
    """Decompresses gzip, or deflate with and without its header, piece by piece."""

    def __init__(self, window: int) -> None:
        self._inflate = zlib.decompressobj(window)
        self._began = window != zlib.MAX_WBITS
        """True once it is known that the data has the header that `window` calls for."""

    def __call__(self, chunk: bytes) -> Generator[bytes]:
        for part in _cut_up(chunk):
            rest = part
            while rest or not self._inflate.eof:
                piece = self._more(rest)
                rest = self._inflate.unconsumed_tail
                if piece:
                    yield piece
                if not rest and len(piece) < PIECE:
                    break

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
                advice="What came is kept. Try again.",
            ) from None
        self._began = True
        return piece


class Transport:
    """Sends requests; keeps one client per host that is mounted and per proxy."""

    def __init__(
        self,
        mounts: Mapping[str, Callable[[], httpx.AsyncBaseTransport]] | None = None,
        environ: Mapping[str, str] = os.environ,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._mounts = mounts or {}
        self.environ = environ
        self._clients: dict[tuple[str, str], httpx.AsyncClient] = {}
        self._making_client = asyncio.Lock()
        self.sleep = sleep
        """Waits the seconds given, before another try."""
        self.chance = chance
        """A number from 0 to 1, so that clients which were refused together do not come back
        together."""
        self.now = now
        """Seconds since 1970."""

    @asynccontextmanager
    async def open(self, outgoing: Outgoing) -> AsyncGenerator[Incoming]:
        """Send a request and give its response once it has begun.

        Raises KeyMissing, Unreachable; inside the block, reading raises ReplyCut.
        """
        response = await self._send(outgoing)
        try:
            key_header = outgoing.key_header if outgoing.key else None
            yield Incoming(response, outgoing.timeouts.silence, self.now, key_header)
        finally:
            await response.aclose()

    async def _send(self, outgoing: Outgoing) -> httpx.Response:
        limits = outgoing.timeouts
        try:
            client = await self._client(outgoing)
            import httpx  # loaded by now

            request = client.build_request(
                outgoing.method,
                outgoing.url,
                headers=list(outgoing.headers),
                content=outgoing.body,
                timeout=httpx.Timeout(limits.silence, connect=limits.connect),
            )
            if outgoing.key and outgoing.key_header is not None:
                name, prefix = outgoing.key_header
                key = await find_key(outgoing.key, self.environ)
                request.headers[name] = prefix + key.reveal()
            return await client.send(request, stream=True)
        except InputError:
            raise
        except Exception as error:
            raise unreachable(outgoing.url, error, limits) from None

    async def _client(self, outgoing: Outgoing) -> httpx.AsyncClient:
        host = urlsplit(outgoing.url).hostname or ""
        mount = self._mounts.get(host)
        # A proxy of the environment is not for this machine's own servers.
        direct = not outgoing.proxy and is_loopback(outgoing.url)
        place = (host if mount else "", "none" if direct else outgoing.proxy)
        async with self._making_client:
            client = self._clients.get(place)
            if client is None:
                # Loading httpx and the system's certificates takes some 300 ms.
                client = await asyncio.to_thread(self._new_client, mount, place[1])
                self._clients[place] = client
        return client

    def _new_client(
        self, mount: Callable[[], httpx.AsyncBaseTransport] | None, proxy: str
    ) -> httpx.AsyncClient:
        import httpx

        if mount is None:
            for module in _LOADED_LATER:
                with suppress(ImportError):
                    import_module(module)
        try:
            return httpx.AsyncClient(
                transport=mount() if mount else None,
                proxy=self._proxy(proxy) if proxy not in ("", "none") and not mount else None,
                trust_env=proxy != "none",
                headers={"User-Agent": "tui-chat", "Accept-Encoding": "gzip, deflate"},
            )
        except ImportError:
            raise ConfigError(
                "A SOCKS proxy is configured, and the part of httpx that speaks SOCKS is missing.",
                advice="Install it with `pip install 'httpx[socks]'`, or use an HTTP proxy.",
            ) from None

    def _proxy(self, proxy: str) -> httpx.Proxy:
        import httpx

        kind, _, name = proxy.partition(":")
        try:
            return httpx.Proxy(self.environ[name] if kind == "env" else proxy)
        except KeyError:
            raise ConfigError(
                f"The endpoint's proxy is in the environment variable {name}, which is not set.",
                advice=f"Set {name} and start again, or take `proxy` out of the configuration.",
            ) from None
        except (ValueError, httpx.InvalidURL):
            raise ConfigError(
                "The endpoint's proxy is no URL of an HTTP or SOCKS proxy.",
                advice='Write `proxy = "http://HOST:PORT"`.',
            ) from None

    async def aclose(self) -> None:
        """Close all connections."""
        for client in self._clients.values():
            await client.aclose()
        self._clients.clear()
