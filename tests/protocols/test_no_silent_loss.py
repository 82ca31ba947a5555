"""Every setting of a random request arrives, is mapped, or a note names it: all pairs.

Settings that change nothing where they are gone need no word: explicit nulls, a stream that is not
asked for, `n` of one, plain text as the reply's form, calls in parallel, which is the default.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.protocols.requests import ANTHROPIC, CHAT, GEMINI, RESPONSES, body_of, decoded, encoded
from tui_chat.models.endpoint import Protocol

SCHEMA = {"type": "object", "properties": {"zed": {"type": "string"}}}
words = st.sampled_from(["alpha7", "beta7", "gamma7"])
numbers = st.integers(100, 999)


def some(**values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=values)


def tool(key: str, flat: bool) -> st.SearchStrategy[dict[str, Any]]:
    inner = st.fixed_dictionaries(
        {"name": words, key: st.just(SCHEMA)},
        optional={"description": st.just("about7"), "strict": st.booleans()},
    )
    if key == "input_schema":
        return inner
    if flat:
        return inner.map(lambda said: {"type": "function", **said})
    return inner.map(lambda said: {"type": "function", "function": said})


def few(tools: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    """Up to two tools; of two with one name the second is left out, which is told elsewhere."""
    return st.lists(tools, max_size=2, unique_by=lambda each: tuple(names_of(each)))


schema_forms = st.fixed_dictionaries(
    {"name": st.just("name7"), "schema": st.just(SCHEMA)},
    optional={"description": st.just("about7"), "strict": st.booleans()},
)
chat_choice = st.one_of(
    st.sampled_from(["auto", "none", "required"]),
    words.map(lambda name: {"type": "function", "function": {"name": name}}),
    st.just({"type": "odd7", "odd7": {"a": 1}}),
)
CHATS = some(
    temperature=st.floats(0, 3).map(lambda value: round(value, 3)),
    top_p=st.sampled_from([0.25, 0.75, 7.5]),
    max_tokens=numbers,
    max_completion_tokens=numbers,
    stop=st.one_of(words, st.lists(st.sampled_from([*"abcdef", " "]), max_size=6, unique=True)),
    seed=st.sampled_from([7, 2**40]),
    presence_penalty=st.sampled_from([0.5, 3]),
    frequency_penalty=st.sampled_from([0.5, 3]),
    n=st.sampled_from([1, 2]),
    reasoning_effort=st.sampled_from(["none", "high", "odd7"]),
    verbosity=st.sampled_from(["low", None]),
    user=words,
    store=st.booleans(),
    metadata=st.just({"k": "v"}),
    service_tier=st.just("flex"),
    logit_bias=st.just({"1": 2}),
    parallel_tool_calls=st.booleans(),
    stream=st.booleans(),
    vendor7=st.just({"a": 1}),
    tool_choice=chat_choice,
    response_format=st.one_of(
        st.sampled_from([{"type": "text"}, {"type": "json_object"}, {"type": "odd7", "x": 1}]),
        schema_forms.map(lambda form: {"type": "json_schema", "json_schema": form}),
    ),
    tools=few(st.one_of(tool("parameters", False), st.just({"type": "odd7", "odd7": {"a": 1}}))),
)
RESPONSE = some(
    temperature=st.sampled_from([0.5, 3]),
    top_p=st.sampled_from([0.25, 7.5]),
    max_output_tokens=numbers,
    reasoning=some(effort=st.just("low"), summary=st.just("auto")),
    text=some(
        verbosity=st.just("low"),
        format=st.one_of(
            st.just({"type": "odd7"}),
            schema_forms.map(lambda form: {"type": "json_schema", **form}),
        ),
    ),
    truncation=st.just("auto"),
    include=st.just(["reasoning.encrypted_content"]),
    metadata=st.just({"k": "v"}),
    previous_response_id=st.just("resp_7"),
    max_tool_calls=st.just(7),
    parallel_tool_calls=st.booleans(),
    vendor7=st.just(1),
    tool_choice=st.one_of(st.sampled_from(["auto", "none"]), st.just({"type": "odd7"})),
    tools=few(st.one_of(tool("parameters", True), st.just({"type": "web_search"}))),
)
CLAUDE = some(
    temperature=st.sampled_from([0.5, 1]),
    top_p=st.just(0.25),
    top_k=st.just(7),
    stop_sequences=st.lists(words, min_size=1, max_size=3, unique=True),
    thinking=st.just({"type": "enabled", "budget_tokens": 1024}),
    metadata=st.just({"user_id": "u7"}),
    service_tier=st.just("auto"),
    container=st.just("c7"),
    output_config=some(
        effort=st.just("low"), format=st.just({"type": "json_schema", "schema": SCHEMA})
    ),
    vendor7=st.just(1),
    tool_choice=st.one_of(
        st.sampled_from([{"type": "auto"}, {"type": "none"}, {"type": "odd7"}]),
        st.just({"type": "any", "disable_parallel_tool_use": True}),
    ),
    tools=few(
        st.one_of(
            tool("input_schema", True),
            st.just({"type": "web_search_20250305", "name": "web_search"}),
        )
    ),
)
GOOGLE = some(
    generationConfig=some(
        temperature=st.sampled_from([0.5, 3]),
        topK=st.just(7),
        maxOutputTokens=numbers,
        stopSequences=st.lists(words, min_size=1, max_size=3, unique=True),
        candidateCount=st.just(2),
        thinkingConfig=st.just({"thinkingBudget": 7}),
        responseMimeType=st.sampled_from(["application/json", "text/x.odd7"]),
        responseJsonSchema=st.just(SCHEMA),
    ),
    safetySettings=st.just([{"category": "c7", "threshold": "t7"}]),
    cachedContent=st.just("cached7"),
    labels=st.just({"k": "v"}),
    vendor7=st.just(1),
    toolConfig=some(
        functionCallingConfig=some(mode=st.sampled_from(["AUTO", "NONE", "ODD7"])),
        retrievalConfig=st.just({"languageCode": "l7"}),
    ),
    tools=few(
        st.sampled_from(
            [
                {"googleSearch": {}},
                {"codeExecution": {}, "functionDeclarations": [{"name": "alpha7"}]},
                {"functionDeclarations": [{"name": "beta7", "behavior": "odd7"}]},
            ]
        )
    ),
)
REQUESTS: dict[Protocol, tuple[st.SearchStrategy[dict[str, Any]], dict[str, Any]]] = {
    CHAT: (CHATS, {"model": "m", "messages": [{"role": "user", "content": "as JSON"}]}),
    RESPONSES: (RESPONSE, {"model": "m", "input": "as JSON"}),
    ANTHROPIC: (
        CLAUDE,
        {"model": "m", "max_tokens": 99, "messages": [{"role": "user", "content": "as JSON"}]},
    ),
    GEMINI: (GOOGLE, {"contents": [{"role": "user", "parts": [{"text": "as JSON"}]}]}),
}

MAPPED = {
    "max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens", "temperature",
    "top_p", "topP", "top_k", "topK", "stop", "stop_sequences", "stopSequences", "seed",
    "presence_penalty", "frequency_penalty", "presencePenalty", "frequencyPenalty",
}  # fmt: skip
"""Settings with a value that arrives as it is, under one of these names."""

CALLED = {
    "effort": "reasoning effort", "reasoning_effort": "reasoning effort",
    "functionCallingConfig": "tool_choice", "mode": "tool_choice", "format": "format",
    "stopSequences": "stop", "stop_sequences": "stop", "topK": "top_k",
    "max_completion_tokens": "max_tokens", "disable_parallel_tool_use": "parallel_tool_calls",
    "generationConfig": "generation_config", "toolConfig": "tool_config",
    "responseMimeType": "response format", "responseJsonSchema": "response format",
    "response_format": "response format", "cachedContent": "cached_content",
    "safetySettings": "safety_settings", "previous_response_id": "resp_7",
}  # fmt: skip
"""What notes call a setting where it is not the key itself."""


def leaves(body: dict[str, Any], base: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the settings of a request, those in holders one by one."""
    holders = ("generationConfig", "toolConfig", "reasoning", "text", "output_config")
    for key, value in body.items():
        if key in base or key == "tools":
            continue
        if key in holders:
            yield from value.items()
        else:
            yield key, value


