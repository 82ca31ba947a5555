"""The file of prices: reading it, and writing it from the data of genai-prices.

It is a stranger's file: it has limits, and a fault is an InputError that names the place. For its
form and meaning see `models.prices`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import Any, cast

from tui_chat.errors import InputError
from tui_chat.models.prices import (
    BY_USE,
    MOST_NAME,
    PROVIDERS,
    PricedModel,
    PricePeriod,
    PriceTable,
    PriceVariant,
)

MOST_BYTES = 4 * 2**20
"""Maximum bytes of a table; the whole data of genai-prices has 0.4 MB."""
_MOST_MODELS = 5_000
_MOST_LISTED = 200
"""Alternatives of a clause, prices of a model, tiers of a price."""
_MOST_DOLLARS = Decimal(1_000_000)
_MOST_TOKENS = 10**12
_CONTEXT = ("service_tier", "speed")
"""Parameters with which a request has other prices."""
_REGEX = re.compile(
    r"\^(?:[\w/@:-]|\\[d.-]|\[[\w@-]+\]|(?<!\))\{\d{1,2}\}|\(\?[:!=]|\)|\||\.\*|\$){1,120}"
)
"""The syntax that patterns may use: no repeated group, and nothing of any length but `.*`."""


def read_price_table(raw: bytes, name: str) -> PriceTable:
    """Return a table in our form: `{"date": ..., "source": ..., "providers": [...]}`.

    Raises InputError, naming the place in `name`.
    """
    table = _object(load_numbers(raw, name), name)
    day, source = table.get("date"), table.get("source")
    if not isinstance(day, str) or re.fullmatch(r"\d{4}-\d\d-\d\d", day) is None:
        raise InputError(f"{name}: “date” must be YYYY-MM-DD.")
    if not isinstance(source, str) or not source.isprintable() or not 0 < len(source) <= 80:
        raise InputError(f"{name}: “source” must be a short text.")
    return read_providers(table.get("providers"), name, day, source)


def load_numbers(raw: bytes, name: str) -> object:
    """Parse JSON whose fractions become `Decimal`. Raises InputError."""
    if len(raw) > MOST_BYTES:
        raise InputError(f"{name} is larger than {MOST_BYTES:,} bytes.")
    try:
        return json.loads(raw, parse_float=_fraction, parse_constant=_fraction)
    except (ValueError, RecursionError, InvalidOperation):
        raise InputError(f"{name} is not JSON with usual numbers.") from None


def _fraction(text: str) -> Decimal:
    number = Decimal(text)
    if len(text) > 30 or not number.is_finite() or abs(number.adjusted()) > 30:
        raise ValueError("not a usual number")
    return number


def read_providers(value: object, name: str, day: str, source: str) -> PriceTable:
    """Return the table of a list of providers in the form of genai-prices; those that are not in
    `PROVIDERS` are left out. Raises InputError.
    """
    providers: dict[str, tuple[PricedModel, ...]] = {}
    fallbacks: dict[str, tuple[str, ...]] = {}
    for number, item in enumerate(_array(value, f"{name}: “providers”", _MOST_MODELS)):
        provider = _object(item, f"{name}: provider {number}")
        id = provider.get("id")
        if not isinstance(id, str) or id not in PROVIDERS:
            continue
        if id in providers:
            raise InputError(f"{name}: “{id}” is there twice.")
        models = _array(provider.get("models"), f"{name}: the models of “{id}”", _MOST_MODELS)
        providers[id] = tuple(_model(model, f"{name}: {id}") for model in models)
        others = _array(provider.get("fallback_model_providers") or [], name, 20)
        fallbacks[id] = tuple(str(other) for other in others if other in PROVIDERS)
    if not any(providers.values()):
        raise InputError(f"{name} has no prices of known providers.")
    return PriceTable(day, source, providers, fallbacks)


def _model(value: object, place: str) -> PricedModel:
    model = _object(value, f"{place}: a model")
    name = model.get("id")
    if not isinstance(name, str) or not name.isprintable() or not 0 < len(name) <= MOST_NAME:
        raise InputError(f"{place}: a model's “id” must be a name.")
    place = f"{place}: {name}"
    prices: Any = model.get("prices", [])
    conditions: Sequence[Any] = (
        [{"prices": prices}] if isinstance(prices, dict) else _array(prices, place, _MOST_LISTED)
    )
    variants: list[PriceVariant] = []
    for item in _array(model.get("price_variants") or [], place, _MOST_LISTED):
        when = _object(_object(item, place).get("when"), place)
        if not when or not all(isinstance(value, str) for value in when.values()):
            raise InputError(f"{place}: the condition of a price cannot be read.")
        if when.keys() <= set(_CONTEXT):
            variants.append(PriceVariant(when, _period(item, place)))
    return PricedModel(
        name,
        _clause(model.get("match"), place),
        tuple(_period(condition, place) for condition in conditions),
        tuple(variants),
    )


def _period(value: object, place: str) -> PricePeriod:
    entry = _object(value, place)
    constraint = _object(entry.get("constraint") or {}, place)
    prices = {
        key: _price(price, f"{place}: {key}")
        for key, price in _object(entry.get("prices") or {}, place).items()
        if price is not None
    }
    try:
        if constraint.keys() == {"start_date"}:
            return PricePeriod(prices, date.fromisoformat(constraint["start_date"]))
        if constraint.keys() == {"start_time", "end_time"}:
            hours = (_hour(constraint["start_time"]), _hour(constraint["end_time"]))
            return PricePeriod(prices, hours=hours)
    except (TypeError, ValueError):
        constraint = {"": ""}
    if constraint:
        raise InputError(f"{place}: the time of a price cannot be read.")
    return PricePeriod(prices)


def _hour(text: str) -> time:
    """Return a time of day in UTC."""
    hour = time.fromisoformat(text)
    day = datetime.combine(date(2000, 1, 2), hour if hour.tzinfo else hour.replace(tzinfo=UTC))
    return day.astimezone(UTC).timetz()


def _price(value: object, place: str) -> tuple[Decimal, tuple[tuple[int, Decimal], ...]]:
    """Return a price and its tiers: tokens of input that a request must exceed, and price."""
    if not isinstance(value, dict):
        return _dollars(value, place), ()
    table = _object(cast("object", value), place)
    tiers: list[tuple[int, Decimal]] = []
    for item in _array(table.get("tiers"), place, _MOST_LISTED):
        tier = _object(item, place)
        start = tier.get("start")
        if type(start) is not int or not 0 <= start <= _MOST_TOKENS:
            raise InputError(f"{place}: a tier must start at a number of tokens.")
        tiers.append((start, _dollars(tier.get("price"), place)))
    return _dollars(table.get("base"), place), tuple(sorted(tiers, key=lambda tier: tier[0]))


def _dollars(value: object, place: str) -> Decimal:
    if (type(value) is int or isinstance(value, Decimal)) and 0 <= value <= _MOST_DOLLARS:
        return Decimal(value)
    raise InputError(f"{place}: a price must be a number from 0 to {_MOST_DOLLARS:,}.")


def _clause(value: object, place: str, depth: int = 0) -> Mapping[str, Any]:
    clause = _object(value, place)
    if len(clause) == 1 and depth < 5:
        ((kind, operand),) = clause.items()
        if kind in ("or", "and"):
            return {
                kind: tuple(
                    _clause(part, place, depth + 1) for part in _array(operand, place, _MOST_LISTED)
                )
            }
        is_text = isinstance(operand, str) and 0 < len(operand) <= MOST_NAME
        if is_text and kind in ("equals", "starts_with", "ends_with", "contains"):
            return clause
        if is_text and kind == "regex" and _is_bounded(operand):
            return clause
    raise InputError(f"{place}: which names it matches cannot be read.")


def _object(value: object, place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"{place} must be an object.")
    return cast("dict[str, Any]", value)


def _array(value: object, place: str, most: int) -> Sequence[Any]:
    if not isinstance(value, list) or len(cast("list[Any]", value)) > most:
        raise InputError(f"{place} must be a list of at most {most:,}.")
    return cast("list[Any]", value)


def price_table_text(data: object, day: str, source: str, place: str = "") -> str:
    """Return the file of a table: the data of genai-prices (a list of providers) without what this
    module does not read, one model a line. A model keeps its place, also without prices: others
    match after it. Raises InputError, naming `place`, if the data cannot be read.
    """
    read_providers(data, place or source, day, source)
    lines = [
        "{",
        f'"date": {json.dumps(day)},',
        f'"source": {json.dumps(source)},',
        '"providers": [',
    ]
    kept = [
        provider for provider in cast("list[dict[str, Any]]", data) if provider["id"] in PROVIDERS
    ]
    for number, provider in enumerate(kept, 1):
        others = provider.get("fallback_model_providers")
        head = {"id": provider["id"]} | ({"fallback_model_providers": others} if others else {})
        rows = [_packed(_kept(model)) for model in provider["models"]]
        lines += [_packed(head)[:-1] + ', "models": [', ",\n".join(rows)]
        lines.append("]}," if number < len(kept) else "]}")
    text = "\n".join([*lines, "]", "}", ""])
    read_price_table(text.encode(), place or source)
    return text


def _kept(model: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is kept of a model."""
    entry: dict[str, Any] = {"id": model["id"], "match": model["match"]}
    prices: Any = model.get("prices") or {}
    has_periods = isinstance(prices, list)
    periods = cast("list[dict[str, Any]]", prices if has_periods else [{"prices": prices}])
    if not any("output_mtok" in (period.get("prices") or ()) for period in periods):
        return entry
    if has_periods:
        entry["prices"] = [
            {
                **({"constraint": period["constraint"]} if period.get("constraint") else {}),
                "prices": _kept_prices(period.get("prices")),
            }
            for period in periods
        ]
    else:
        entry["prices"] = _kept_prices(prices)
    variants = [
        {
            "when": variant["when"],
            **({"constraint": variant["constraint"]} if variant.get("constraint") else {}),
            "prices": _kept_prices(variant.get("prices")),
        }
        for variant in model.get("price_variants") or ()
        if variant["when"].keys() <= set(_CONTEXT) and variant.get("prices")
    ]
    return {**entry, "price_variants": variants} if variants else entry


def _kept_prices(prices: Mapping[str, Any] | None) -> dict[str, Any]:
    return {
        key: price
        for key, price in (prices or {}).items()
        if price is not None and not BY_USE.fullmatch(key)
    }


def _packed(value: object) -> str:
    """Return compact JSON with the digits of each number."""
    if isinstance(value, dict):
        items = cast("dict[str, object]", value).items()
        return "{" + ",".join(f"{json.dumps(key)}: {_packed(item)}" for key, item in items) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_packed, cast("list[object]", value))) + "]"
    return f"{value.normalize():f}" if isinstance(value, Decimal) else json.dumps(value)


def _is_bounded(pattern: str) -> bool:
    """Return whether a pattern is one that no name can make slow."""
    known = _REGEX.fullmatch(pattern) is not None
    return known and pattern.count(".*") <= 1 and pattern.count("|") <= 8
