"""Pace and cost."""

from __future__ import annotations

import pytest

from tui_chat.models.model_facts import Prices
from tui_chat.models.reply import ReasoningDelta, Started, TextDelta, ToolCallDelta, text_bytes
from tui_chat.models.usage import Timing, Usage, cost_of

PRICES = Prices(input=2, output=10, cached=0.5, cache_write=3)


@pytest.mark.parametrize(
    ("usage", "prices", "dollars"),
    [
        (Usage(1000, 100), PRICES, 0.003),
        (Usage(1000, 100, cached=600), PRICES, (400 * 2 + 600 * 0.5 + 1000) / 1e6),
        (Usage(1000, 100, cache_write=500), PRICES, (500 * 2 + 500 * 3 + 1000) / 1e6),
        (Usage(1000, 0, cached=1000), Prices(input=2, output=10), 0.002),
        (Usage(10, 0, cached=50), PRICES, 50 * 0.5 / 1e6),  # a provider that says odd things
        (Usage(1000, None), PRICES, None),
        (Usage(1000, 100), Prices(input=2), None),
        (Usage(1000, 100), None, None),
    ],
)
def test_what_a_reply_cost(usage: Usage, prices: Prices | None, dollars: float | None):
    assert cost_of(usage, prices) == (None if dollars is None else pytest.approx(dollars))


@pytest.mark.parametrize(
    ("timing", "pace"),
    [
        (Timing(3.0, 1.0, 100), 50.0),
        (Timing(2.0, None, 100), 50.0),
        (Timing(1.0, 1.0, 100), None),
        (Timing(3.0, 1.0, None), None),
        (Timing(None, None, 100), None),
    ],
)
def test_the_pace_counts_from_the_first_word(timing: Timing, pace: float | None):
    assert timing.per_second == pace


def test_text_thoughts_and_arguments_weigh_their_bytes():
    assert text_bytes(TextDelta("abc")) == 3
    assert text_bytes(ReasoningDelta(0, "汉字")) == 6
    assert text_bytes(ToolCallDelta(0, arguments="{}")) == 2
    assert text_bytes(TextDelta("\ud800")) == 1
    assert text_bytes(Started("m")) == 0
