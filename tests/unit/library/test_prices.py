"""Which prices count: the user's or ours; for what a request asks."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal

from tests.support.tables import each_row
from tests.support.vendors import ENDPOINTS
from tui_chat.compose import compose
from tui_chat.context import Inputs, SessionSettings
from tui_chat.library.prices import load_prices
from tui_chat.models.model_facts import ModelFacts
from tui_chat.models.preset import Preset
from tui_chat.models.prices import Prices, shipped_prices
from tui_chat.models.settings import Settings

DAY = datetime(2026, 11, 23, 12, tzinfo=UTC)
OPENAI = next(each for each in ENDPOINTS if each.name == "openai")
ONE, TWO = Decimal(1), Decimal(2)


def test_the_users_prices_go_first_on_their_days_and_at_the_standard_tier():
    known = load_prices()
    own = Prices(ONE, TWO, starts=date(2026, 11, 23), until=date(2026, 11, 24))
    endpoint = replace(OPENAI, facts=(("gpt-5", ModelFacts(prices=own)),))
    assert known.prices_of(endpoint, "gpt-5", DAY) == replace(own, source="config.toml")
    later = known.prices_of(endpoint, "gpt-5", datetime(2026, 11, 25, tzinfo=UTC))
    assert later is not None
    assert later.source == shipped_prices().label
    assert known.prices_of(endpoint, "gpt-5", DAY, {"service_tier": "default"}) is not None
    assert known.prices_of(endpoint, "gpt-5", DAY, {"service_tier": "flex"}) is None


@each_row(
    "model",
    [
        *("gpt-5", "openai/gpt-5", "claude-opus-4-5", "anthropic/claude-opus-4.5"),
        *("us.anthropic.claude-opus-4-5-20251101-v1:0", "gemini-2.5-pro", "grok-4"),
    ],
)
@each_row("url", ["http://127.0.0.1:9911", "https://gateway.example/v1"])
def test_a_model_of_one_maker_has_its_prices_behind_any_gateway(model: str, url: str):
    found = load_prices().prices_of(replace(OPENAI, base_url=url), model, DAY)
    assert found is not None
    assert found.source == f"{shipped_prices().label}, by the model's name"


@each_row(
    "model", ["gpt-oss-120b", "deepseek-r1:8b", "llama-3.1-8b", "mistral", "mirror", "", "gpt"]
)
def test_a_model_that_anybody_serves_has_no_price_at_an_unknown_host(model: str):
    local = replace(OPENAI, base_url="http://127.0.0.1:11434")
    assert load_prices().prices_of(local, model, DAY) is None


@each_row(
    ("asked", "said", "dollars"),
    [
        (None, "", "1.25"),
        (None, "default", "1.25"),
        ("flex", "", None),
        ("flex", "default", "1.25"),
        ("auto", "priority", None),
        ("scale", "", None),
        (None, "something new", None),
    ],
)
def test_the_tier_that_the_reply_names_goes_before_the_one_asked_for(
    asked: str | None, said: str, dollars: str | None
):
    endpoint = replace(OPENAI, settings=Settings(service_tier=asked))
    composed = compose(
        Inputs(endpoint, Preset("p"), draft="Hi", settings=SessionSettings(model="gpt-5"))
    )
    prices = load_prices().prices_of_request(composed, DAY)(said)
    assert (prices and prices.input) == (None if dollars is None else Decimal(dollars))
