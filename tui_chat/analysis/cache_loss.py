"""The part of a prompt cache that requests lost: how much, by the reported usage; why, by the
comparison with the request before; and what to do about it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal

from tui_chat.analysis.cache_forecast import Forecast
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Protocol
from tui_chat.models.prices import Prices
from tui_chat.models.text import Origin, OriginKind
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


@dataclass(frozen=True, slots=True)
class CacheCause:
    """What one cause cost a session."""

    sentence: str
    """The cause, as it was the last time."""
    times: int
    tokens: int
    """Cached tokens that were lost."""
    cost: Decimal | None
    """US dollars beyond the price of cached tokens; None if unknown."""
    entry_id: str
    """The reply whose request lost the cache last."""
    origin: Origin | None = None
    """What broke the prefix; None if it is no text of the request, or unknown."""
    advice: str = ""
    """What to do, as a sentence; empty if nothing can be done."""


def cache_causes(losses: Iterable[tuple[str, CacheLoss]]) -> tuple[CacheCause, ...]:
    """Return the causes of losses, the most expensive first. The losses are oldest first, each with
    the id of its reply.
    """
    groups: dict[object, list[tuple[str, CacheLoss]]] = {}
    for entry_id, loss in losses:
        origin: object = loss.origin
        if loss.origin is not None and loss.origin.kind is OriginKind.HISTORY:
            origin = OriginKind.HISTORY  # cut or edited messages differ each time
        # Only what is known of a loss that another version stored tells it apart.
        key = (loss.kind, origin) if loss.kind else loss.cause
        groups.setdefault(key, []).append((entry_id, loss))
    causes = [_cause_of(group) for group in groups.values()]
    return tuple(sorted(causes, key=lambda cause: (-(cause.cost or 0), -cause.tokens)))


def _cause_of(group: list[tuple[str, CacheLoss]]) -> CacheCause:
    """Return the sum of the losses of one cause."""
    entry_id, last = group[-1]
    tokens = sum(loss.tokens for _, loss in group)
    costs = [loss.cost for _, loss in group if loss.cost is not None]
    advice = _OF_KIND.get(last.kind, "")
    if last.origin is not None:
        advice = advice or _OF_ORIGIN.get(last.origin.kind, "")
    cost = sum(costs, Decimal(0)) if costs else None
    return CacheCause(last.cause, len(group), tokens, cost, entry_id, last.origin, advice)


_OF_KIND = {
    "model": "Each model and endpoint has a cache of its own: switch between conversations.",
    "expired": "A cache mark that is kept for an hour costs more to write, and outlasts a pause.",
    "unused": "Nothing in the request explains it; providers drop caches under load.",
}
_OF_ORIGIN = {
    OriginKind.MACRO: "Move the message with this macro below the history.",
    OriginKind.PRESET: "Texts that change or move belong below the history; keep the others as "
    "they are during a conversation.",
    OriginKind.SYSTEM: "Change the role's prompt between conversations.",
    OriginKind.PROFILE: "Change the profile between conversations.",
    OriginKind.LORE: "Place lore entries below the history, or keep them active for several turns "
    "(sticky).",
    OriginKind.TOOL: "Keep the tools and their order the same during a conversation.",
    OriginKind.SETTING: "Keep settings and tools the same during a conversation.",
    OriginKind.HISTORY: "Earlier messages changed or left the window: leave out many at once, and "
    "seldom.",
}
