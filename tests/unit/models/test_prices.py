"""Prices and usage."""

from __future__ import annotations

import warnings
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.tables import each_row
from tui_chat.models.prices import (
    PROVIDERS,
    Prices,
    PriceTable,
    PriceTier,
    provider_at,
    shipped_prices,
)
from tui_chat.models.reply import (
    ReasoningDelta,
    Started,
    TextDelta,
    ToolCallDelta,
    text_bytes,
)
from tui_chat.models.usage import Usage, cost_of

OURS = shipped_prices()
DAY = datetime(2026, 11, 23, 12, tzinfo=UTC)
OPENAI = "https://api.openai.com/v1"
ANTHROPIC = "https://api.anthropic.com"
GEMINI = "https://generativelanguage.googleapis.com"


def table(*models: dict[str, Any], provider: str = "openai") -> PriceTable:
    body = {
        "date": "2026-11-23",
        "source": "test",
        "providers": [{"id": provider, "models": [{"id": "m", **each} for each in models]}],
    }
    return PriceTable(body)


def cost(url: str, model: str, usage: Usage, at: datetime = DAY, **context: str) -> Decimal | None:
    return cost_of(usage, OURS.prices_of(url, model, at, context))


# Which model, which day, which tier


@each_row(
    ("base_url", "provider"),
    [
        (OPENAI, "openai"),
        ("https://API.openai.com./v1", None),
        ("https://api.openai.com:443/v1", "openai"),
        ("https://api.openai.com.example.org/v1", None),
        ("https://example.org/api.openai.com", None),
        ("https://my.openai.azure.com/openai/v1", None),
        ("http://127.0.0.1:8080/v1", None),
        ("https://europe-west1-aiplatform.googleapis.com/v1", "google"),
        ("https://openrouter.ai/api/v1", None),
        ("https://[", None),
        ("", None),
    ],
)
def test_a_provider_is_known_by_its_host(base_url: str, provider: str | None):
    assert provider_at(base_url) == provider


def test_a_name_is_matched_by_clauses_and_not_by_its_beginning():
    small, large = (OURS.prices_of(OPENAI, name, DAY) for name in ("gpt-5-nano", "gpt-5"))
    assert small is not None
    assert large is not None
    assert (small.input, large.input) == (Decimal("0.05"), Decimal("1.25"))
    assert OURS.prices_of(OPENAI, "gpt-5-2025-08-07", DAY) == large
    assert OURS.prices_of(OPENAI, "GPT-5-20250807", DAY) == large
    assert OURS.prices_of(OPENAI, "gpt-5-of-somebody-else", DAY) is None
    assert OURS.prices_of("https://proxy.example.org/v1", "gpt-5", DAY) is None
    assert OURS.prices_of(OPENAI, "g" * 10_000, DAY) is None


def test_a_long_request_is_priced_as_a_whole():
    assert cost(GEMINI, "models/gemini-2.5-pro", Usage(300_000, 1_000)) == Decimal("0.765")
    assert cost(GEMINI, "gemini-2.5-pro", Usage(200_000, 1_000)) == Decimal("0.26")


def test_the_prices_of_a_service_tier_are_unknown():
    standard = cost(OPENAI, "gpt-5", Usage(1000, 1000))
    assert standard == Decimal("0.01125")
    assert cost(OPENAI, "gpt-5", Usage(1000, 1000), service_tier="default") == standard
    assert cost(OPENAI, "gpt-5", Usage(1000, 1000), service_tier="flex") is None
    assert cost(ANTHROPIC, "claude-opus-5", Usage(1000, 1000), service_tier="priority") is None


def test_the_last_prices_that_hold_count():
    prices = [
        {"prices": {"input_mtok": 1, "output_mtok": 1}},
        {"constraint": {"start_date": "2026-03-01"}, "prices": {"input_mtok": 2, "output_mtok": 2}},
    ]
    t = table({"match": {"equals": "a"}, "prices": prices})
    found = [
        t.prices_of(OPENAI, "a", datetime.fromisoformat(at))
        for at in ("2026-02-28T23:59:59+00:00", "2026-03-01T00:00:00+00:00")
    ]
    assert [each and each.input for each in found] == [1, 2]
    night = [
        {"prices": {"input_mtok": 1, "output_mtok": 1}},
        {
            "constraint": {"start_time": "22:00:00Z", "end_time": "04:00:00Z"},
            "prices": {"input_mtok": 3, "output_mtok": 3},
        },
    ]
    t = table({"match": {"equals": "a"}, "prices": night})
    assert t.prices_of(OPENAI, "a", datetime.fromisoformat("2026-03-01T00:00:00+00:00")) is None


@each_row(
    "prices",
    [
        {},
        [],
        {"input_mtok": 1},
        {"output_mtok": 1},
        {"input_mtok": 1, "output_mtok": 1, "output_citation_mtok": 1},
        {"input_mtok": 1, "output_mtok": 1, "input_mchars": 1},
    ],
)
def test_prices_that_are_not_known_whole_are_unknown(prices: Any):
    t = table({"match": {"equals": "a"}, "prices": prices})
    assert t.prices_of(OPENAI, "a", DAY) is None


def test_a_model_without_prices_hides_those_that_match_after_it():
    t = table(
        {"match": {"equals": "a-image"}},
        {"match": {"starts_with": "a"}, "prices": {"input_mtok": 1, "output_mtok": 1}},
    )
    assert t.prices_of(OPENAI, "a-image", DAY) is None
    assert t.prices_of(OPENAI, "a-text", DAY) is not None


def test_media_are_apart_where_their_price_differs():
    prices = {"input_mtok": 1, "output_mtok": 2, "input_audio_mtok": 3, "output_image_mtok": 2}
    t = table({"match": {"equals": "a"}, "prices": prices})
    found = t.prices_of(OPENAI, "a", DAY)
    assert found is not None
    assert found.apart == {"audio"}


