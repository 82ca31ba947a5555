"""How many requests an endpoint gets at once.

1. Four, or one for a server on this machine or a private network: a local model answers one request
   at a time. The offline provider is no such server.
2. After a refusal for rate limits or overload (429, 529) no request leaves before the wait that the
   provider asks for is over.
3. Endpoints do not wait for each other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tui_chat.config import LOOPBACK_URL
from tui_chat.models.endpoint import Endpoint
from tui_chat.plugins.prompt_lab.budget import is_local

USUAL = 4
LONGEST_WAIT = 300.0
"""Seconds that a refusal keeps other requests waiting, at most."""
OVERLOADED = (429, 529)


def usual_limit(endpoint: Endpoint) -> int:
    """Return how many requests an endpoint gets at once at first."""
    is_offline = endpoint.base_url.startswith(LOOPBACK_URL)
    return 1 if is_local(endpoint) and not is_offline else USUAL


class EndpointLimit:
    """The requests that may be on their way to an endpoint."""

    def __init__(self, most: int, clock: Callable[[], float]) -> None:
        self._free = asyncio.Semaphore(most)
        self._clock = clock
        self._blocked_until = 0.0

    async def enter(self) -> None:
        """Wait until a request may leave."""
        await self._free.acquire()
        while (wait := self._blocked_until - self._clock()) > 0:  # noqa: ASYNC110  no event
            await asyncio.sleep(wait)

    def leave(self) -> None:
        """Count a request that has ended."""
        self._free.release()

    def pause(self, seconds: float) -> None:
        """Let nothing leave for so many seconds, after a refusal."""
        until = self._clock() + min(seconds, LONGEST_WAIT)
        self._blocked_until = max(self._blocked_until, until)