def needs_no_word(key: str, value: Any) -> bool:
    return (
        value is None
        or (key, value) in (("n", 1), ("stream", False), ("parallel_tool_calls", True))
        or value in ({"type": "text"}, [], {})
    )


def arrives(key: str, value: Any, said: str, body: Any) -> bool:
    """Whether a setting's value is in what is sent."""
    match key:
        case "stream":
            return True  # Gemini says it in the URL
        case "response_format" | "format" | "responseJsonSchema":
            if value == {"type": "json_object"}:
                return '"json_object"' in said or '"application/json"' in said
            schema = value.get("json_schema", value) if isinstance(value, dict) else {}
            schema = schema.get("schema", value)
            return '"zed"' in said and '"zed"' in json.dumps(schema)
        case "responseMimeType":
            return value == "application/json" and ('"json_' in said or '"zed"' in said)
        case "tool_choice" | "functionCallingConfig":
            return any(name in body for name in ("tool_choice", "toolConfig"))
        case "parallel_tool_calls":
            return f'"parallel_tool_calls": {json.dumps(value)}' in said or (
                not value and '"disable_parallel_tool_use": true' in said
            )
        case "stop" | "stop_sequences" | "stopSequences":
            given = [value] if isinstance(value, str) else value
            return all(json.dumps(text) in said for text in given)
        case _:
            kept = json.dumps(value) in said
            return kept if key in MAPPED | {"effort", "reasoning_effort"} else False


