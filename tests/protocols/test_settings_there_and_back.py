"""Random settings of a composed request in all protocols, and back again."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.corpus import ORACLE, oracle
from tests.support.requests import body_of, chat, decoded, encoded, endpoint, user
from tests.support.sdk_types import accept as accept_types
from tests.support.tables import each_row
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import (
    ChatEnvelope,
    HostedTool,
    NativeTool,
    Parameters,
    RequestSettings,
    RequestTool,
    ToolDefinition,
)
from tui_chat.models.settings import (
    CONTEXT_SETTINGS,
    EFFORTS,
    ResponseFormat,
    SearchLocation,
    ToolChoice,
    WebSearch,
)
from tui_chat.models.text import Origin, OriginKind
from tui_chat.protocols.base import Encoded
from tui_chat.protocols.common.trees import captured_origin

MODELS = {
    Protocol.OPENAI_CHAT: ["gpt-4.1", "gpt-5-mini", "gpt-5.1", "gpt-5.6", "o4-mini", "kimi-k2"],
    Protocol.OPENAI_RESPONSES: ["gpt-4.1", "gpt-5", "gpt-5.4", "gpt-5.5-pro", "o3"],
    Protocol.ANTHROPIC: [
        "claude-3-5-haiku-latest", "claude-sonnet-4-5", "claude-opus-4-5", "claude-opus-4-6",
        "claude-opus-4-8", "claude-mythos-5", "claude-next-9", "deepseek-chat",
    ],
    Protocol.GEMINI: [
        "gemini-2.0-flash", "gemini-2.5-flash", "gemini-2.5-flash-lite", "gemini-2.5-pro",
        "gemini-3-pro-preview", "gemini-3.5-flash", "gemini-9",
    ],
    Protocol.OLLAMA: ["qwen3"],
}  # fmt: skip
SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}
searches = st.builds(
    WebSearch,
    context_size=st.sampled_from(["", "low", "high"]),
    location=st.sampled_from([None, SearchLocation(city="Accra", country="GH")]),
    allowed_domains=st.sampled_from([(), (), ("example.org",)]),
    blocked_domains=st.sampled_from([(), (), ("example.com",)]),
    max_uses=st.sampled_from([None, 2]),
    live=st.sampled_from([None, None, False]),
)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "temperature": st.sampled_from([0.0, 0.5, 1.0, 1.5]),
    "max_tokens": st.sampled_from([10, 1500, 9000, 200_000]),
    "top_p": st.sampled_from([0.1, 1.0]),
    "top_k": st.sampled_from([1, 40]),
    "stop": st.sampled_from([("a",), ("a", "b", "c", "d", "e", "f"), (" ",)]),
    "seed": st.sampled_from([1, 2**40]),
    "presence_penalty": st.sampled_from([0.5]),
    "frequency_penalty": st.sampled_from([-1.0]),
    "parallel_tool_calls": st.booleans(),
    "tool_choice": st.sampled_from(
        [ToolChoice("auto"), ToolChoice("none"), ToolChoice("required"),
         ToolChoice("required", ("f",))]
    ),
    "response_format": st.sampled_from(
        [ResponseFormat("json"), ResponseFormat("schema", SCHEMA, name="n1", strict=True)]
    ),
    "effort": st.sampled_from([*EFFORTS, "auto"]),
    "reasoning_budget": st.sampled_from([0, 400, 3_000, 20_000, 90_000]),
    "reasoning_summary": st.sampled_from(["auto", "concise", "detailed", "none"]),
    "verbosity": st.sampled_from(["low", "high"]),
    "logprobs": st.sampled_from([0, 3]),
    "replies": st.sampled_from([1, 2]),
    "service_tier": st.sampled_from(
        ["auto", "default", "flex", "scale", "priority", "fast", "ultrafast"]
    ),
    "user_id": st.sampled_from(["u1", "u" * 200]),
    "store": st.booleans(),
    "web_search": searches,
    "hosted": st.sampled_from(["web_fetch", "code_execution"]),
}  # fmt: skip
parameters = st.fixed_dictionaries({}, optional=VALUES)
REPLACED = {"effort", "reasoning_budget"}
"""Each may come back as the other: where it does, a note says so."""


def test_every_parameter_is_drawn() -> None:
    drawn = {*VALUES, "model", "stream"} - {"hosted"}
    assert {each.name for each in fields(RequestSettings)} == drawn | CONTEXT_SETTINGS


SAMPLING = {"temperature", "top_p", "top_k"}
"""What Anthropic's newest types lack and its older models accept."""


def accept(protocol: Protocol, body: Any) -> None:
    lacking = SAMPLING if protocol is Protocol.ANTHROPIC else set()
    accept_types(protocol, {key: value for key, value in body.items() if key not in lacking})


