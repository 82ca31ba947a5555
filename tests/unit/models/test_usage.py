"""Pace and cost."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from tests.support.tables import each_row
from tui_chat.models.prices import Prices, PriceTier
from tui_chat.models.reply import (
    ReasoningDelta,
    Started,
    TextDelta,
    ToolCallDelta,
    text_bytes,
)
from tui_chat.models.usage import Usage, cost_of

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
