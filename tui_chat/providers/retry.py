"""Retries after failures that may pass.

1. A request is retried after a connection that failed or broke before the answer, and after the
   statuses 408, 429 and 5xx. The server's `x-should-retry` header overrides that. An exhausted
   account, also a 429, is not retried.
2. Nothing is retried once a reply has begun: a second reply could not be joined to it.
3. The wait is what the server asks for, in whichever header or body field it does. If that exceeds
   the endpoint's `longest_wait`, there is no retry and the refusal says how long to wait. Without a
   request from the server the waits double. Waits are spread randomly, never to less than what the
   server asked for.
4. There are at most `retries.times` retries, and a wait can be cancelled.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

from tui_chat.errors import Refused, Unreachable
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Retries
from tui_chat.providers.client import HttpClient, IncomingResponse, OutgoingRequest

_PERMANENT = frozenset({501, 505})
"""5xx statuses that say what the server cannot do; waiting changes nothing."""

_UNPAID_CODES = frozenset(
    {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"}
)


@dataclass(frozen=True, slots=True)
class RetryPause:
    """The wait before another attempt; the provider could not answer."""

    seconds: float
    """The length of the wait."""
    attempt: int
    """The number of the attempt that follows; 2 for the first retry."""
    attempts: int
    """The number of attempts in all."""
    why: Refused | Unreachable
    """The failure of the attempt before."""


@asynccontextmanager
async def open_with_retries(
    client: HttpClient,
    outgoing: OutgoingRequest,
    refusal: Callable[[IncomingResponse], Awaitable[Refused]],
    on_pause: Callable[[RetryPause], None],
) -> AsyncGenerator[IncomingResponse]:
    """Send a request until a response with a 2xx status begins, and yield that response.

    `refusal` turns any other response into an error; `on_pause` is called before every wait.
    Raises the error of the last attempt, Refused or Unreachable; KeyMissing at once.
    """
    attempt = 1
    while True:
        try:
            opening = client.open(outgoing)
            response = await opening.__aenter__()
        except Unreachable as error:
            failure, is_passing, retry_after = error, error.passing, None
        else:
            try:
                if 200 <= response.status < 300:
                    yield response
                    return
                failure = await refusal(response)
                is_passing, retry_after = is_retryable(response, failure), failure.retry_after
            finally:
                await opening.__aexit__(None, None, None)
        fraction = client.random_fraction
        seconds = seconds_before_retry(attempt, outgoing.retries, retry_after, fraction)
        if seconds is None or not is_passing:
            raise failure
        attempt += 1
        on_pause(RetryPause(seconds, attempt, outgoing.retries.times + 1, failure))
        await client.sleep(seconds)


def is_retryable(response: IncomingResponse, failure: Refused) -> bool:
    """True if the same request may succeed later."""
    advised = response.headers.get("x-should-retry", "").lower()
    if advised in ("true", "false"):
        return advised == "true"
    if failure.code in _UNPAID_CODES:
        return False
    status = response.status
    return status in (408, 429) or (500 <= status < 600 and status not in _PERMANENT)


def seconds_before_retry(
    attempt: int, retries: Retries, retry_after: float | None, random_fraction: Callable[[], float]
) -> float | None:
    """Return the seconds to wait after attempt number `attempt`; None for no further attempt.

    `retry_after` is the wait in seconds that the server asks for; `random_fraction` gives 0 to 1.
    """
    if attempt > retries.times:
        return None
    if retry_after is not None:
        if retry_after > retries.longest_wait:
            return None
        return retry_after + random_fraction() * min(0.25 * retry_after, 1.0)
    doubled = retries.first_wait * 2 ** (attempt - 1)
    return min(doubled, retries.longest_wait) * (0.5 + 0.5 * random_fraction())
