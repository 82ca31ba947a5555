"""Prices of a model: what a provider asks for a million tokens. See `models.price_table`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Annotated
from urllib.parse import urlsplit

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.boundary import Check, Hidden, Range

STANDARD_TIERS = frozenset({"", "auto", "default", "standard", "standard_only", "on_demand"})
"""Names of the service tier that a model's prices are for."""

PROVIDERS: Mapping[str, tuple[str, ...]] = {
    "anthropic": ("api.anthropic.com",),
    "cerebras": ("api.cerebras.ai",),
    "cohere": ("api.cohere.ai", "api.cohere.com"),
    "deepseek": ("api.deepseek.com",),
    "fireworks": ("api.fireworks.ai",),
    "google": ("generativelanguage.googleapis.com", "aiplatform.googleapis.com"),
    "groq": ("api.groq.com",),
    "minimax": ("api.minimax.io",),
    "mistral": ("api.mistral.ai",),
    "moonshotai": ("api.moonshot.ai",),
    "openai": ("api.openai.com",),
    "perplexity": ("api.perplexity.ai",),
    "together": ("api.together.xyz",),
    "x-ai": ("api.x.ai",),
    "zai": ("api.z.ai",),
}
"""Providers, by their ids in genai-prices, and the hosts where they charge those prices."""
_HOSTS = {host: provider for provider, hosts in PROVIDERS.items() for host in hosts}

Dollars = Annotated[Decimal, Range(0, 10**6)]


@dataclass(frozen=True, slots=True)
class PriceTier:
    """Prices of a whole request with more than `above` input tokens; None means unknown."""

    above: Annotated[int, Range(0, 10**9)]
    """Tokens of input beyond which these prices hold."""
    input: Dollars | None = None
    output: Dollars | None = None
    cached: Dollars | None = None
    cache_write: Dollars | None = None
    cache_write_1h: Dollars | None = None
    reasoning: Dollars | None = None


def _ascending(tiers: tuple[PriceTier, ...]) -> tuple[PriceTier, ...]:
    return tuple(sorted(tiers, key=lambda tier: tier.above))


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices in US dollars per million tokens; None means unknown."""

    input: Dollars | None = None
    """US dollars per million tokens of input."""
    output: Dollars | None = None
    """For output."""
    cached: Dollars | None = None
    """For input from the provider's cache; None: as `input`."""
    cache_write: Dollars | None = None
    """For input written to the cache; None: as `input`."""
    cache_write_1h: Dollars | None = None
    """For input written to the cache for an hour."""
    reasoning: Dollars | None = None
    """For reasoning; None: as `output`."""
    per_request: Dollars | None = None
    """US dollars for each request."""
    tiers: Annotated[tuple[PriceTier, ...], Check(_ascending)] = ()
    """For requests with more than `above` tokens of input: tables of `above` and prices."""
    starts: date | None = None
    """The first day, in UTC."""
    until: date | None = None
    """The last day."""
    apart: Annotated[frozenset[str], Hidden()] = frozenset()
    """Kinds of parts with prices of their own, which are not counted here: `audio`, `image`,
    `video`, and `output audio` and so on for replies."""
    source: Annotated[str, Hidden()] = ""
    """Whose prices they are, and of which day: `genai-prices 0.2.3, 2026-11-23`."""

    def for_input(self, tokens: int) -> Prices:
        """Return the prices of a request with so many tokens of input, without tiers."""
        if not self.tiers:
            return self
        tier = next((each for each in reversed(self.tiers) if tokens > each.above), None)
        if tier is None:
            return replace(self, tiers=())
        return replace(
            self,
            input=tier.input,
            output=tier.output,
            cached=tier.cached,
            cache_write=tier.cache_write,
            cache_write_1h=tier.cache_write_1h,
            reasoning=tier.reasoning,
            tiers=(),
        )

    def hold_on(self, day: date) -> bool:
        """Return whether they hold on a day."""
        return (self.starts or date.min) <= day <= (self.until or date.max)


def provider_at(base_url: str) -> str | None:
    """Return the provider of a base URL; None for all others."""
    try:
        host = (urlsplit(base_url).hostname or "").lower()
    except ValueError:
        return None
    if host.endswith("-aiplatform.googleapis.com"):  # a region of Vertex
        return "google"
    return _HOSTS.get(host)
