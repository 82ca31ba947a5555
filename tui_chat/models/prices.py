"""Prices of models: what a provider asks for a million tokens, and at which tier and day.

1. A table of prices is `prices.json`, which `docs/dev/refresh_prices.py` writes from the data of
   genai-prices (https://github.com/pydantic/genai-prices, MIT), or a newer one in the data folder.
   It keeps that data's form: providers, their models with the clauses that names are matched by,
   and prices by day or hour and by service tier.
2. A provider is known by the host of the base URL, and only by those in `PROVIDERS`: another host
   may serve a model of the same name at another price. See `library.prices` for gateways.
3. The first model of a provider whose clause fits a name counts, as in genai-prices, so that
   `gpt-5-nano` is not `gpt-5`. Prefix patterns of ours are not used.
4. What is not known stays unknown (None): a price, a service tier without prices of its own, a
   model that is charged by something that is not counted here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Annotated, Any
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

MOST_NAME = 200
"""Maximum characters of a model's name that is looked for."""
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
    """All input."""
    output: Dollars | None = None
    """All output."""
    cached: Dollars | None = None
    """Input that the provider still had in its cache; None: as all input."""
    cache_write: Dollars | None = None
    """Input that was put into the provider's cache, for five minutes where there is a choice;
    None: as all input."""
    cache_write_1h: Dollars | None = None
    """Input that was put into the cache for an hour."""
    reasoning: Dollars | None = None
    """Output spent on reasoning; None: as all output."""
    per_request: Dollars | None = None
    """US dollars for each request besides; not set: nothing."""
    tiers: Annotated[tuple[PriceTier, ...], Check(_ascending)] = ()
    """Prices of longer requests, the shortest first."""
    starts: date | None = None
    """The first day, in UTC, that they hold for; not set: no limit."""
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


_FIELDS = {
    "input_mtok": "input",
    "output_mtok": "output",
    "cache_read_mtok": "cached",
    "cache_write_mtok": "cache_write",
    "cache_write_1h_mtok": "cache_write_1h",
    "output_reasoning_mtok": "reasoning",
}
"""The names in genai-prices of the prices of `Prices` that may have tiers."""
_PER_REQUEST = "requests_kcount"
_MEDIA = {
    f"{direction}_{medium}_mtok": f"{prefix}{medium}"
    for direction, prefix in (("input", ""), ("output", "output "))
    for medium in ("audio", "image", "video")
}
_OF_MEDIA = re.compile(r"cache_(?:audio|image|video)_\w+")
BY_USE = re.compile(r"\w+_searches_kcount|input_\w*document_kpages")
"""Prices of tools and services that a request need not use."""


@dataclass(frozen=True, slots=True)
class PricePeriod:
    """Prices, and when they hold."""

    prices: Mapping[str, Any]
    start_date: date | None = None
    hours: tuple[time, time] | None = None

    def holds(self, moment: datetime) -> bool:
        """Return True if the prices hold at a time."""
        if self.start_date is not None:
            return moment.date() >= self.start_date
        if self.hours is not None:
            start, end = self.hours
            now = moment.timetz()
            return (now >= start or now < end) if end < start else start <= now < end
        return True


@dataclass(frozen=True, slots=True)
class PriceVariant:
    """Prices of a request that asks for something, besides those of the model."""

    when: Mapping[str, str]
    period: PricePeriod


@dataclass(frozen=True, slots=True)
class PricedModel:
    """A model of a table."""

    name: str
    match: Mapping[str, Any]
    """Its clause, in the words of genai-prices."""
    periods: tuple[PricePeriod, ...]
    variants: tuple[PriceVariant, ...] = ()

    def prices_at(self, moment: datetime, context: Mapping[str, str]) -> Prices | None:
        """Return the prices at a time; None if they are unknown, also for a service tier.

        As in genai-prices the last period that holds counts, or else the first.
        """
        if not self.periods:
            return None
        period = next((p for p in reversed(self.periods) if p.holds(moment)), self.periods[0])
        values = dict(period.prices)
        chosen = {key: value for key, value in context.items() if value not in STANDARD_TIERS}
        has_variant = False
        own: dict[str, Any] = {}
        for variant in self.variants:
            if not variant.period.holds(moment):
                continue
            if all(context.get(key) == value for key, value in variant.when.items()):
                has_variant = has_variant or variant.when.keys() >= chosen.keys()
                for key, price in variant.period.prices.items():
                    own.setdefault(key, price)
        if chosen and not (has_variant and own):
            return None
        return _prices(values | own, period.start_date)


