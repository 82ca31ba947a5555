"""Settings on their way from one protocol to another."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from tests.support.requests import (
    ANTHROPIC,
    CHAT,
    RESPONSES,
    body_of,
    chat,
    decoded,
    encoded,
    endpoint,
    user,
)
from tests.support.tables import each_row
from tui_chat.compose import compose
from tui_chat.context import Inputs, SessionSettings
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.preset import Preset
from tui_chat.models.settings import ResponseFormat
from tui_chat.models.text import Origin, OriginKind

OLLAMA = Protocol.OLLAMA
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}


SCHEMA = {"type": "object", "properties": {}, "additionalProperties": False}


def test_another_model_loses_the_settings_it_refuses() -> None:
    own = {"model": "claude-sonnet-4-5", "max_tokens": 9, "temperature": 1, "messages": [user()]}
    envelope = decoded(own, ANTHROPIC)
    origin = Origin(OriginKind.SETTING, "model", "--model")
    parameters = envelope.parameters.with_value("model", "claude-opus-4-8", origin)
    out = encoded(replace(envelope, parameters=parameters), ANTHROPIC)
    assert "temperature" not in body_of(out)
    assert [note.code for note in out.notes] == ["sampling-left-out"]


def test_the_endpoints_limit_needs_no_note() -> None:
    to = replace(endpoint(ANTHROPIC), max_tokens=777)
    out = encoded(decoded(chat(user()), CHAT, "claude-haiku-4-5"), ANTHROPIC, to)
    assert body_of(out)["max_tokens"] == 777
    assert out.notes == ()


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
