"""Every setting of a random request arrives, is mapped, or a note names it: all pairs.

`SILENT` has the exceptions and their reasons, as docs/configuration.md does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.protocols.test_settings_there_and_back import MODELS
from tests.support.requests import (
    ANTHROPIC,
    CHAT,
    GEMINI,
    OLLAMA,
    RESPONSES,
    body_of,
    decoded,
    encoded,
    endpoint,
)
from tests.support.tables import each_row
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import RequestSettings
from tui_chat.models.settings import ResponseFormat
from tui_chat.protocols.common.losses import SILENT

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
        return inner.map(lambda fields: {"type": "function", **fields})
    return inner.map(lambda fields: {"type": "function", "function": fields})


def few(tools: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    """Up to two tools; of two with one name the second is left out, which another test checks."""
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
    n=st.sampled_from([1, 2, 1.5]),
    reasoning_effort=st.sampled_from(["none", "minimal", "high", "max", "odd7"]),
    verbosity=st.sampled_from(["low", None]),
    logprobs=st.booleans(),
    top_logprobs=st.sampled_from([3, 0, 2.5, None]),
    web_search_options=st.sampled_from([{}, {"search_context_size": "low"}]),
    safety_identifier=words,
    prompt_cache_key=words,
    user=words,
    store=st.booleans(),
    metadata=st.just({"k": "v"}),
    service_tier=st.sampled_from(["auto", "default", "flex", "fast", "odd7"]),
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
    reasoning=some(
        effort=st.sampled_from(["none", "low", "xhigh"]),
        summary=st.sampled_from(["auto", "detailed"]),
    ),
    text=some(
        verbosity=st.just("low"),
        format=st.one_of(
            st.just({"type": "odd7"}),
            schema_forms.map(lambda form: {"type": "json_schema", **form}),
        ),
    ),
    truncation=st.just("auto"),
    include=st.sampled_from(
        [
            ["reasoning.encrypted_content"],
            ["message.output_text.logprobs", "reasoning.encrypted_content"],
            ["odd7"],
        ]
    ),
    top_logprobs=st.sampled_from([2, 0, None, "odd7"]),
    service_tier=st.sampled_from(["auto", "default", "flex", "ultrafast"]),
    store=st.booleans(),
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
    thinking=st.sampled_from(
        [
            {"type": "enabled", "budget_tokens": 1024},
            {"type": "adaptive", "display": "omitted"},
            {"type": "disabled"},
        ]
    ),
    metadata=st.just({"user_id": "u7"}),
    service_tier=st.sampled_from(["auto", "standard_only"]),
    container=st.just("c7"),
    output_config=some(
        effort=st.just("low"), format=st.just({"type": "json_schema", "schema": SCHEMA})
    ),
    vendor7=st.just(1),
    tool_choice=st.one_of(
        st.sampled_from([{"type": "auto"}, {"type": "none"}, {"type": "odd7"}]),
        st.booleans().map(lambda one: {"type": "any", "disable_parallel_tool_use": one}),
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
        candidateCount=st.sampled_from([1, 2]),
        thinkingConfig=st.sampled_from(
            [
                {"thinkingBudget": 7},
                {"thinkingBudget": 0, "includeThoughts": False},
                {"thinkingBudget": -1},
                {"thinkingLevel": "HIGH", "includeThoughts": True},
            ]
        ),
        responseLogprobs=st.booleans(),
        logprobs=st.sampled_from([3, 0, "odd7"]),
        responseMimeType=st.sampled_from(["application/json", "text/plain", "text/x.odd7"]),
        responseJsonSchema=st.just(SCHEMA),
    ),
    safetySettings=st.just([{"category": "c7", "threshold": "t7"}]),
    cachedContent=st.just("cached7"),
    labels=st.just({"k": "v"}),
    serviceTier=st.sampled_from(["unspecified", "standard", "flex", "PRIORITY", "odd7"]),
    store=st.booleans(),
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
LOCAL = some(
    options=some(
        temperature=st.sampled_from([0.5, 3]),
        top_p=st.sampled_from([0.25, 7.5]),
        top_k=st.just(7),
        num_predict=st.sampled_from([100, -1]),
        stop=st.lists(words, min_size=1, max_size=6, unique=True),
        seed=st.just(7),
        presence_penalty=st.sampled_from([0.5, 3]),
        frequency_penalty=st.sampled_from([0.5, 3]),
        num_ctx=st.just(8192),
        min_p=st.just(0.05),
        repeat_penalty=st.just(1.1),
    ),
    format=st.one_of(st.just("json"), st.just(SCHEMA), st.just("odd7")),
    think=st.sampled_from([True, False, "high", "odd7"]),
    stream=st.booleans(),
    keep_alive=st.just("5m"),
    truncate=st.booleans(),
    logprobs=st.booleans(),
    top_logprobs=st.sampled_from([3, None, "odd7"]),
    vendor7=st.just(1),
    tools=few(st.one_of(tool("parameters", False), st.just({"type": "odd7", "odd7": {"a": 1}}))),
)
REQUESTS: dict[Protocol, tuple[st.SearchStrategy[dict[str, Any]], dict[str, Any]]] = {
    CHAT: (CHATS, {"model": "m", "messages": [{"role": "user", "content": "as JSON"}]}),
    RESPONSES: (RESPONSE, {"model": "m", "input": "as JSON"}),
    ANTHROPIC: (
        CLAUDE,
        {"model": "m", "max_tokens": 99, "messages": [{"role": "user", "content": "as JSON"}]},
    ),
    GEMINI: (GOOGLE, {"contents": [{"role": "user", "parts": [{"text": "as JSON"}]}]}),
    OLLAMA: (LOCAL, {"model": "m", "messages": [{"role": "user", "content": "as JSON"}]}),
}

PARAMETERS = {
    name: frozenset(keys.split())
    for name, keys in {
        "temperature": "temperature",
        "top_p": "top_p topP",
        "top_k": "top_k topK",
        "max_tokens": "max_tokens max_completion_tokens max_output_tokens maxOutputTokens "
        "num_predict",
        "stop": "stop stop_sequences stopSequences",
        "seed": "seed",
        "presence_penalty": "presence_penalty presencePenalty",
        "frequency_penalty": "frequency_penalty frequencyPenalty",
        "parallel_tool_calls": "parallel_tool_calls disable_parallel_tool_use",
        "tool_choice": "tool_choice functionCallingConfig",
        "response_format": "response_format format responseMimeType responseJsonSchema",
        "effort": "effort reasoning_effort think thinking thinkingConfig",
        "reasoning_budget": "thinking thinkingConfig",
        "reasoning_summary": "summary thinking thinkingConfig",
        "verbosity": "verbosity",
        "replies": "n candidateCount",
        "logprobs": "logprobs top_logprobs responseLogprobs",
        "service_tier": "service_tier serviceTier",
        "store": "store",
        "user_id": "user safety_identifier metadata",
        "web_search": "web_search_options",
    }.items()
}
"""The keys of each unified parameter."""

CALLED = {
    "generationConfig": "generation_config", "toolConfig": "tool_config",
    "cachedContent": "cached_content", "safetySettings": "safety_settings",
    "previous_response_id": "resp_7", "response_format": "response format",
    "responseMimeType": "response format", "responseJsonSchema": "response format",
    "format": "response format", "functionCallingConfig": "tool_choice", "mode": "tool_choice",
}  # fmt: skip
"""What notes call a setting where it is not the key itself."""


MEANINGS = frozenset({"functionCallingConfig", "thinkingConfig", "thinking"})
"""Objects whose keys mean one thing together."""
HOLDERS = MEANINGS | {
    *("generationConfig", "toolConfig", "reasoning", "text", "output_config", "options"),
}
"""Objects that hold settings."""


def leaves(body: dict[str, Any], place: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the settings of a request with their paths, those in holders one by one."""
    for key, value in body.items():
        if key in HOLDERS:
            yield from leaves(value, f"{place}{key}.")
        elif key == "include":
            yield from ((key, word) for word in value)
        else:
            yield f"{place}{key}", value