@dataclass(frozen=True, slots=True)
class PriceTable:
    """Prices of providers, of one day."""

    date: str
    """YYYY-MM-DD."""
    source: str
    providers: Mapping[str, tuple[PricedModel, ...]]
    fallbacks: Mapping[str, tuple[str, ...]]
    """Providers whose models another one serves at their prices."""

    @property
    def label(self) -> str:
        """Whose prices they are, and of which day."""
        return f"{self.source}, {self.date}"

    def model_of(self, provider: str, name: str) -> PricedModel | None:
        """Return the model of a provider with this name; None if it has none."""
        name = name.lower()
        if len(name) > MOST_NAME:
            return None
        for spelling in dict.fromkeys((name, _with_dashed_date(name))):
            for seller in (provider, *self.fallbacks.get(provider, ())):
                for model in self.providers.get(seller, ()):
                    if _fits(spelling, model.match):
                        return model
        return None

    def prices_of(
        self, base_url: str, model: str, moment: datetime, context: Mapping[str, str] | None = None
    ) -> Prices | None:
        """Return the prices of a model at the server of `base_url`; None if they are unknown.

        `context` has what the request asks for, or got: `service_tier` and `speed`.
        """
        provider = provider_at(base_url)
        if provider == "google":
            model = model.rpartition("models/")[2]
        priced_model = None if provider is None else self.model_of(provider, model)
        prices = priced_model and priced_model.prices_at(moment.astimezone(UTC), context or {})
        return prices and replace(prices, source=self.label)


def provider_at(base_url: str) -> str | None:
    """Return the provider of a base URL; None for all others."""
    try:
        host = (urlsplit(base_url).hostname or "").lower()
    except ValueError:
        return None
    if host.endswith("-aiplatform.googleapis.com"):  # a region of Vertex
        return "google"
    return _HOSTS.get(host)


def _prices(values: Mapping[str, Any], starts: date | None) -> Prices | None:
    """Return an entry's prices; None without input and output, or if it charges by other units."""
    priced = {field: values[key] for key, field in _FIELDS.items() if key in values}
    if "input" not in priced or "output" not in priced:
        return None
    if not all(
        key in _FIELDS
        or key in _MEDIA
        or key == _PER_REQUEST
        or _OF_MEDIA.fullmatch(key)
        or BY_USE.fullmatch(key)
        for key in values
    ):
        return None
    above = sorted({start for _, tiers in priced.values() for start, _ in tiers})
    return Prices(
        **{field: base for field, (base, _) in priced.items()},
        tiers=tuple(
            PriceTier(
                start,
                **{
                    field: next((p for at, p in reversed(tiers) if start >= at), base)
                    for field, (base, tiers) in priced.items()
                },
            )
            for start in above
        ),
        per_request=values[_PER_REQUEST][0] / 1000 if _PER_REQUEST in values else None,
        starts=starts,
        apart=frozenset(
            medium
            for key, medium in _MEDIA.items()
            if key in values
            and values[key] != priced["output" if medium.startswith("output") else "input"]
        ),
    )


# Matching


def _fits(name: str, clause: Mapping[str, Any]) -> bool:
    """Return whether a clause fits a name in lower case."""
    ((kind, value),) = clause.items()
    match kind:
        case "equals":
            return name == value.lower()
        case "starts_with":
            return name.startswith(value.lower())
        case "ends_with":
            return name.endswith(value.lower())
        case "contains":
            return value.lower() in name
        case "regex":
            try:
                return re.search(value, name) is not None
            except re.error:  # not compiled on reading, which would take most of its time
                return False
        case "or":
            return any(_fits(name, inner_clause) for inner_clause in value)
        case _:
            return all(_fits(name, inner_clause) for inner_clause in value)


_COMPACT_DATE = re.compile(r"-(20\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=-|:|$)")


def _with_dashed_date(name: str) -> str:
    """Return a name with `-2025-08-07` for `-20250807`."""
    return _COMPACT_DATE.sub(r"-\1-\2-\3", name)
