"""The part of a prompt cache that a request lost: how much, by the reported usage; and why, by the
comparison with the request before.
"""

from __future__ import annotations

from dataclasses import replace

from tui_chat.analysis.cache_forecast import Forecast
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Protocol
from tui_chat.models.prices import Prices
from tui_chat.models.text import Origin
from tui_chat.models.usage import CacheLoss, Usage, lost_cost

LEAST_CACHED = 1024
"""Tokens from which prompts are cached automatically."""
_STEP = 128
"""The steps, in tokens, in which they are cached."""
CACHE_SECONDS = {Protocol.ANTHROPIC: 300.0, Protocol.OPENAI_CHAT: 600.0}
"""Seconds of idle time after which a provider's prompt cache is gone, by their documentation:
https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching
https://platform.openai.com/docs/guides/prompt-caching
"""
CACHE_SECONDS[Protocol.OPENAI_RESPONSES] = CACHE_SECONDS[Protocol.OPENAI_CHAT]


def cache_seconds(protocol: Protocol, body: bytes) -> float | None:
    """Return the idle seconds after which a request's cache is gone; None if that is unknown."""
    if protocol is Protocol.ANTHROPIC and b'"ttl":"1h"' in body.replace(b" ", b""):
        return 3600.0
    return CACHE_SECONDS.get(protocol)


def reported_loss(protocol: Protocol, before: Usage, now: Usage) -> int | None:
    """Return the cached tokens that a request could not use; None if usage does not say, 0 if they
    are fewer than the steps in which providers cache. `before` is the usage of the request before,
    which succeeded.
    """
    held, cached = _cached_after(protocol, before), now.cached
    if protocol is Protocol.GEMINI and before.cached and cached is None:
        cached = 0  # it leaves out a count of 0
    if held is None or cached is None:
        return None
    lost = held - cached
    return lost if lost >= _STEP else 0


def _cached_after(protocol: Protocol, usage: Usage) -> int | None:
    """Return how many tokens of a prompt were cached when it had been processed; None if that is
    not reported. Only Anthropic reports what it writes; the others cache what is long enough.
    """
    if protocol is Protocol.ANTHROPIC:
        if usage.cached is None and usage.cache_write is None:
            return None
        return (usage.cached or 0) + (usage.cache_write or 0)
    if usage.input is None or usage.cached is None:
        return None
    return usage.input if usage.input >= LEAST_CACHED else 0


@dataclass(frozen=True, slots=True)
class Idle:
    """The time between the end of a response and the next request."""

    seconds: float
    expires: float | None
    """Seconds after which the cache is gone; None if unknown."""

    @property
    def is_expired(self) -> bool:
        """True if the cache is gone because of this time."""
        return self.expires is not None and self.seconds > self.expires


def cache_loss(
    forecast: Forecast,
    protocol: Protocol,
    before: Usage,
    now: Usage,
    prices: Prices | None,
    idle: Idle,
) -> CacheLoss | None:
    """Return what a request lost of the cache that the one before had filled; None for nothing.

    Reported usage says how much; without it, the forecast does. `before` is the usage of the
    request before, which succeeded.
    """
    lost, at = reported_loss(protocol, before, now), forecast.at
    origin = None if at.origin is None else _storable(at.origin)
    cause = CacheLoss(0, at.sentence, kind=at.kind, origin=origin)
    if lost is None:
        cost = lost_cost(forecast.lost, forecast.total, prices)
        return replace(cause, tokens=forecast.lost, cost=cost) if forecast.lost else None
    if not forecast.lost and at.kind != "model":
        # Caches round down, and a part of them may be missing.
        if lost < max(LEAST_CACHED, (lost + (now.cached or 0)) // 4):
            return None
        if idle.is_expired:
            cause = CacheLoss(0, "The cache had expired since the last request.", kind="expired")
        elif at.kind != "kept":
            cause = CacheLoss(0, _UNUSED, kind="unused")
    cost = lost_cost(lost, now.input or lost, prices)
    return replace(cause, tokens=lost, cost=cost) if lost else None


_UNUSED = "The request begins with the whole last one, but the provider did not reuse it."


def _storable(origin: Origin) -> Origin:
    """Return an origin that holds no message."""
    within = None if origin.within is None else _storable(origin.within)
    return Origin(origin.kind, origin.id, origin.name, within)
