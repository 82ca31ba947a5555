"""How many requests an endpoint gets at once.

1. Four, or one for a server on this machine or a private network: a local model answers one request
   at a time. The offline provider is no such server.
2. A refusal for rate limits or overload (429, 529) halves the number, and no request leaves before
   the wait that the provider asks for is over. Ten clean replies raise it by one.
3. Endpoints do not wait for each other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tui_chat.config import LOOPBACK_URL
from tui_chat.models.endpoint import Endpoint
from tui_chat.plugins.prompt_lab.budget import is_local

USUAL = 4
CLEAN_REPLIES = 10
"""Clean replies after which one request more is sent at once."""
LONGEST_WAIT = 300.0
"""Seconds that a refusal keeps other requests waiting, at most."""
OVERLOADED = (429, 529)


def usual_limit(endpoint: Endpoint) -> int:
    """Return how many requests an endpoint gets at once at first."""
    is_offline = endpoint.base_url.startswith(LOOPBACK_URL)
    return 1 if is_local(endpoint) and not is_offline else USUAL


class EndpointLimit:
    """The number of requests that may be on their way to an endpoint."""

    def __init__(self, most: int, clock: Callable[[], float]) -> None:
        self.most = most
        """The number that is never exceeded."""
        self.now = most
        """The number at present."""
        self._clock = clock
        self._running = 0
        self._clean = 0
        self._blocked_until = 0.0
        self._changed = asyncio.Condition()

    async def enter(self) -> None:
        """Wait until a request may leave."""
        async with self._changed:
            while True:
                await self._changed.wait_for(lambda: self._running < self.now)
                wait = self._blocked_until - self._clock()
                if wait <= 0:
                    break
                self._changed.release()
                try:
                    await asyncio.sleep(wait)
                finally:
                    await self._changed.acquire()
            self._running += 1

    async def leave(self, *, is_clean: bool) -> None:
        """Count a request that has ended; `is_clean` is True if it was answered."""
        async with self._changed:
            self._running -= 1
            self._clean += is_clean
            if self._clean >= CLEAN_REPLIES and self.now < self.most:
                self.now, self._clean = self.now + 1, 0
            self._changed.notify_all()

    def slow_down(self, seconds: float) -> None:
        """Halve the number after a refusal, and let nothing leave for so many seconds."""
        self.now, self._clean = max(1, self.now // 2), 0
        until = self._clock() + min(seconds, LONGEST_WAIT)
        self._blocked_until = max(self._blocked_until, until)
