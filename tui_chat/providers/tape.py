"""What a response brings, written down as it comes, so that it can be shown as it was received.

Bounded: of a long response the newest part is kept. A request that is sent again begins anew.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from time import monotonic

from tui_chat.models.received import MOST_BYTES, TICK, Received
from tui_chat.providers.client import Incoming

_BESIDE = 8192
"""How many bytes before the kept ones are held as well, so that a key that lies across the border
is still known for one. Longer than any key.
"""


_SPLIT = b"[The body is not kept: it had the key of the request in it, in pieces.]"


class Tape:
    """Hears one response after the other, and keeps the last. `clock` gives seconds."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._began = clock()
        self._response: Incoming | None = None
        self._chunks: deque[bytes] = deque()
        self._kept = 0
        self._size = 0
        self._times: list[tuple[int, int]] = []

    def listen(self, response: Incoming) -> None:
        """Write down what this response brings from now on."""
        self._response = response
        self._chunks.clear()
        self._times.clear()
        self._kept = self._size = 0
        response.heard = self._hear

    def _hear(self, chunk: bytes) -> None:
        self._chunks.append(chunk)
        self._kept += len(chunk)
        self._size += len(chunk)
        while self._kept - len(self._chunks[0]) >= MOST_BYTES + _BESIDE:
            self._kept -= len(self._chunks.popleft())
        at = round((self._clock() - self._began) * 1000)
        if not self._times or at - self._times[-1][0] >= TICK:
            self._times.append((at, self._size))
        else:
            self._times[-1] = self._times[-1][0], self._size

    @property
    def repeats_key(self) -> bool:
        """Whether the last response had the key of its request in it."""
        return self._response is not None and self._response.key_mask.found

    def received(self) -> Received | None:
        """Return what the last response brought; None where none came."""
        response = self._response
        if response is None:
            return None
        held = b"".join(self._chunks)
        body = response.without_key(held)
        cut = _BESIDE if len(held) < self._size else 0
        body = body[max(len(body) - MOST_BYTES, cut) :]
        if response.key_mask.was_split:
            return Received(response.status, "text/plain", _SPLIT, len(_SPLIT))
        media = response.headers.get("content-type", "").partition(";")[0].strip()
        times = tuple((at, size) for at, size in self._times if size > self._size - len(body))
        size = max(self._size, len(body))
        return Received(response.status, media, body, size, times)