RULES: dict[str, Callable[[str, Any, Protocol], bool]] = {
    "null, an empty text or list": lambda path, value, target: value in (None, "", []),
    "model": lambda path, value, target: path == "model",
    "stream": lambda path, value, target: path == "stream",
    "store: false": lambda path, value, target: (
        path == "store" and value is False and target in (ANTHROPIC, OLLAMA)
    ),
}


def test_the_settings_that_vanish_silently_are_documented() -> None:
    assert RULES.keys() == SILENT.keys()
    text = (Path(__file__).parents[2] / "docs/configuration.md").read_text(encoding="utf-8")
    for what, why in SILENT.items():
        assert f"| {what} | {why} |" in text


def arrives(keys: list[str], before: RequestSettings, after: RequestSettings) -> bool:
    """True if a setting's meaning is in what is sent."""
    names = [name for name, known in PARAMETERS.items() if not known.isdisjoint(keys)]
    known = [(n, value) for n in names if (value := getattr(before, n)) is not None]
    return bool(known) and all(
        same(value, getattr(after, name))
        or (value == "none" and after.reasoning_budget == 0)
        or (value == 0 and after.effort == "none")
        for name, value in known
    )


def same(value: Any, found: Any) -> bool:
    """True if a setting arrived; of a format only what every protocol has."""
    if isinstance(value, ResponseFormat) and isinstance(found, ResponseFormat):
        return found.kind == value.kind and str(found.schema)[:9] == str(value.schema)[:9]
    return value == found


