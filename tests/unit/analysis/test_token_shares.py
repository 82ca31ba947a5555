"""Tokens: one count, and the shares of it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, cast

from tests.support.agent_requests import agent_body
from tests.support.contexts import ENDPOINT, LETTERS
from tests.support.messages import make_message
from tests.support.tables import each_row
from tests.unit.analysis.test_cache_forecast import HISTORY, STYLE, talk
from tui_chat.analysis.cache_forecast import forecast_cache
from tui_chat.analysis.captured_request import read_captured
from tui_chat.analysis.token_shares import HistoryPart, Share, largest_turns, token_shares
from tui_chat.compose import Composed, calibrate, compose
from tui_chat.context import Inputs, build_context
from tui_chat.models.blocks import CallBlock, MediaBlock
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import Budget, ChatEnvelope, ToolDefinition
from tui_chat.models.message import Message
from tui_chat.models.preset import Preset
from tui_chat.models.text import OriginKind
from tui_chat.tokens import PART_TOKENS, REQUEST_OVERHEAD, TURN_OVERHEAD, counter_for


def envelope(
    history: tuple[Message, ...], limit: int | None = None, draft: str = "draft"
) -> ChatEnvelope:
    inputs = Inputs(
        ENDPOINT,
        Preset("p", (STYLE, HISTORY)),
        history,
        draft,
        context_limit=limit,
        reply_reserve=10,
    )
    return build_context(inputs, lambda _: LETTERS)


def test_every_token_is_in_one_share_or_in_the_framing() -> None:
    found = envelope(talk("aa", "bbb"))
    shares = token_shares(found)
    assert shares.shares == (
        Share(OriginKind.PRESET, len("Be brief.") + TURN_OVERHEAD, 1),
        Share(OriginKind.HISTORY, 5 + 2 * TURN_OVERHEAD, 2, HistoryPart.CONVERSATION),
        Share(OriginKind.DRAFT, 5 + TURN_OVERHEAD, 1),
    )
    assert found.budget is not None
    assert shares.used == found.budget.total
    assert (shares.limit, shares.free, shares.reserve) == (None, None, 0)


def test_used_reserve_and_free_are_the_limit() -> None:
    shares = token_shares(envelope(talk("aa", "bbb"), limit=100))
    assert shares.limit == 100
    assert shares.used + shares.reserve + (shares.free or 0) == 100


def test_the_oldest_unpinned_message_drops_out_next() -> None:
    history = talk("aa", "bbb", "c", "d")
    pinned = (replace(history[0], pinned=True), *history[1:])
    out = token_shares(envelope(pinned, limit=100), {"m0"}).next_out
    assert out is not None
    assert out.origin.id == "m1"


def test_without_history_nothing_drops_out() -> None:
    assert token_shares(envelope(())).next_out is None
    question = talk("aa")
    assert question[-1].role == "user"
    assert token_shares(envelope(question, limit=100, draft="")).next_out is None


def agent_history(steps: list[tuple[str, str]]) -> tuple[Message, ...]:
    """Exchanges of a question, a call of a tool and its result; every call has the same id."""
    messages: list[Message] = []
    for number, (tool, result) in enumerate(steps):
        call = CallBlock("call_0", tool, "{}")
        messages += [
            Message.of("user", f"question {number}", f"q{number}"),
            make_message("assistant", "", f"c{number}", tool_calls=(call,)),
            make_message("tool", result, f"r{number}", tool_call_id="call_0"),
        ]
    return tuple(messages)


def test_results_and_calls_are_counted_by_tool_where_ids_repeat() -> None:
    history = agent_history([("look", "aaaa"), ("find", "bb"), ("look", "c")])
    tools = tuple(ToolDefinition(name, "", {}) for name in ("look", "find", "unused"))
    composed = build_context(
        Inputs(ENDPOINT, Preset("p"), history, "draft", tools=tools), lambda _: LETTERS
    )
    shares = {each.part or each.kind: each for each in token_shares(composed).shares}
    calls = {item.name: item.count for item in shares[OriginKind.TOOL].items}
    assert calls == {"look": 2, "find": 1, "unused": 0}
    results = {item.name: item.count for item in shares[HistoryPart.RESULT].items}
    assert results == {"look": 2, "find": 1}


def test_an_exchange_is_a_question_with_what_follows_it() -> None:
    found = envelope(talk("aa", "bbb", "c", "dd"))
    exchanges = token_shares(found).exchanges
    firsts = [found.turns[each.first].text.plain for each in exchanges]
    assert firsts == ["aa", "c", "draft"]
    assert [each.tokens for each in exchanges] == [
        5 + 2 * TURN_OVERHEAD,
        3 + 2 * TURN_OVERHEAD,
        5 + TURN_OVERHEAD,
    ]


def test_the_largest_turns_come_first() -> None:
    largest = largest_turns(envelope(talk("aa", "bbb", "c", "d" * 20)), 2)
    assert [turn.text.plain for turn, _ in largest] == ["d" * 20, "Be brief."]


# Pictures and files that a protocol leaves out cost nothing

LOST = MediaBlock("image", "image/png", name="cat.png")
"""A picture whose content is not stored here."""
SENT = MediaBlock("image", "image/png", data="iVBORw0KGgo=")


def request(protocol: Protocol, *parts: MediaBlock) -> Composed:
    history = (
        make_message("user", "Look.", "m1", parts=parts),
        Message.of("assistant", "Yes.", "m2"),
    )
    endpoint = Endpoint("e", protocol, "http://127.0.0.1:9")
    return compose(Inputs(endpoint, Preset("p", ()), history, "And?"), lambda _: LETTERS)


def total(composed: Composed) -> int:
    assert composed.envelope.budget is not None
    assert token_shares(composed.envelope).used == composed.envelope.budget.total
    return composed.envelope.budget.total


@each_row("protocol", Protocol)
def test_a_picture_that_is_left_out_costs_nothing(protocol: Protocol) -> None:
    without, lost = request(protocol), request(protocol, LOST)
    assert [note.code for note in lost.notes].count("piece-left-out") == 1
    assert total(lost) == total(without)
    assert lost.envelope.tokens == without.envelope.tokens
    assert total(request(protocol, SENT)) == total(without) + PART_TOKENS["image"]
    assert total(request(protocol, SENT, LOST)) == total(without) + PART_TOKENS["image"]


@each_row("protocol", Protocol)
def test_a_picture_of_the_model_costs_something_where_it_is_sent(protocol: Protocol) -> None:
    history = (
        Message.of("user", "Draw.", "m1"),
        make_message("assistant", "", "m2", parts=(SENT,)),
    )
    endpoint = Endpoint("e", protocol, "http://127.0.0.1:9")
    inputs = Inputs(endpoint, Preset("p", ()), history, "And?")
    made = compose(inputs, lambda _: LETTERS)
    bare = compose(
        replace(
            inputs,
            history=(history[0], Message.of(history[1].role, history[1].content, history[1].id)),
        ),
        lambda _: LETTERS,
    )
    is_sent = "iVBORw0KGgo=" in made.payload.body.decode()
    assert total(made) - total(bare) == (PART_TOKENS["image"] if is_sent else 0)


# --- One count of tokens for one captured body, wherever it is shown ----------------------


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
