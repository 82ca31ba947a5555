"""Raw responses: recorded as they arrive, to be shown as received and parsed again later.

The recording is bounded: of a long response the newest part is kept. A retried request is recorded
anew.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from time import monotonic

from tui_chat.errors import ProviderError, ReplyCut
from tui_chat.models.endpoint import Protocol
from tui_chat.models.reply import Reply, advance
from tui_chat.models.session import ARRIVAL_TICK, MAX_RESPONSE_BYTES, RawResponse
from tui_chat.protocols.registry import protocol_of
from tui_chat.providers.client import JSON_LINES, IncomingResponse
from tui_chat.providers.event_stream import EventSplitter, begins_events

_MARGIN = 8192
"""Bytes held before the kept ones, so that a key across the border is still recognized. Longer than
any key."""

_SPLIT_KEY_NOTICE = b"[The body is not kept: it had the key of the request in it, in pieces.]"


class ResponseRecorder:
    """Records one response after the other and keeps the last. `clock` gives seconds."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._start = clock()
        self._response: IncomingResponse | None = None
        self._chunks: deque[bytes] = deque()
        self._held = 0
        """Bytes in `_chunks`."""
        self._size = 0
        """Bytes received."""
        self._times: list[tuple[int, int]] = []
        """Milliseconds since the start, and the bytes received by then."""

    def record(self, response: IncomingResponse) -> None:
        """Record this response from now on, and forget the one before."""
        self._response = response
        self._chunks.clear()
        self._times.clear()
        self._held = self._size = 0
        response.on_chunk = self._add

    def _add(self, chunk: bytes) -> None:
        self._chunks.append(chunk)
        self._held += len(chunk)
        self._size += len(chunk)
        while self._held - len(self._chunks[0]) >= MAX_RESPONSE_BYTES + _MARGIN:
            self._held -= len(self._chunks.popleft())
        milliseconds = round((self._clock() - self._start) * 1000)
        if not self._times or milliseconds - self._times[-1][0] >= ARRIVAL_TICK:
            self._times.append((milliseconds, self._size))
        else:
            self._times[-1] = self._times[-1][0], self._size

    @property
    def repeats_key(self) -> bool:
        """True if the last response repeated the key of its request."""
        return self._response is not None and self._response.key_mask.found

    def received(self) -> RawResponse | None:
        """Return the last response with the key masked; None if there was none."""
        response = self._response
        if response is None:
            return None
        held = b"".join(self._chunks)
        mask = response.key_mask
        has_error = response.status >= 400 or mask.found_part
        body = mask.mask_error_bytes(held) if has_error else mask.mask_bytes(held)
        margin = _MARGIN if len(held) < self._size else 0
        body = body[max(len(body) - MAX_RESPONSE_BYTES, margin) :]
        if response.key_mask.was_split:
            return RawResponse(
                response.status, "text/plain", _SPLIT_KEY_NOTICE, len(_SPLIT_KEY_NOTICE)
            )
        media_type = response.headers.get("content-type", "").partition(";")[0].strip()
        times = tuple(moment for moment in self._times if moment[1] > self._size - len(body))
        size = max(self._size, len(body))
        return RawResponse(response.status, media_type, body, size, times)


def recorded_events(stream: bytes) -> Iterator[tuple[str, str]]:
    """Yield the name (empty if none) and data of each event of a kept stream.

    Bytes that are not UTF-8 become U+FFFD.
    """
    splitter = EventSplitter()
    yield from splitter.feed(stream.decode("utf-8-sig", "replace"))
    yield from splitter.close()


def read_recorded(body: bytes, protocol: Protocol) -> tuple[Reply, ProviderError | None]:
    """Return a kept reply as far as it can be read, and the error that ended it, if any."""
    definition, reply = protocol_of(protocol), Reply()
    failure: ProviderError | None = None
    if definition.stream_type != JSON_LINES and not begins_events(body + b" " * 8):
        try:
            return definition.read_reply(body), None
        except ReplyCut as error:  # a stream of JSON values, or of a list, may have been cut
            failure = error
        except ProviderError as error:
            return reply, error
    parser = definition.parser()
    try:
        for name, data in recorded_events(body):
            for event in parser.feed(name, data):
                reply = advance(reply, event)
        for event in parser.close():
            reply = advance(reply, event)
    except ProviderError as error:
        return reply, error if failure is None or not reply.is_empty else failure
    return reply, None