def envelope_of(
    values: dict[str, Any], target: Protocol, model: str, with_tool: bool
) -> ChatEnvelope:
    """Return a request with these settings, each of which has its own origin."""
    plain = decoded(chat(user("Answer as JSON.")))
    values = {**values, "model": model, "stream": True}
    tools: list[RequestTool] = [ToolDefinition("f", "", {"type": "object", "properties": {}})]
    if kind := values.pop("hosted", ""):
        source = Protocol.GEMINI if target is Protocol.ANTHROPIC else Protocol.ANTHROPIC
        tools.append(NativeTool(source, kind, {}, HostedTool(kind)))
    origins = {
        name: Origin(OriginKind.SETTING, name, f"{name}, set by the session") for name in values
    }
    return replace(
        plain,
        parameters=Parameters(RequestSettings(**values), origins),
        tools=tuple(tools[0 if with_tool else 1 :]) or None,
        source=None,
        rest=None,
    )


def settings_of(envelope: ChatEnvelope) -> dict[str, Any]:
    """Return what is set, with the tools that the provider runs."""
    values = {f.name: getattr(envelope.parameters.values, f.name) for f in fields(RequestSettings)}
    hosted = {tool.hosted.kind: tool.hosted.search for tool in envelope.native_tools if tool.hosted}
    values["web_search"] = hosted.pop("web_search", values["web_search"])
    values["hosted"] = next(iter(hosted), None)
    return {name: value for name, value in values.items() if value is not None}


def noted(name: str, envelope: ChatEnvelope, out: Encoded) -> bool:
    """Whether a note concerns a setting."""
    origins = [envelope.parameters.origins.get(name)]
    if name in ("web_search", "hosted"):
        origins.append(captured_origin("tools"))
    return any(note.origin in origins for note in out.notes)


DEFAULTS = {
    "replies": 1, "store": False, "parallel_tool_calls": True, "reasoning_summary": "none",
    "service_tier": "auto",
}  # fmt: skip


def is_default(name: str, value: Any, envelope: ChatEnvelope) -> bool:
    """Whether a setting says what happens without it as well."""
    if name in REPLACED:  # a model that does not reason needs not be told so
        return value in ("none", 0, "auto")
    return name in DEFAULTS and value == DEFAULTS[name]


def meaning(name: str, value: Any) -> Any:
    if name == "response_format":
        return value.kind, json.dumps(value.schema)
    return value


@pytest.mark.slow
@each_row("target", list(Protocol))
@settings(max_examples=150)
@given(data=st.data())
def test_settings_arrive_or_a_note_says_why_not(target: Protocol, data: Any) -> None:
    values = data.draw(parameters)
    model = data.draw(st.sampled_from(MODELS[target]))
    envelope = envelope_of(values, target, model, data.draw(st.booleans()))
    out = encoded(envelope, target, endpoint(target, model))
    body = body_of(out)
    accept(target, body)
    arrived = settings_of(decoded(body, target))
    for name, value in values.items():
        if is_default(name, value, envelope):
            continue
        back = arrived.get(name)
        same = back is not None and meaning(name, back) == meaning(name, value)
        assert same or noted(name, envelope, out), (name, value, back)
    for name in arrived.keys() - values.keys() - {"model", "stream", "max_tokens", "store"}:
        source = values.keys() & (REPLACED if name in REPLACED else {"parallel_tool_calls"})
        assert source, (name, arrived[name])


@pytest.mark.skipif(not ORACLE.is_file(), reason="no oracle")
@each_row("target", list(Protocol))
@given(data=st.data())
def test_the_oracle_accepts_random_settings(target: Protocol, data: Any) -> None:
    model = data.draw(st.sampled_from(MODELS[target]))
    envelope = envelope_of(data.draw(parameters), target, model, data.draw(st.booleans()))
    body = body_of(encoded(envelope, target, endpoint(target, model)))
    assert oracle(target, body, model) == []


@pytest.mark.slow
@each_row("target", list(Protocol))
@each_row("source", list(Protocol))
@settings(max_examples=25)
@given(data=st.data())
def test_settings_come_back_or_a_note_says_why_not(
    source: Protocol, target: Protocol, data: Any
) -> None:
    values = data.draw(parameters)
    first, second = (data.draw(st.sampled_from(MODELS[each])) for each in (source, target))
    start = envelope_of(values, source, first, data.draw(st.booleans()))
    captured = decoded(body_of(encoded(start, source, endpoint(source, first))), source, first)
    there = encoded(replaced(captured, second), target, endpoint(target, second))
    foreign = decoded(body_of(there), target, second)
    accept(target, body_of(there))
    back = encoded(replaced(foreign, first), source, endpoint(source, first))
    accept(source, body_of(back))
    returned = settings_of(decoded(body_of(back), source, first))
    was, between = settings_of(captured), settings_of(foreign)
    for name in values:
        before, after = was.get(name), returned.get(name)
        if before is None or is_default(name, before, captured):
            continue
        same = after is not None and meaning(name, before) == meaning(name, after)
        assert (
            same
            or noted(name, captured, there)
            or (name in between and noted(name, foreign, back))
            or (name in REPLACED and any(n.code == "setting-changed" for n in back.notes))
        ), (name, before, after)


def replaced(envelope: ChatEnvelope, model: str) -> ChatEnvelope:
    """Return the request for another model, as `convert --model` makes it."""
    origin = Origin(OriginKind.SETTING, "model", "--model")
    return replace(envelope, parameters=envelope.parameters.with_value("model", model, origin))