@pytest.mark.parametrize("target", list(Protocol))
@pytest.mark.parametrize("source", list(Protocol))
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_no_setting_is_lost_without_a_note(source: Protocol, target: Protocol, data: Any) -> None:
    strategy, base = REQUESTS[source]
    body = {**base, **data.draw(strategy)}
    out = encoded(decoded(body, source, "" if source is target else "m"), target)
    sent = body_of(out)
    if source is target:
        assert sent == body
        return
    told = plain(" ".join(note.sentence for note in out.notes))
    settings_sent = {k: v for k, v in sent.items() if k not in ("messages", "input", "contents")}
    said = json.dumps(settings_sent)
    for key, value in leaves(body, base):
        if not needs_no_word(key, value) and not arrives(key, value, said, settings_sent):
            assert plain(key) in told or plain(CALLED.get(key, key)) in told, (key, value)
    for entry in body.get("tools", ()):
        for name in names_of(entry):
            assert name in said or plain(name) in told, entry
        if '"strict": true' in json.dumps(entry):
            assert '"strict": true' in said or "strict" in told, entry
    form = json.dumps([body.get("response_format"), body.get("text")])
    for part in ("name7", "about7"):
        if part in form:
            assert part in said or plain("of the reply's schema") in told


def plain(text: str) -> str:
    """Return a text in which `topP` and `top_p` are the same."""
    return text.casefold().replace("_", "")


def names_of(entry: dict[str, Any]) -> Iterator[str]:
    """Yield what a tool is called, and the keys of it that are one provider's own."""
    for declared in entry.get("functionDeclarations", entry.get("function_declarations", ())):
        yield declared["name"]
        yield from (key for key in declared if key == "behavior")
    yield from (key for key in entry if key in ("googleSearch", "codeExecution"))
    name = entry.get("name") or entry.get("function", {}).get("name")
    if name or entry.get("type") != "function":
        yield from [name or entry["type"]] if name or "type" in entry else []