# The oracle


def model_names(match: dict[str, Any]) -> list[str]:
    """Names that a clause fits, as far as that is easy to say."""
    ((kind, value),) = match.items()
    if kind == "or":
        return [name for each in value for name in model_names(each)]
    return [value] if kind in ("equals", "starts_with", "contains") else []


NAMES = [
    (f"https://{hosts[0]}/v1", name)
    for provider, hosts in PROVIDERS.items()
    for model in OURS.providers.get(provider, {}).get("models", ())
    for name in (model["id"], *model_names(model["match"]))
]
COUNT = st.integers(0, 400_000)


@given(
    place=st.sampled_from(NAMES),
    counts=st.tuples(COUNT, COUNT, COUNT, COUNT, COUNT, COUNT),
    at=st.integers(1_735_689_600, 1_811_808_000),
    tier=st.sampled_from(["", "default", "flex", "priority"]),
)
@settings(max_examples=100)
def test_a_cost_is_that_of_genai_prices(
    place: tuple[str, str], counts: tuple[int, ...], at: int, tier: str
):
    genai = pytest.importorskip("genai_prices")
    url, name = place
    fresh, cached, written, hour, said, thought = counts
    moment = datetime.fromtimestamp(at, UTC)
    prices = OURS.prices_of(url, name, moment, {"service_tier": tier} if tier else {})
    if prices is None:
        return
    if prices.cache_write is None:
        written = 0
    if prices.cache_write_1h is None:
        hour = 0
    usage = Usage(
        fresh + cached + written + hour,
        said + thought,
        cached,
        written + hour,
        thought,
        cache_write_1h=hour,
    )
    asked = genai.Usage(
        input_tokens=usage.input,
        output_tokens=usage.output,
        cache_read_tokens=cached,
        cache_write_tokens=written + hour,
        cache_write_1h_tokens=hour,
        output_reasoning_tokens=thought,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = genai.calc_price(
            asked,
            name,
            provider_api_url=url,
            genai_request_timestamp=moment,
            price_context={"service_tier": tier} if tier else None,
        )
    assert cost_of(usage, prices) == theirs.total_price


def test_the_oracle_finds_the_same_models():
    snapshot = pytest.importorskip("genai_prices.data_snapshot").get_snapshot()
    for url, name in NAMES:
        ours = OURS.model_of(provider_at(url) or "", name)
        try:
            _, theirs = snapshot.find_provider_model(name, None, None, url)
        except LookupError:
            theirs = None
        assert (ours and ours["id"]) == (theirs and theirs.id), name


# --- Pace and cost ------------------------------------------------------------------------


D = Decimal
PRICES = Prices(D(2), D(10), cached=D("0.5"), cache_write=D(3))
HOURLY = replace(PRICES, cache_write_1h=D(4))
TIERED = replace(PRICES, tiers=(PriceTier(100, D(4), D(20)), PriceTier(200, D(8), D(40), D(1))))


@each_row(
    ("usage", "prices", "millionths"),
    [
        (Usage(1000, 100), PRICES, 3000),
        (Usage(1000, 100, cached=600), PRICES, 400 * 2 + 300 + 1000),
        (Usage(1000, 100, cache_write=500), PRICES, 500 * 2 + 500 * 3 + 1000),
        (Usage(1000, 100, 300, 500), PRICES, 200 * 2 + 150 + 500 * 3 + 1000),
        (Usage(1000, 100, 0, 500, cache_write_1h=200), HOURLY, 1000 + 300 * 3 + 200 * 4 + 1000),
        (Usage(1000, 100, 0, 500, cache_write_1h=200), PRICES, None),
        (Usage(1000, 100, reasoning=80), PRICES, 3000),
        (Usage(1000, 100, reasoning=80), replace(PRICES, reasoning=D(5)), 2000 + 200 + 400),
        (Usage(1000, 0, cached=1000), Prices(D(2), D(10)), 2000),
        (Usage(1000, 100), replace(PRICES, per_request=D("0.005")), 8000),
        (Usage(100, 10), TIERED, 300),
        (Usage(101, 10), TIERED, 404 + 200),
        (Usage(201, 10, cached=101), TIERED, 800 + 101 + 400),
        (Usage(0, 0), PRICES, 0),
        (Usage(10, 0, cached=50), PRICES, None),
        (Usage(10, 0, cached=6, cache_write=6), PRICES, None),
        (Usage(10, 5, reasoning=6), replace(PRICES, reasoning=D(5)), None),
        (Usage(1000, None), PRICES, None),
        (Usage(None, 10), PRICES, None),
        (Usage(1000, 100), Prices(D(2)), None),
        (Usage(1000, 100), None, None),
    ],
)
def test_the_cost_of_a_reply(usage: Usage, prices: Prices | None, millionths: int | None):
    assert cost_of(usage, prices) == (None if millionths is None else D(millionths) / 1_000_000)


def test_media_that_are_priced_apart_have_no_cost():
    prices = replace(PRICES, apart=frozenset({"audio", "output image"}))
    assert cost_of(Usage(1, 1), prices, {"image"}) is not None
    assert cost_of(Usage(1, 1), prices, {"audio"}) is None
    assert cost_of(Usage(1, 1), prices, {"output image"}) is None


def test_text_reasoning_and_arguments_count_their_bytes():
    assert text_bytes(TextDelta("abc")) == 3
    assert text_bytes(ReasoningDelta(0, "汉字")) == 6
    assert text_bytes(ToolCallDelta(0, arguments="{}")) == 2
    assert text_bytes(TextDelta("\ud800")) == 1
    assert text_bytes(Started("m")) == 0
