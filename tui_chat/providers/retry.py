"""Trying again where the trouble passes.

1. Tried again is what may go better by itself: a connection that could not be made or broke
   before the answer, and the statuses 408, 429 and 5xx. What the server says in `x-should-retry`
   counts more. An empty account (429 too) does not fill itself.
2. Never once a reply has begun: a second one could not be joined to it.
3. The server's own word for how long to wait counts, wherever it said it; where it asks for more
   than the endpoint's `longest_wait` nothing is tried, and the refusal tells how long. Without a
   word the waits double. Chance spreads them, never to less than what the server asked for.
4. Bounded by `retries.times`, and cancelled like any other waiting.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from tui_chat.errors import Refused, Unreachable
from tui_chat.models.endpoint import Retries
from tui_chat.providers.client import Incoming, Outgoing, Transport

_NEVER = frozenset({501, 505})
"""Statuses of a server that will not learn it within a minute."""

_UNPAID = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})


@dataclass(frozen=True, slots=True)
class Pause:
    """Another try follows after a while."""

    seconds: float
    attempt: int
    """The number of the try that follows: 2 for the first one again."""
    why: Refused | Unreachable
    """What became of the try before."""


@asynccontextmanager
async def begin(
    transport: Transport,
    outgoing: Outgoing,
    refusal: Callable[[Incoming], Awaitable[Refused]],
    pausing: Callable[[Pause], None],
) -> AsyncGenerator[Incoming]:
    """Send a request until it is answered with a success, and give that response.

    `refusal` puts any other response into words; `pausing` is told of every wait before it
    begins. Raises what the last try met: Refused, Unreachable; and KeyMissing at once.
    """
    attempt = 1
    while True:
        try:
            opening = transport.open(outgoing)
            response = await opening.__aenter__()
        except Unreachable as error:
            failure, seconds = error, wait_before(attempt, outgoing.retries, None, transport.chance)
            if not error.passing:
                seconds = None
        else:
            try:
                if 200 <= response.status < 300:
                    yield response
                    return
                failure = await refusal(response)
                seconds = None
                if may_pass(response, failure):
                    asked = failure.retry_after
                    seconds = wait_before(attempt, outgoing.retries, asked, transport.chance)
            finally:
                await opening.__aexit__(None, None, None)
        if seconds is None:
            raise failure
        attempt += 1
        pausing(Pause(seconds, attempt, failure))
        await transport.sleep(seconds)


def may_pass(response: Incoming, failure: Refused) -> bool:
    """Whether the same request may be answered later."""
    told = response.headers.get("x-should-retry", "").lower()
    if told in ("true", "false"):
        return told == "true"
    if failure.code in _UNPAID:
        return False
    status = response.status
    return status in (408, 429) or (500 <= status < 600 and status not in _NEVER)


def wait_before(
    attempt: int, retries: Retries, asked: float | None, chance: Callable[[], float]
) -> float | None:
    """Return the seconds to wait after the try with this number; None for no other try."""
    if attempt > retries.times:
        return None
    if asked is not None:
        if asked > retries.longest_wait:
            return None
        return asked + chance() * min(0.25 * asked, 1.0)
    doubled = retries.first_wait * 2 ** (attempt - 1)
    return min(doubled, retries.longest_wait) * (0.5 + 0.5 * chance())
