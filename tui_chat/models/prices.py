"""Prices of models: what providers ask for a million tokens.

The table that ships with the program is in the form of genai-prices
(https://github.com/pydantic/genai-prices, MIT). The package itself brings a second HTTP library
(5 MB, and 0.2 s to import), so its data is kept in `prices.json`, which
`docs/dev/refresh_prices.py` writes: providers, their models with the clauses that names are matched
by, and prices by day.

1. A provider is known by the host of the base URL, and only by those in `PROVIDERS`.
2. The first model of a provider whose clause fits a name counts, so that `gpt-5-nano` is not
   `gpt-5`. A model without prices hides those that match after it.
3. What is not known stays unknown (None): a price, that of a service tier or of an hour of the day,
   a model that is charged by something that is not counted here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from pkgutil import get_data
from typing import Annotated, Any, cast
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
        return replace(self, **{name: getattr(tier, name) for name in _FIELDS.values()}, tiers=())

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


# --- the table ---------------------------------------------------------------------------

_MOST_NAME = 200
_BY_USE = re.compile(r"\w+_searches_kcount|input_\w*document_kpages")
"""Prices of tools and services that a request need not use."""
_OF_MEDIA = re.compile(r"cache_(?:audio|image|video)_\w+")
_PER_REQUEST = "requests_kcount"
_FIELDS = {
    "input_mtok": "input",
    "output_mtok": "output",
    "cache_read_mtok": "cached",
    "cache_write_mtok": "cache_write",
    "cache_write_1h_mtok": "cache_write_1h",
    "output_reasoning_mtok": "reasoning",
}
"""The names in genai-prices of the prices of `Prices` that may have tiers."""
_MEDIA = {
    f"{direction}_{medium}_mtok": f"{prefix}{medium}"
    for direction, prefix in (("input", ""), ("output", "output "))
    for medium in ("audio", "image", "video")
}


class PriceTable:
    """Prices of providers, of one day."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        """`data` is the JSON of the table."""
        self.providers: Mapping[str, Any] = {each["id"]: each for each in data["providers"]}
        """The providers and their models, by their ids."""
        self.label = f"{data['source']}, {data['date']}"
        """Whose prices they are, and of which day."""

    def model_of(self, provider: str, name: str) -> Mapping[str, Any] | None:
        """Return the model of a provider with this name; None if it has none."""
        if len(name) > _MOST_NAME:
            return None
        others = self.providers.get(provider, {}).get("fallback_model_providers", ())
        dashed = _COMPACT_DATE.sub(r"-\1-\2-\3", name.lower())
        for spelling in dict.fromkeys((name.lower(), dashed)):
            for seller in (provider, *others):
                for model in self.providers.get(seller, {}).get("models", ()):
                    if _fits(spelling, model["match"]):
                        return model
        return None

    def prices_of(
        self, base_url: str, model: str, moment: datetime, context: Mapping[str, str] | None = None
    ) -> Prices | None:
        """Return the prices of a model at the server of `base_url`; None if they are unknown.

        `context` has what the request asks for, or got: `service_tier` and `speed`.
        """
        provider = provider_at(base_url)
        name = model.rpartition("models/")[2] if provider == "google" else model
        priced_model = None if provider is None else self.model_of(provider, name)
        if priced_model is None or not STANDARD_TIERS.issuperset((context or {}).values()):
            return None
        prices = _prices_at(priced_model.get("prices", ()), moment.astimezone(UTC).date())
        return prices and replace(prices, source=self.label)


_COMPACT_DATE = re.compile(r"-(20\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=-|:|$)")
"""`-20250807` in a name, for which the table may have `-2025-08-07`."""


@cache
def shipped_prices() -> PriceTable:
    """Return the table that ships with the program. The first call takes 20 ms."""
    return PriceTable(json.loads(get_data("tui_chat.models", "prices.json") or b""))


def _prices_at(periods: Any, day: date) -> Prices | None:
    """Return the prices of a model on a day, from those that hold always or from a day on. As in
    genai-prices the last ones that hold count, or else the first. None if they depend on the hour.
    """
    if isinstance(periods, dict):
        periods = [{"prices": periods}]
    limits = [each["constraint"] for each in periods if "constraint" in each]
    if not periods or not all("start_date" in limit for limit in limits):
        return None
    chosen, starts = periods[0], None
    for period in periods:
        first = date.fromisoformat(period.get("constraint", {}).get("start_date", "0001-01-01"))
        if first <= day:
            chosen = period
    if "constraint" in chosen:
        starts = date.fromisoformat(chosen["constraint"]["start_date"])
    return _prices(chosen["prices"], starts)


def _prices(values: Mapping[str, Any], starts: date | None) -> Prices | None:
    """Return an entry's prices; None without input and output, or if it charges by other units."""
    counted = {*_FIELDS, *_MEDIA, _PER_REQUEST}
    if not values.keys() >= {"input_mtok", "output_mtok"} or not all(
        key in counted or _OF_MEDIA.fullmatch(key) or _BY_USE.fullmatch(key) for key in values
    ):
        return None
    priced = {field: values[key] for key, field in _FIELDS.items() if key in values}
    above = sorted({tier["start"] for price in priced.values() for tier in _tiers(price)})
    media = {key: medium for key, medium in _MEDIA.items() if key in values}
    base: dict[str, Any] = {field: _dollars(price) for field, price in priced.items()}
    return Prices(
        **base,
        tiers=tuple(
            PriceTier(start, **{field: _dollars(price, start) for field, price in priced.items()})
            for start in above
        ),
        per_request=_dollars(values[_PER_REQUEST]) / 1000 if _PER_REQUEST in values else None,
        starts=starts,
        apart=frozenset(
            medium for key, medium in media.items() if values[key] != priced[key.partition("_")[0]]
        ),
    )


def _dollars(price: Any, start: int = 0) -> Decimal:
    """Return a price of the table for a request with more tokens of input than `start`."""
    tiers = sorted(_tiers(price), key=lambda tier: tier["start"])
    prices = [tier["price"] for tier in tiers if start >= tier["start"]]
    return Decimal(str(prices[-1] if prices else price["base"] if tiers else price))


def _tiers(price: Any) -> list[dict[str, Any]]:
    return cast("dict[str, Any]", price)["tiers"] if isinstance(price, dict) else []


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
            return re.search(value, name) is not None
        case "or":
            return any(_fits(name, inner) for inner in value)
        case _:
            return all(_fits(name, inner) for inner in value)