SHARED = {"metadata", "prompt_cache_key", "safety_identifier", "user"}
"""What OpenAI's two protocols have under one name."""


@pytest.mark.slow
@each_row("target", list(Protocol))
@each_row("source", list(Protocol))
@settings(max_examples=60)
@given(data=st.data())
def test_no_setting_is_lost_without_a_note(source: Protocol, target: Protocol, data: Any) -> None:
    strategy, base = REQUESTS[source]
    body = {**base, **data.draw(strategy)}
    if source is target:
        assert body_of(encoded(decoded(body, source), target)) == body
        return
    model = data.draw(st.sampled_from(["m", *MODELS[target]]))
    envelope = decoded(body, source, model)
    out = encoded(envelope, target, endpoint(target, model))
    sent = body_of(out)
    received = decoded(sent, target)
    after = received.parameters.values
    searches = any(tool.hosted for tool in received.native_tools) or after.web_search
    sentences = " ".join(note.sentence for note in out.notes)
    notes = plain(sentences)
    settings_sent = {k: v for k, v in sent.items() if k not in ("messages", "input", "contents")}
    text_sent = json.dumps(settings_sent)
    for path, value in leaves({k: v for k, v in body.items() if k not in (*base, "tools")}):
        *around, key = path.split(".")
        keys = [key, *(each for each in around if each in MEANINGS)]
        is_switch = key == "responseLogprobs" or value == "message.output_text.logprobs"
        keys += ["logprobs"] * is_switch
        silent = any(holds(path, value, target) for holds in RULES.values())
        if silent or (key == "web_search_options" and searches):
            continue
        if arrives(keys, envelope.parameters.values, after):
            continue
        if key in SHARED and {source, target} == {CHAT, RESPONSES} and sent[key] == value:
            continue
        named = any(re.search(rf"\b{re.escape(each)}\b", sentences) for each in keys)
        assert named, (path, value, sentences)
    for entry in body.get("tools", ()):
        hosted = [k for k in ("web_search", "googleSearch", "codeExecution") if k in str(entry)]
        for name in names_of(entry):
            if hosted and name not in ("alpha7", "beta7", "gamma7"):
                assert searches or "tool-left-out" in {n.code for n in out.notes}
            else:
                assert name in text_sent or plain(name) in notes, entry
        if '"strict": true' in json.dumps(entry):
            assert '"strict": true' in text_sent or "strict" in notes, entry
    form = json.dumps([body.get("response_format"), body.get("text")])
    for part in ("name7", "about7"):
        if part in form:
            lost = plain("of the reply's schema"), "the response format"
            assert part in text_sent or any(words in notes for words in lost)


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
