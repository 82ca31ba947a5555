"""One request and its response.

1. A request's body is bytes that somebody else made; they are sent as they are.
2. A key is looked up when the request leaves, put into its header, and forgotten. It is in no
   value, no log and no error.
3. Server-sent events are split by httpx-sse, which splits as the standard says.
4. What httpx raises becomes `Unreachable` before the response begins, and `ReplyCut` after.
5. A connection that was given up is closed, not drained. A redirect is not followed: the key is
   meant for one host.
"""

from __future__ import annotations

import asyncio
import codecs
import os
import random
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

from tui_chat.errors import ConfigError, InputError
from tui_chat.model.endpoint import Retries, Timeouts
from tui_chat.transport.failures import Reading, is_loopback, unreachable
from tui_chat.transport.key_mask import KeyMask
from tui_chat.transport.keys import find_key

if TYPE_CHECKING:
    import httpx


_TIMEOUTS, _RETRIES = Timeouts(), Retries()


_UTF_8 = codecs.getincrementaldecoder("utf-8")


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
        """Yield each event's name (empty for none) and data. Raises ReplyCut."""
        from httpx_sse import EventSource

        source = cast("httpx.Response", _Ended(self._response, self.heard))
        with Reading(self._silence):
            async for event in EventSource(source).aiter_sse():
                yield event.event, event.data

    async def body(self, limit: int | None = None) -> bytes:
        """Read the whole body, or its first `limit` bytes and a few. Raises ReplyCut."""
        with Reading(self._silence):
            found: list[bytes] = []
            size = 0
            async for chunk in self._response.aiter_bytes():
                self.heard(chunk)
                found.append(chunk)
                size += len(chunk)
                if limit is not None and size > limit:
                    break
            return b"".join(found)

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


class _Ended:
    """A response whose last event counts though no blank line follows it.

    The standard drops such an event; real providers end their last one so, and it may carry
    text and the reason for stopping.
    """

    def __init__(self, response: httpx.Response, heard: Callable[[bytes], None]) -> None:
        self._response = response
        self._heard = heard
        self.headers = response.headers

    async def aiter_text(self) -> AsyncIterator[str]:
        decoder = _UTF_8("replace")  # the standard knows no other
        async for chunk in self._response.aiter_bytes():
            self._heard(chunk)
            yield decoder.decode(chunk)
        yield decoder.decode(b"", True) + "\n\n"


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
        import httpx

        limits = outgoing.timeouts
        try:
            client = self._client(outgoing)
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

    def _client(self, outgoing: Outgoing) -> httpx.AsyncClient:
        host = urlsplit(outgoing.url).hostname or ""
        mount = self._mounts.get(host)
        # A proxy of the environment is not for this machine's own servers.
        direct = not outgoing.proxy and is_loopback(outgoing.url)
        place = (host if mount else "", "none" if direct else outgoing.proxy)
        client = self._clients.get(place)
        if client is None:
            client = self._clients[place] = self._new_client(mount, place[1])
        return client

    def _new_client(
        self, mount: Callable[[], httpx.AsyncBaseTransport] | None, proxy: str
    ) -> httpx.AsyncClient:
        import httpx

        try:
            return httpx.AsyncClient(
                transport=mount() if mount else None,
                proxy=self._proxy(proxy) if proxy not in ("", "none") and not mount else None,
                trust_env=proxy != "none",
                headers={"User-Agent": "tui-chat"},
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
