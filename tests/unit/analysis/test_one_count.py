"""One count of tokens for one captured body, wherever it is shown."""

from __future__ import annotations

import json
from typing import Any, cast

from tests.support.agent_requests import agent_body
from tests.support.tables import each_row
from tui_chat.analysis.cache_forecast import forecast_cache
from tui_chat.analysis.captured_request import read_captured
from tui_chat.analysis.token_shares import token_shares
from tui_chat.compose import Composed, calibrate
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import Budget
from tui_chat.models.text import OriginKind
from tui_chat.tokens import REQUEST_OVERHEAD, counter_for

QUESTION = {"text": "And where are they shown?"}
CONVERSATIONS = ("messages", "input", "contents")


def captured(body: dict[str, Any], protocol: Protocol, model: str = "gemini-3-pro") -> Composed:
    endpoint = Endpoint("e", protocol, "http://127.0.0.1:9911")
    return read_captured(json.dumps(body), protocol).composed(endpoint, model)


def budget_of(composed: Composed) -> Budget:
    assert composed.envelope.budget is not None
    return composed.envelope.budget


def longer(protocol: Protocol) -> dict[str, Any]:
    """The request with a further question."""
    body = agent_body(protocol)
    key = next(key for key in CONVERSATIONS if key in body)
    more: dict[str, Any] = {"role": "user", "content": QUESTION["text"]}
    if protocol is Protocol.GEMINI:
        more = {"role": "user", "parts": [QUESTION]}
    cast("list[Any]", body[key]).append(more)
    return body


@each_row("protocol", Protocol)
def test_a_request_that_grew_has_all_of_the_last_one_in_common(protocol: Protocol) -> None:
    last, now = captured(agent_body(protocol), protocol), captured(longer(protocol), protocol)
    forecast = forecast_cache(last, now, counter_for(now.model))
    assert forecast.at.kind == "grown"
    assert forecast.total == budget_of(now).total
    assert forecast.common == forecast.last == budget_of(last).total - REQUEST_OVERHEAD
    assert forecast.lost == 0


@each_row("protocol", Protocol)
def test_what_follows_the_tools_is_lost_where_the_system_prompt_changes(protocol: Protocol) -> None:
    body = agent_body(protocol)
    text = json.dumps(body).replace("You are a coding agent.", "Today you are a coding agent.")
    last, now = captured(body, protocol), captured(json.loads(text), protocol)
    forecast = forecast_cache(last, now, counter_for(now.model))
    tools = _tools(last)
    assert tools <= forecast.common < tools + 10
    assert forecast.lost == budget_of(last).total - REQUEST_OVERHEAD - forecast.common
    assert forecast.common + forecast.after + REQUEST_OVERHEAD == forecast.total


@each_row("protocol", Protocol)
@each_row("share", [0.5, 1.0, 1.37, 3])
def test_a_captured_request_has_the_input_that_its_reply_reported(
    protocol: Protocol, share: float
) -> None:
    estimated = captured(agent_body(protocol), protocol)
    reported = round(budget_of(estimated).total * share)
    made = calibrate(estimated, reported)
    budget = budget_of(made)
    assert budget.total == reported == token_shares(made.envelope).used
    assert budget.exact
    assert budget.how.startswith("reported by the reply")
    tools = next(e for e in token_shares(made.envelope).shares if e.kind is OriginKind.TOOL)
    assert sum(item.tokens for item in tools.items) == tools.tokens
    assert abs(tools.tokens / reported - _tools(estimated) / budget_of(estimated).total) < 0.01
    assert (
        abs(budget.history / reported - budget_of(estimated).history / budget_of(estimated).total)
        < 0.01
    )
    assert abs(budget.uncorrected - budget_of(estimated).total) <= 1
    grown = calibrate(captured(longer(protocol), protocol), reported + 20)
    forecast = forecast_cache(made, grown, counter_for(grown.model))
    assert forecast.total == reported + 20
    assert abs(forecast.common - reported) < 40


def _tools(composed: Composed) -> int:
    return sum(tokens for _, tokens in budget_of(composed).tools)


@each_row("reported", [12, 10_000_000])
def test_a_reported_figure_that_is_too_different_is_only_mentioned(reported: int) -> None:
    estimated = captured(agent_body(Protocol.ANTHROPIC), Protocol.ANTHROPIC)
    budget = budget_of(calibrate(estimated, reported))
    assert budget.total == budget_of(estimated).total
    assert not budget.exact
    assert f"the reply reported {reported:,}, too different to be divided" in budget.how


def test_without_a_report_nothing_changes() -> None:
    estimated = captured(agent_body(Protocol.ANTHROPIC), Protocol.ANTHROPIC)
    assert calibrate(estimated, None).envelope is estimated.envelope
    assert calibrate(estimated, 0).envelope is estimated.envelope


@each_row("model", ["claude-opus-4-5", "anthropic/claude-opus-4.5"])
def test_the_limit_of_a_captured_request_follows_its_model(model: str) -> None:
    made = captured({**agent_body(Protocol.ANTHROPIC), "model": model}, Protocol.ANTHROPIC)
    assert (budget_of(made).limit, budget_of(made).reserve) == (200_000, 32_000)
    assert token_shares(made.envelope).next_out is None


def test_what_the_provider_keeps_is_not_divided_among_what_is_sent() -> None:
    body = {"model": "gpt-5", "previous_response_id": "resp_1", "input": "And then? " * 30}
    estimated = captured(body, Protocol.OPENAI_RESPONSES, "gpt-5")
    total = budget_of(estimated).total
    for reported in (total * 2, total * 500):
        budget = budget_of(calibrate(estimated, reported))
        assert budget.total == total
        assert f"{reported:,}, with what the provider keeps of earlier messages" in budget.how


def test_a_request_is_not_compared_where_the_provider_keeps_messages() -> None:
    requests = [
        captured(
            {"model": "gpt-5", "previous_response_id": f"resp_{n}", "input": f"Question {n}"},
            Protocol.OPENAI_RESPONSES,
            "gpt-5",
        )
        for n in (1, 2)
    ]
    forecast = forecast_cache(requests[0], requests[1], counter_for("gpt-5"))
    assert forecast.lost == 0
    assert "keeps earlier messages" in forecast.sentence
    assert not forecast.compares
