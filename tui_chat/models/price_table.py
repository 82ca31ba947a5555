"""Prices of models in the form of genai-prices (https://github.com/pydantic/genai-prices, MIT).

The package itself brings a second HTTP library (5 MB, and 0.2 s to import), so its data is kept in
`prices.json`, which `docs/dev/refresh_prices.py` writes: providers, their models with the clauses
that names are matched by, and prices by day.

1. A provider is known by the host of the base URL, and only by those in `PROVIDERS`.
2. The first model of a provider whose clause fits a name counts, so that `gpt-5-nano` is not
   `gpt-5`. A model without prices hides those that match after it.
3. What is not known stays unknown (None): a price, that of a service tier or of an hour of the day,
   a model that is charged by something that is not counted here.

Loaded when a price is first needed, since it imports pydantic.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from pkgutil import get_data
from typing import Annotated, Any, cast

from pydantic import BaseModel, ConfigDict, PlainSerializer, model_validator

from tui_chat.models.prices import STANDARD_TIERS, Prices, PriceTier, provider_at

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


_Dollars = Annotated[Decimal, PlainSerializer(float)]


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True)


class _Tier(_Data):
    """A price of a whole request with more than `start` tokens of input."""

    start: int
    price: _Dollars


class _TieredPrice(_Data):
    base: _Dollars
    tiers: tuple[_Tier, ...]


_Values = dict[str, _Dollars | _TieredPrice | None]


class _Constraint(_Data):
    """When prices hold: from a day on, or at hours of the day, which are not read."""

    start_date: date | None = None


class _Period(_Data):
    """Prices, and when they hold."""

    prices: _Values = {}
    constraint: _Constraint | None = None

    def holds(self, moment: datetime) -> bool:
        """Return True if the prices hold at a time in UTC."""
        start = self.constraint and self.constraint.start_date
        return start is None or moment.date() >= start


class PricedModel(_Data):
    """A model of a table."""

    id: str
    match: dict[str, Any]
    prices: tuple[_Period, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _with_periods(cls, value: Any) -> Any:
        """Return a model whose prices hold always as one with a single period."""
        fields = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
        if isinstance(fields.get("prices"), dict):
            return {**fields, "prices": [{"prices": fields["prices"]}]}
        return cast("Any", value)

    def prices_at(self, moment: datetime, context: Mapping[str, str]) -> Prices | None:
        """Return the prices at a time; None if they are unknown: those of a service tier are, and
        those that depend on the hour.

        As in genai-prices the last period that holds counts, or else the first.
        """
        limits = [each.constraint for each in self.prices if each.constraint is not None]
        is_hourly = any(limit.start_date is None for limit in limits)
        if not self.prices or is_hourly or not STANDARD_TIERS.issuperset(context.values()):
            return None
        period = next((each for each in reversed(self.prices) if each.holds(moment)), None)
        period = period or self.prices[0]
        starts = None if period.constraint is None else period.constraint.start_date
        return _prices(period.prices, starts)


class _Provider(_Data):
    id: str
    models: tuple[PricedModel, ...]
    fallback_model_providers: tuple[str, ...] | None = None


class PriceTable(_Data):
    """Prices of providers, of one day."""

    date: str
    source: str
    providers: tuple[_Provider, ...]

    @property
    def label(self) -> str:
        """Whose prices they are, and of which day."""
        return f"{self.source}, {self.date}"

    def model_of(self, provider: str, name: str) -> PricedModel | None:
        """Return the model of a provider with this name; None if it has none."""
        if len(name) > _MOST_NAME:
            return None
        sellers = {each.id: each for each in self.providers}
        others = provider in sellers and sellers[provider].fallback_model_providers
        for spelling in dict.fromkeys((name.lower(), _with_dashed_date(name.lower()))):
            for seller in (provider, *(others or ())):
                for model in sellers[seller].models if seller in sellers else ():
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


@cache
def shipped_prices() -> PriceTable:
    """Return the table that ships with the program."""
    return PriceTable.model_validate_json(get_data("tui_chat.models", "prices.json") or b"")


def _prices(values: _Values, starts: date | None) -> Prices | None:
    """Return an entry's prices; None without input and output, or if it charges by other units."""
    tiered = {
        key: price if isinstance(price, _TieredPrice) else _TieredPrice(base=price, tiers=())
        for key, price in values.items()
        if price is not None
    }
    priced = {field: tiered[key] for key, field in _FIELDS.items() if key in tiered}
    base: dict[str, Any] = {field: price.base for field, price in priced.items()}
    counted = {*_FIELDS, *_MEDIA, _PER_REQUEST}
    if not priced.keys() >= {"input", "output"} or not all(
        key in counted or _OF_MEDIA.fullmatch(key) or _BY_USE.fullmatch(key) for key in tiered
    ):
        return None
    above = sorted({tier.start for price in priced.values() for tier in price.tiers})
    return Prices(
        **base,
        tiers=tuple(
            PriceTier(start, **{field: _above(price, start) for field, price in priced.items()})
            for start in above
        ),
        per_request=tiered[_PER_REQUEST].base / 1000 if _PER_REQUEST in tiered else None,
        starts=starts,
        apart=frozenset(
            medium
            for key, medium in _MEDIA.items()
            if key in tiered
            and tiered[key] != priced["output" if medium.startswith("output") else "input"]
        ),
    )


def _above(price: _TieredPrice, start: int) -> Decimal:
    """Return the price of a request with more tokens of input than `start`."""
    tiers = sorted(price.tiers, key=lambda tier: tier.start, reverse=True)
    return next((tier.price for tier in tiers if start >= tier.start), price.base)


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


_COMPACT_DATE = re.compile(r"-(20\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=-|:|$)")


def _with_dashed_date(name: str) -> str:
    """Return a name with `-2025-08-07` for `-20250807`."""
    return _COMPACT_DATE.sub(r"-\1-\2-\3", name)
