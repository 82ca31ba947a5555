"""Usage, cost and pace of a reply: reported tokens, US dollars, seconds."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import field
from decimal import Decimal

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.prices import Prices
from tui_chat.models.text import Origin

BYTES_PER_TOKEN = 4
"""Estimate for any vocabulary and language, used until the provider reports a figure."""

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the provider reported them; None if it did not."""

    input: int | None = None
    """All input: what was served from a prompt cache and written to one included, also where the
    provider counts them apart (Anthropic)."""
    output: int | None = None
    """All output, reasoning included, also where the provider counts it apart (Gemini)."""
    cached: int | None = None
    """Input served from a prompt cache."""
    cache_write: int | None = None
    """Input written to a prompt cache."""
    reasoning: int | None = None
    """Output spent on reasoning."""
    cache_write_1h: int = field(default=0, compare=False)
    """The part of `cache_write` that stays for an hour: Anthropic."""
    tier: str = field(default="", compare=False)
    """The service tier that served the request, in the provider's word; empty if it said none."""
    cost: Decimal | None = field(default=None, compare=False)
    """The price in US dollars, where the provider says it (OpenRouter, Perplexity, xAI)."""


NO_USAGE = Usage()
COUNTS = ("input", "output", "cached", "cache_write", "reasoning")
"""The fields of a usage that providers report."""

BY_PROVIDER = "by the provider's report"
"""Whose prices a cost is from that the provider reported."""


def usage_json(usage: Usage) -> dict[str, int | None]:
    """Return a usage as commands print it: `input` with cached, `output` with reasoning tokens."""
    return {name: getattr(usage, name) for name in COUNTS}


@dataclass(frozen=True, slots=True)
class CacheLoss:
    """The part of the prompt cache that a request lost after the one before it had filled it."""

    tokens: int
    """Tokens that were cached and had to be processed again."""
    cause: str
    """Why, as a sentence."""
    cost: Decimal | None = None
    """The price of the tokens beyond that of cached ones, in US dollars; None if unknown."""
    kind: str = ""
    """The kind of the cause: a `BreakKind` of the forecast, `expired` or `unused`; empty if it was
    stored by a version that did not know it."""
    origin: Origin | None = None
    """The origin of the first difference; None if that is not the cause, or unknown."""

    @property
    def amount(self) -> str:
        """The tokens and what they cost."""
        more = "" if self.cost is None else f", ${self.cost:.4f} more"
        return f"{self.tokens:,} cached token{'s' * (self.tokens != 1)} lost{more}"

    @property
    def sentence(self) -> str:
        """The tokens, what they cost, and why."""
        return f"{self.amount}. {self.cause}".strip()


@dataclass(frozen=True, slots=True)
class Timing:
    """A reply's pace so far, or as it ended."""

    elapsed: float | None = None
    """Seconds since the request left; None if not measured."""
    first: float | None = None
    """Seconds until the first text, reasoning or call; None before it, or if unknown."""
    tokens: int | None = None
    """Output, reasoning included; None if unknown."""
    exact: bool = False
    """True if `tokens` was reported by the provider; else it is estimated."""
    cost: Decimal | None = None
    """US dollars; None without prices or figures."""
    priced: str = ""
    """Whose prices `cost` is from, and of which day."""


NO_TIMING = Timing()


def cost_of(usage: Usage, prices: Prices | None, media: Set[str] = frozenset()) -> Decimal | None:
    """Return the cost of a reply in US dollars: the provider's own figure if it reported one; None
    if a price or figure is unknown.

    1. The prices are those for all of the input, cached parts included: a tier holds for the whole
       request.
    2. Cached input has its own price if known, else the full price; so do input written to a cache
       and reasoning. Each token is counted once: none is in two of these.
    3. Figures that contradict each other have no cost, and neither has a request or a reply with
       `media` that are priced apart (see `Prices.apart`).
    """
    if usage.cost is not None:
        return usage.cost
    if prices is None or usage.input is None or usage.output is None or prices.apart & media:
        return None
    prices = prices.for_input(usage.input)
    cached, written, hour = usage.cached or 0, usage.cache_write or 0, usage.cache_write_1h
    reasoned = 0 if prices.reasoning is None else usage.reasoning or 0
    is_hour_unknown = hour and prices.cache_write_1h is None
    if prices.input is None or prices.output is None or is_hour_unknown:
        return None
    counts = (
        (usage.input - cached - written, prices.input),
        (cached, prices.input if prices.cached is None else prices.cached),
        (written - hour, prices.input if prices.cache_write is None else prices.cache_write),
        (hour, prices.cache_write_1h or Decimal(0)),
        (usage.output - reasoned, prices.output),
        (reasoned, prices.reasoning or prices.output),
    )
    if any(tokens < 0 for tokens, _ in counts):
        return None
    total = sum((tokens * price for tokens, price in counts), Decimal(0)) / _MILLION
    return total + (prices.per_request or 0)


def source_of_cost(usage: Usage, prices: Prices | None, cost: Decimal | None) -> str:
    """Return whose prices the cost of a reply is from, and of which day; empty without a cost."""
    if usage.cost is not None:
        return BY_PROVIDER
    return prices.source if prices is not None and cost is not None else ""


def short_number(number: int) -> str:
    """Return a number of tokens in few characters: `950`, `1.2k`, `128k`, `1.5M`."""
    for unit, name in ((1_000_000, "M"), (1_000, "k")):
        if abs(number) >= unit:
            figure = number / unit
            digits = f"{figure:.1f}".removesuffix(".0") if abs(figure) < 100 else f"{figure:.0f}"
            return digits + name
    return str(number)


def lost_cost(lost: int, total: int, prices: Prices | None) -> Decimal | None:
    """Return the added dollars of lost tokens in a prompt of `total`; None for unknown prices."""
    price = prices.for_input(total) if prices is not None else None
    if price is None or price.input is None:
        return None
    cached = price.input if price.cached is None else price.cached
    return lost * (price.input - cached) / _MILLION
