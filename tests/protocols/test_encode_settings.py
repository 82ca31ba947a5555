"""Settings on their way from one protocol to another."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.support.requests import (
    ANTHROPIC,
    CHAT,
    GEMINI,
    RESPONSES,
    assistant,
    body_of,
    chat,
    converted,
    decoded,
    encoded,
    endpoint,
    function,
    user,
)
from tests.support.tables import each_row
from tui_chat.compose import compose
from tui_chat.context import Inputs, SessionSettings
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import Level, Note, Sourced
from tui_chat.models.preset import Preset
from tui_chat.models.settings import ResponseFormat
from tui_chat.models.text import Origin, OriginKind

OLLAMA = Protocol.OLLAMA
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}
SAMPLING = chat(user(), temperature=0.5, top_p=0.9, max_tokens=99, stop=["a"], seed=7)

SAID: list[tuple[Protocol, dict[str, Any], list[str]]] = [
    (RESPONSES, {"temperature": 0.5, "top_p": 0.9, "max_output_tokens": 99}, ["stop", "seed"]),
    (
        ANTHROPIC,
        {"temperature": 0.5, "top_p": 0.9, "max_tokens": 99, "stop_sequences": ["a"]},
        ["seed"],
    ),
    (
        GEMINI,
        {
            "generationConfig": {
                "temperature": 0.5,
                "topP": 0.9,
                "maxOutputTokens": 99,
                "stopSequences": ["a"],
                "seed": 7,
            }
        },
        [],
    ),
]


@each_row(("target", "expected", "missing"), SAID)
def test_settings_are_mapped_or_noted(
    target: Protocol, expected: dict[str, Any], missing: list[str]
) -> None:
    body, notes = converted(SAMPLING, target, model="x", sampling=True)
    assert {key: body[key] for key in expected} == expected
    assert notes == ["setting-left-out"] * len(missing)


@each_row("target", [RESPONSES, ANTHROPIC, GEMINI])
def test_a_model_without_sampling_settings_gets_none(target: Protocol) -> None:
    out = encoded(decoded(SAMPLING, CHAT, "x"), target, endpoint(target, "x", sampling=False))
    assert [n.code for n in out.notes].count("sampling-left-out") == 2


def test_anthropic_keeps_captured_sampling_settings() -> None:
    own = {"model": "m", "max_tokens": 9, "temperature": 1, "top_k": 3, "messages": [user()]}
    assert converted(own, ANTHROPIC, source=ANTHROPIC)[0] == own


STOPS: list[tuple[Protocol, list[str]]] = [
    (ANTHROPIC, ["1", "2", "3", "4", "5", "6"]),
    (GEMINI, ["1", " ", "2", "3", "4"]),
]


@pytest.mark.parametrize(("target", "kept"), STOPS)
def test_too_many_stops_are_cut_with_a_note(target: Protocol, kept: list[str]) -> None:
    request = chat(user(), stop=["1", " ", "2", "3", "4", "5", "6"])
    body, notes = converted(request, target)
    assert (body.get("stop_sequences") or body["generationConfig"]["stopSequences"]) == kept
    assert notes == ["setting-left-out"]


def test_a_limit_below_the_minimum_is_raised() -> None:
    body, notes = converted(chat(user(), max_tokens=3), RESPONSES)
    assert body["max_output_tokens"] == 16
    assert notes == ["limit-raised"]


SCHEMA = {"type": "object", "properties": {}, "additionalProperties": False}
FORMAT = {
    "type": "json_schema",
    "json_schema": {"name": "n", "schema": SCHEMA, "strict": True},
}


def test_a_reply_schema_in_every_protocol() -> None:
    request = chat(user(), response_format=FORMAT)
    assert converted(request, CHAT)[0] == request
    assert converted(request, RESPONSES)[0]["text"] == {
        "format": {"type": "json_schema", "name": "n", "schema": SCHEMA, "strict": True}
    }
    assert converted(request, ANTHROPIC)[0]["output_config"] == {
        "format": {"type": "json_schema", "schema": SCHEMA}
    }
    assert converted(request, GEMINI)[0]["generationConfig"] == {
        "responseMimeType": "application/json",
        "responseJsonSchema": SCHEMA,
    }


def test_any_json_needs_the_word_in_openai_and_is_unknown_to_anthropic() -> None:
    body: dict[str, Any] = {
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
        "generationConfig": {"responseMimeType": "application/json"},
    }
    sent, notes = converted(body, CHAT, source=GEMINI)
    assert "response_format" not in sent
    assert notes == ["setting-left-out"]
    body["contents"][0]["parts"][0]["text"] = "as JSON"
    assert converted(body, CHAT, source=GEMINI)[0]["response_format"] == {"type": "json_object"}
    assert converted(body, ANTHROPIC, source=GEMINI)[1] == ["setting-left-out"]


def test_namespaces_are_left_out_elsewhere_with_notes_by_weight() -> None:
    request = chat(user(), user="u1", logit_bias={"1": 2}, n=1, verbosity=None)
    assert converted(request, CHAT)[0] == request
    out = encoded(decoded(request), ANTHROPIC)
    assert {(n.level, n.sentence.split()[0]) for n in out.notes} == {
        (Level.WARNING, "logit_bias"),
        (Level.INFO, "Anthropic"),  # set a reply limit
        (Level.INFO, "the"),  # number of replies
    }


CONTINUED = {
    "model": "m",
    "previous_response_id": "resp_1",
    "store": True,
    "include": ["reasoning.encrypted_content"],
    "input": [{"type": "function_call_output", "call_id": "c1", "output": "done"}],
}


def test_a_kept_response_is_continued_with_nothing_but_a_tool_output() -> None:
    body, notes = converted(CONTINUED, RESPONSES, source=RESPONSES)
    assert body == CONTINUED
    assert notes == []
    assert decoded(CONTINUED, RESPONSES).semantics.session.previous_response_id == "resp_1"


@each_row("target", [CHAT, ANTHROPIC, GEMINI])
def test_missing_stored_turns_are_an_error_in_other_protocols(target: Protocol) -> None:
    out = encoded(decoded(CONTINUED, RESPONSES), target)
    assert Level.ERROR in {note.level for note in out.notes}
    assert "result-without-call" in {note.code for note in out.notes}


def notes_of(body: dict[str, Any], target: Protocol, source: Protocol, model: str) -> list[Note]:
    return list(encoded(decoded(body, source, model), target).notes)


TAKES = [
    "claude-sonnet-4-5",
    "anthropic/claude-haiku-4.5",
    "us.anthropic.claude-opus-4-6-v1:0",
    "claude-3-5-sonnet-20241022",
    "kimi-k2",  # nothing is known of it, so nothing is claimed
]


@each_row("model", TAKES)
def test_temperature_is_sent_to_models_that_accept_it(model: str) -> None:
    request = chat(user(), temperature=0.5, max_tokens=99)
    body = converted(request, ANTHROPIC, model=model)[0]
    assert body["temperature"] == 0.5
    assert notes_of(request, ANTHROPIC, CHAT, model) == []


def test_why_a_temperature_is_not_sent_is_true() -> None:
    request = chat(user(), temperature=0.5, max_tokens=99)
    reasons = {
        "claude-opus-4-8": "claude-opus-4-8 accepts no sampling settings",
        "claude-opus-7": "it is not known whether claude-opus-7 accepts sampling settings",
        "gpt-5": "gpt-5 accepts no sampling settings",
        "gpt-5.5": "only at the reasoning effort “none”",
    }
    for model, reason in reasons.items():
        target = ANTHROPIC if "claude" in model else RESPONSES
        (note,) = [
            note
            for note in notes_of(request, target, CHAT, model)
            if note.code == "sampling-left-out"
        ]
        assert reason in note.sentence


@each_row(
    ("model", "effort", "sent"),
    [
        ("gpt-5.1", None, True),
        ("gpt-5.1", "none", True),
        ("gpt-5.1", "low", False),
        ("gpt-5.5", None, False),
        ("openai/gpt-5.6-sol", "none", True),
        ("gpt-5-mini", "minimal", False),
    ],
)
def test_temperature_while_a_model_does_not_reason(
    model: str, effort: str | None, sent: bool
) -> None:
    more = {} if effort is None else {"reasoning_effort": effort}
    body, _ = converted(chat(user(), temperature=0.5, **more), RESPONSES, model=model)
    assert ("temperature" in body) is sent


def test_another_model_loses_the_settings_it_refuses() -> None:
    own = {"model": "claude-sonnet-4-5", "max_tokens": 9, "temperature": 1, "messages": [user()]}
    envelope = decoded(own, ANTHROPIC)
    origin = Origin(OriginKind.SETTING, "model", "--model")
    parameters = replace(envelope.parameters, model=Sourced("claude-opus-4-8", origin))
    out = encoded(replace(envelope, parameters=parameters), ANTHROPIC)
    assert "temperature" not in body_of(out)
    assert [note.code for note in out.notes] == ["sampling-left-out"]


LIMITS = {
    "claude-haiku-4-5": 64_000,
    "anthropic/claude-opus-4.8": 128_000,
    "claude-3-opus-20240229": 4_096,
    "claude-opus-9": 128_000,
    "kimi-k2": 4_096,
}


@each_row("model", LIMITS)
def test_an_unset_limit_is_the_models_maximum_with_a_note(model: str) -> None:
    body = converted(chat(user()), ANTHROPIC, model=model)[0]
    assert body["max_tokens"] == LIMITS[model]
    (note,) = notes_of(chat(user()), ANTHROPIC, CHAT, model)
    assert (note.level, note.code) == (Level.INFO, "default-invented")
    assert f"{LIMITS[model]:,}" in note.sentence


def test_the_endpoints_limit_needs_no_note() -> None:
    to = replace(endpoint(ANTHROPIC), max_tokens=777)
    out = encoded(decoded(chat(user()), CHAT, "claude-haiku-4-5"), ANTHROPIC, to)
    assert body_of(out)["max_tokens"] == 777
    assert out.notes == ()


def test_a_limit_above_the_maximum_is_lowered_with_a_note() -> None:
    body, notes = converted(chat(user(), max_tokens=100_000), ANTHROPIC, model="claude-haiku-4-5")
    assert (body["max_tokens"], notes) == (64_000, ["setting-changed"])
    body, notes = converted(chat(user(), max_tokens=64_000), ANTHROPIC, model="claude-haiku-4-5")
    assert (body["max_tokens"], notes) == (64_000, [])


def test_the_default_limit_leaves_room_for_a_long_input_and_is_no_reserve() -> None:
    to = Endpoint("e", ANTHROPIC, "https://e", models=("claude-haiku-4-5",))
    short = compose(Inputs(to, Preset("p"), draft="hi"))
    assert json.loads(short.payload.body)["max_tokens"] == 64_000
    assert short.envelope.budget is not None
    assert short.envelope.budget.reserve == 4096
    long = compose(Inputs(to, Preset("p"), draft="word " * 150_000))
    assert long.envelope.budget is not None
    limit = json.loads(long.payload.body)["max_tokens"]
    assert 0 < limit < 64_000
    assert limit + long.envelope.budget.total <= 200_000


def test_a_schemas_name_and_strictness_survive_there_and_back() -> None:
    for strict in (True, False, None):
        form = {"name": "n", "description": "d", "schema": SCHEMA}
        form |= {} if strict is None else {"strict": strict}
        request = chat(user(), response_format={"type": "json_schema", "json_schema": form})
        there = converted(request, RESPONSES)[0]
        back = converted(there, CHAT, source=RESPONSES)[0]
        assert back["response_format"] == request["response_format"]


@pytest.mark.parametrize("target", [ANTHROPIC, GEMINI])
def test_losses_of_a_schema_are_noted(target: Protocol) -> None:
    form = {"name": "n", "description": "d", "schema": SCHEMA, "strict": False}
    request = chat(
        user(), response_format={"type": "json_schema", "json_schema": form}, max_tokens=9
    )
    sentences = " ".join(note.sentence for note in notes_of(request, target, CHAT, "m"))
    for what in ("name", "description", "strict"):
        assert what in sentences
    form |= {"strict": True}
    sentences = " ".join(note.sentence for note in notes_of(request, target, CHAT, "m"))
    assert ("strict" in sentences) is (target is GEMINI)


@pytest.mark.parametrize("target", [CHAT, RESPONSES])
def test_a_schema_without_a_name_gets_one_with_a_note(target: Protocol) -> None:
    for title, name in ((None, "reply"), ("Rivers", "Rivers"), ("no name!", "reply")):
        schema = SCHEMA | ({"title": title} if title else {})
        config = {"responseMimeType": "application/json", "responseJsonSchema": schema}
        request = {"contents": [{"parts": [{"text": "hi"}]}], "generationConfig": config}
        body = converted(request, target, source=GEMINI)[0]
        form = body["response_format"]["json_schema"] if target is CHAT else body["text"]["format"]
        assert form["name"] == name
        notes = [n for n in notes_of(request, target, GEMINI, "m") if n.code == "default-invented"]
        assert any(f"“{name}”" in note.sentence for note in notes)


def test_an_open_schema_is_closed_for_anthropic_with_a_note() -> None:
    inner = {"type": "object", "properties": {"properties": {"type": "object"}}}
    schema = {"type": "object", "properties": {"a": {"type": "array", "items": inner}}}
    form = {"name": "n", "schema": schema, "strict": True}
    request = chat(user(), response_format={"type": "json_schema", "json_schema": form})
    body, notes = converted(request, ANTHROPIC)
    sent = body["output_config"]["format"]["schema"]
    assert sent["additionalProperties"] is False
    within = sent["properties"]["a"]["items"]
    assert within["additionalProperties"] is False
    assert within["properties"]["properties"] == {"type": "object", "additionalProperties": False}
    assert notes == ["setting-changed"]


NATIVE: list[tuple[dict[str, Any], list[str]]] = [
    ({"googleMaps": {}}, ["googleMaps"]),
    ({"google_maps": {}, "computerUse": {"environment": "e"}}, ["googleMaps", "computerUse"]),
    ({"functionDeclarations": [{"name": "f"}], "fileSearch": {}}, ["fileSearch"]),
]


@each_row("target", [CHAT, RESPONSES, ANTHROPIC])
@each_row(("tool", "names"), NATIVE)
def test_geminis_own_tools_are_left_out_with_a_warning(
    tool: dict[str, Any], names: list[str], target: Protocol
) -> None:
    request = {"contents": [{"parts": [{"text": "hi"}]}], "tools": [tool]}
    notes = [n for n in notes_of(request, target, GEMINI, "m") if n.code == "tool-left-out"]
    assert [name for name in names if any(f"“{name}”" in n.sentence for n in notes)] == names
    assert all(note.level is Level.WARNING for note in notes)


def test_unknown_keys_are_named_as_they_stand_in_the_body() -> None:
    answer = {
        "role": "assistant",
        "content": "x",
        "thinking_blocks": [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}],
    }
    tool = function()
    tool["function"]["vendor"] = 1
    request = chat(user(), answer, user(), tools=[tool], top_a=1)
    (note,) = notes_of(request, CHAT, CHAT, "m")
    assert note.sentence.endswith(": top_a, thinking_blocks, function.vendor.")
    strict = encoded(decoded(request), CHAT, endpoint(CHAT, strict_keys=True))
    assert body_of(strict) == chat(user(), assistant("x"), user(), tools=[function()])


def test_no_note_denies_an_existing_setting() -> None:
    request = chat(user(), reasoning_effort="high", max_tokens=9, metadata={"a": "b"})
    for target in (ANTHROPIC, GEMINI):
        for note in notes_of(request, target, CHAT, "m"):
            assert "has no such setting" not in note.sentence


@each_row(
    ("protocol", "form", "sent"),
    [
        (CHAT, ResponseFormat("schema", SCHEMA), {"name": "reply", "schema": SCHEMA}),
        (RESPONSES, ResponseFormat("schema", SCHEMA), {"name": "reply", "schema": SCHEMA}),
        (OLLAMA, ResponseFormat("schema", SCHEMA), SCHEMA),
        (OLLAMA, ResponseFormat("schema", {}), "json"),
        (OLLAMA, ResponseFormat("json"), "json"),
    ],
)
def test_a_schema_without_a_name_or_content(
    protocol: Protocol, form: ResponseFormat, sent: Any
) -> None:
    to = Endpoint("e", protocol, "https://e.invalid", models=("m",))
    settings = SessionSettings(response_format=form)
    body = json.loads(compose(Inputs(to, Preset("p"), draft="x", settings=settings)).payload.body)
    if protocol is OLLAMA:
        assert body["format"] == sent
    else:
        found = (
            body["response_format"]["json_schema"] if protocol is CHAT else body["text"]["format"]
        )
        assert sent.items() <= found.items()


def test_a_summary_is_not_sent_for_the_reason_that_holds() -> None:
    base = {"model": "m", "input": "hi", "max_output_tokens": 1_100}
    for asked, reason in (({}, "is asked for"), ({"effort": "high"}, "is sent")):
        body = {**base, "reasoning": {"summary": "auto", **asked}}
        out = encoded(decoded(body, RESPONSES, "claude-haiku-4-5"), ANTHROPIC)
        [note] = [note for note in out.notes if "summary" in note.sentence]
        assert note.sentence.endswith(f"no reasoning {reason}.")
