"""A walk over the sentences of notes whose code has several: a request that raises each, and one
close to it that must not. `test_every_note` walks over the codes.
"""

from __future__ import annotations

from typing import Any

from tests.protocols.test_every_note import (
    ASKED,
    State,
    body,
    captured,
    claude,
    functions,
    notes_of,
    session,
)
from tests.support.requests import ANTHROPIC, CHAT, GEMINI, OLLAMA, RESPONSES, function, user
from tests.support.tables import each_row
from tui_chat.models.endpoint import Protocol
from tui_chat.models.settings import WebSearch

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}


def schema(**more: Any) -> State:
    named = {"name": "x", "schema": SCHEMA, **more}
    return body(user(), response_format={"type": "json_schema", "json_schema": named})


def chosen(mode: str, *names: str, tools: tuple[str, ...] = ("f", "g", "h")) -> State:
    allowed = [function(name) for name in names]
    choice = {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": allowed}}
    return body(user(), tools=functions(*tools), tool_choice=choice)


def called(name: str) -> State:
    choice = {"type": "function", "function": {"name": name}}
    return body(user(), tools=functions("f"), tool_choice=choice)


def asked(**more: Any) -> State:
    return body(user(), **more)


def effort(word: str, limit: int = 50_000, **facts: Any) -> State:
    return {**asked(reasoning_effort=word, max_completion_tokens=limit), "facts": facts}


def thinking(budget: int, **facts: Any) -> State:
    state = claude(user(), thinking={"type": "enabled", "budget_tokens": budget})
    return {**state, "facts": facts}


def summed(protocol: Protocol = RESPONSES, **reasoning: Any) -> State:
    return captured(protocol, input="x", reasoning=reasoning)


def generated(**config: Any) -> State:
    contents = [{"role": "user", "parts": [{"text": "x"}]}]
    return captured(GEMINI, contents=contents, generationConfig=config)


def strict(value: bool | None) -> State:
    tool = function("f")
    return asked(tools=[{**tool, "function": {**tool["function"], "strict": value}}])


def searched(**sites: tuple[str, ...]) -> State:
    return session(ASKED, web_search=WebSearch(**sites))


def limited(**facts: Any) -> State:
    return {**asked(), "facts": facts}


JSON = {"response_format": {"type": "json_object"}}
GEMINI_JSON = "application/json"
EFFORT = "The reasoning effort “high” (reasoning_effort) is sent as "
BUDGET = "The reasoning budget of 1,500 tokens (thinking.budget_tokens) is sent as "
NO_MORE_ROOM = "the most for which the reply limit leaves room"
ONE_NAME = "Anthropic accepts one tool name"
WALK: list[tuple[Protocol, str, State, State]] = [
    (ANTHROPIC, "tool_choice is not sent: no tools are sent.",
     asked(tool_choice="required"), asked(tools=functions("f"), tool_choice="required")),
    (GEMINI, "tool_choice nope is not sent: no such tool is sent.", called("nope"), called("f")),
    (ANTHROPIC, f"tool_choice f is not sent: {ONE_NAME}, of a tool that must be called; the model "
     "may choose any tool.", chosen("auto", "f"), chosen("required", "f")),
    (ANTHROPIC, f"tool_choice f, g is not sent: {ONE_NAME} at most; the model may choose any tool.",
     chosen("required", "f", "g"), chosen("required", "f", "g", "h")),
    (ANTHROPIC, "parallel_tool_calls is not sent: no tool may be called.",
     asked(tools=functions("f"), tool_choice="none", parallel_tool_calls=False),
     asked(tools=functions("f"), tool_choice="auto", parallel_tool_calls=False)),
    (ANTHROPIC, "the response format (response_format) is not sent: Anthropic supports JSON with a "
     "schema only.", asked(**JSON), schema()),
    (ANTHROPIC, "The reply's schema is sent with “additionalProperties: false” for every object.",
     schema(), schema(schema={**SCHEMA, "additionalProperties": False})),
    (ANTHROPIC, "Anthropic has no “strict” for the reply's schema and always enforces it; "
     "“strict: false” is left out.", schema(strict=False), schema(strict=True)),
    (GEMINI, "the description of the reply's schema (response_format) is not sent: Gemini has no "
     "field for it.", schema(description="d"), schema()),
    (GEMINI, "The reply's schema is empty; Gemini may send any JSON.", schema(schema={}), schema()),
    (RESPONSES, "the response format “json” (responseMimeType) is not sent: OpenAI requires the "
     "word “json” in the messages for it.", generated(responseMimeType=GEMINI_JSON),
     {**generated(responseMimeType=GEMINI_JSON, responseSchema={"type": "OBJECT"})}),
    (CHAT, "OpenAI requires a name for the reply's schema: “reply” is sent.",
     generated(responseMimeType=GEMINI_JSON, responseSchema={"type": "OBJECT"}),
     generated(responseMimeType=GEMINI_JSON)),
    (GEMINI, "the response format “text” (response_format) is not sent: a reply is plain text "
     "anyway.", asked(response_format={"type": "text"}), asked(**JSON)),
    (ANTHROPIC, "stop ' ' is not sent: a stop sequence of white space alone is refused.",
     asked(stop=[" ", "x"]), asked(stop=[" x"])),
    (GEMINI, "stop 'f' is not sent: at most 5 stop sequences are accepted.",
     asked(stop=list("abcdef")), asked(stop=list("abcde"))),
    (ANTHROPIC, "service_tier “flex” is not sent: Anthropic has no such tier.",
     asked(service_tier="flex"), asked(service_tier="auto")),
    (GEMINI, "service_tier “auto” is not sent: Gemini chooses the tier itself where none is set.",
     asked(service_tier="auto"), asked(service_tier="flex")),
    (OLLAMA, "service_tier is not sent: Ollama has no such setting.",
     asked(service_tier="flex"), asked()),
    (ANTHROPIC, "The tool choice (tool_choice) is sent as “auto”: m refuses one that forces a "
     "call.",
     {**chosen("required", "f"), "facts": {"forced_tools": False}}, chosen("required", "f")),
    (ANTHROPIC, "Anthropic accepts one list of sites; those that the web search may not use are "
     "taken out of those that it may.",
     searched(allowed_domains=("a.invalid", "b.invalid"), blocked_domains=("b.invalid",)),
     searched(allowed_domains=("a.invalid",))),
    (ANTHROPIC, "Anthropic requires max_tokens; using 9,000, the limit of “m”.",
     limited(max_output=9_000), limited(max_output=8_000)),
    (ANTHROPIC, "temperature is not sent: 1.8 is not within 0 and 1.",
     asked(temperature=1.8), asked(temperature=1)),
    (GEMINI, "Gemini has no “strict” for tools; “strict: true” of “f” is left out.",
     strict(True), strict(None)),
    (ANTHROPIC, "verbosity is not sent: Anthropic has no such setting.",
     asked(verbosity="low"), asked()),
    # What limits the reasoning is named: the model, the reply limit, or nothing.
    (ANTHROPIC, f"{EFFORT}a budget of 24,576 tokens.",
     effort("high"), effort("high", budgets=(1_024, 9_999))),
    (ANTHROPIC, f"{EFFORT}a budget of 9,999 tokens, the nearest that m accepts.",
     effort("high", budgets=(1_024, 9_999)), effort("high")),
    (ANTHROPIC, f"{EFFORT}a budget of 3,976 tokens, {NO_MORE_ROOM}.",
     effort("high", 5_000, budgets=(1_024, 9_999)), effort("high", budgets=(1_024, 3_976))),
    (ANTHROPIC, f"{EFFORT}the effort “medium”, the nearest that m accepts.",
     effort("high", efforts=("low", "medium")), effort("high", efforts=("low", "high"))),
    (ANTHROPIC, "the reasoning effort “high” (reasoning_effort) is not sent: the reply limit "
     "leaves no room for the least budget of 1,024 tokens.",
     effort("high", 900, budgets=(1_024, 9_999)), effort("high", budgets=(1_024, 9_999))),
    (CHAT, f"{BUDGET}the effort “low”.",
     thinking(1_500), thinking(1_500, efforts=("medium", "high"))),
    (CHAT, f"{BUDGET}the effort “medium”, the nearest that m accepts.",
     thinking(1_500, efforts=("medium", "high")), thinking(1_500)),
    (RESPONSES, "the reasoning effort “high” (reasoning_effort) is not sent: m does not reason.",
     effort("high", efforts=()), effort("high", efforts=("high",))),
    (RESPONSES, "The reasoning effort “high” (reasoning_effort) asks m to reason, which it does "
     "not do as far as is known.", effort("high", reasons=False), effort("high")),
    (CHAT, "the reasoning summary is not sent: OpenAI Chat has no such setting.",
     summed(summary="detailed"), summed(effort="high")),
    (ANTHROPIC, "the reasoning summary “detailed” is not sent: no reasoning is asked for.",
     summed(summary="detailed"), summed(summary="detailed", effort="high")),
    (GEMINI, "The reasoning summary “detailed” is sent as “includeThoughts: true”: there is one "
     "length.", summed(summary="detailed"), summed(summary="auto")),
    (OLLAMA, "the reasoning summary is not sent: Ollama shows the reasoning of every model that "
     "reasons.", summed(summary="auto"), summed(effort="high")),
]  # fmt: skip


@each_row("number", range(len(WALK)))
def test_a_sentence_is_shown_where_it_is_true_and_nowhere_else(number: int) -> None:
    target, sentence, shows, silent = WALK[number]
    said = [note.sentence for note in notes_of(shows, target)]
    assert sentence in said, said
    others = [note.sentence for note in notes_of(silent, target)]
    assert sentence not in others, others
