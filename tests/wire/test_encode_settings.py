"""Settings on their way from one protocol to another."""

from __future__ import annotations

from typing import Any

import pytest

from tests.wire.requests import (
    ANTHROPIC,
    CHAT,
    GEMINI,
    RESPONSES,
    chat,
    converted,
    decoded,
    encoded,
    endpoint,
    user,
)
from tui_chat.model.endpoint import Protocol
from tui_chat.model.envelope import Level

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


@pytest.mark.parametrize(("target", "expected", "missing"), SAID)
def test_settings_under_their_names_and_what_is_missing_is_told(
    target: Protocol, expected: dict[str, Any], missing: list[str]
) -> None:
    body, notes = converted(SAMPLING, target, model="x", sampling=True)
    assert {key: body[key] for key in expected} == expected
    assert notes == ["setting-left-out"] * len(missing)


@pytest.mark.parametrize("target", [RESPONSES, ANTHROPIC, GEMINI])
def test_a_model_that_takes_no_sampling_gets_none(target: Protocol) -> None:
    out = encoded(decoded(SAMPLING, CHAT, "x"), target, endpoint(target, "x", sampling=False))
    assert [n.code for n in out.notes].count("sampling-left-out") == 2


def test_anthropic_gets_sampling_only_where_the_model_is_known_to_take_it() -> None:
    assert "temperature" not in converted(SAMPLING, ANTHROPIC)[0]
    own = {"model": "m", "max_tokens": 9, "temperature": 1, "top_k": 3, "messages": [user()]}
    assert converted(own, ANTHROPIC, source=ANTHROPIC)[0] == own


STOPS: list[tuple[Protocol, list[str]]] = [
    (ANTHROPIC, ["1", "2", "3", "4", "5", "6"]),
    (GEMINI, ["1", " ", "2", "3", "4"]),
]


@pytest.mark.parametrize(("target", "kept"), STOPS)
def test_too_many_stops_are_cut_and_told(target: Protocol, kept: list[str]) -> None:
    request = chat(user(), stop=["1", " ", "2", "3", "4", "5", "6"])
    body, notes = converted(request, target)
    assert (body.get("stop_sequences") or body["generationConfig"]["stopSequences"]) == kept
    assert notes == ["setting-left-out"]


def test_a_limit_below_the_least_is_raised() -> None:
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
    told, notes = converted(body, CHAT, source=GEMINI)
    assert "response_format" not in told
    assert notes == ["setting-left-out"]
    body["contents"][0]["parts"][0]["text"] = "as JSON"
    assert converted(body, CHAT, source=GEMINI)[0]["response_format"] == {"type": "json_object"}
    assert converted(body, ANTHROPIC, source=GEMINI)[1] == ["setting-left-out"]


def test_namespaces_stay_at_home_and_say_how_much_it_matters() -> None:
    request = chat(user(), user="u1", logit_bias={"1": 2}, n=1, verbosity=None)
    assert converted(request, CHAT)[0] == request
    out = encoded(decoded(request), ANTHROPIC)
    assert {(n.level, n.sentence.split()[0]) for n in out.notes} == {
        (Level.INFO, "user"),
        (Level.WARNING, "logit_bias"),
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


@pytest.mark.parametrize("target", [CHAT, ANTHROPIC, GEMINI])
def test_elsewhere_the_kept_turns_are_missed_loudly(target: Protocol) -> None:
    out = encoded(decoded(CONTINUED, RESPONSES), target)
    assert Level.ERROR in {note.level for note in out.notes}
    assert "result-without-call" in {note.code for note in out.notes}
