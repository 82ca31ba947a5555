from __future__ import annotations

import json
import shlex
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.context.requests import ENDPOINT, LETTERS
from tests.strategies import histories
from tui_chat.analysis.captured_request import read_captured
from tui_chat.compose import compose
from tui_chat.context import Inputs
from tui_chat.errors import InputError
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.message import Message
from tui_chat.models.preset import Preset, PresetMessage
from tui_chat.protocols.detection import detect_request

BODIES: dict[Protocol, dict[str, Any]] = {
    Protocol.OPENAI_CHAT: {
        "model": "gpt-4o",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "It's me"},
        ],
        "temperature": 0.5,
    },
    Protocol.OPENAI_RESPONSES: {
        "model": "gpt-4o",
        "instructions": "Be brief.",
        "input": [{"role": "user", "content": "It's me"}],
        "temperature": 0.5,
    },
    Protocol.ANTHROPIC: {
        "model": "claude-sonnet-4-5",
        "max_tokens": 100,
        "system": "Be brief.",
        "messages": [{"role": "user", "content": "It's me"}],
        "temperature": 0.5,
    },
    Protocol.GEMINI: {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [{"role": "user", "parts": [{"text": "It's me"}]}],
        "generationConfig": {"temperature": 0.5},
    },
}


@pytest.mark.parametrize("protocol", list(Protocol))
def test_a_body_is_known_and_taken_apart(protocol: Protocol) -> None:
    found = read_captured(json.dumps(BODIES[protocol]))
    assert found.protocol is protocol
    assert [(m.role, m.content) for m in found.messages] == [("user", "It's me")]
    assert found.settings.temperature == 0.5
    preset = found.preset("pasted")
    assert [(m.type, m.content) for m in preset.messages] == [
        ("message", "Be brief."),
        ("chat_history", ""),
    ]


@pytest.mark.parametrize("protocol", list(Protocol))
def test_a_curl_command_has_a_body_in_it(protocol: Protocol) -> None:
    body = json.dumps(BODIES[protocol])
    text = f"curl -X POST https://here.invalid/v1 -H 'X: {{a}}' -d {shlex.quote(body)}"
    dollar = text.replace("'\"'\"'", "'\\''")
    assert read_captured(dollar).protocol is protocol
    assert read_captured(dollar).messages[0].content == "It's me"


@pytest.mark.parametrize(
    ("more", "protocol"),
    [
        ({"tools": [{"name": "t", "input_schema": {}}]}, Protocol.ANTHROPIC),
        ({"tools": [{"type": "function", "function": {"name": "t"}}]}, Protocol.OPENAI_CHAT),
        ({"stop_sequences": ["x"]}, Protocol.ANTHROPIC),
        ({"max_completion_tokens": 5}, Protocol.OPENAI_CHAT),
        ({"model": "claude-x"}, Protocol.ANTHROPIC),
        ({"model": "who-knows"}, Protocol.OPENAI_CHAT),
    ],
)
def test_what_only_one_of_them_says_tells(more: dict[str, Any], protocol: Protocol) -> None:
    body = {"messages": [{"role": "user", "content": "a"}], **more}
    assert detect_request(body) is protocol


@pytest.mark.parametrize(
    "text", ["", "hello", "[]", "{}", '{"messages": 3}', "{" * 5000, "\ud800{"]
)
def test_what_is_no_request_is_told(text: str) -> None:
    with pytest.raises(InputError) as told:
        read_captured(text)
    assert told.value.advice


@given(st.text() | st.text("{}[]\":,messagesinput\\' ", max_size=200))
def test_nothing_that_is_pasted_is_too_strange(text: str) -> None:
    with suppress(InputError):
        assert isinstance(json.loads(read_captured(text).body), dict)


@given(histories(), st.sampled_from(list(Protocol)))
def test_a_pasted_request_makes_the_same_request_again(
    history: tuple[Message, ...], protocol: Protocol
) -> None:
    place = Endpoint(ENDPOINT.name, protocol, ENDPOINT.base_url, models=("m",))
    preset = Preset("p", (PresetMessage("s", content="Be brief."), *HISTORY))
    first = compose(Inputs(place, preset, history, "Now"), lambda _: LETTERS)
    found = read_captured(first.payload.body.decode())
    again = compose(
        Inputs(
            place,
            found.preset("q"),
            found.messages,
            settings=found.settings,
        ),
        lambda _: LETTERS,
    )
    assert json.loads(again.payload.body) == json.loads(first.payload.body)


HISTORY = (PresetMessage("history", "user", type="chat_history"),)


def test_the_marks_of_its_system_prompt_stay() -> None:
    block = {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}
    body = {"model": "claude-x", "system": [block], "messages": [{"role": "user", "content": "x"}]}
    preset = read_captured(json.dumps(body)).preset("p")
    assert [message.cache_control for message in preset.messages] == ["5m", None]


@pytest.mark.parametrize(
    ("body", "model", "not_kept"),
    [
        ({"model": "m", "messages": [], "temperature": 1, "max_tokens": 9}, "m", ()),
        (
            {
                "model": "m",
                "messages": [],
                "tools": [{"type": "function", "function": {"name": "dig"}}],
                "seed": 1,
                "stop": None,
            },
            "m",
            ("tools (dig)", "seed"),
        ),
        (
            {
                "contents": [],
                "generationConfig": {"topK": 3, "temperature": 1, "maxOutputTokens": 9},
                "tools": [{"functionDeclarations": [{"name": "dig"}]}, {"googleSearch": {}}],
            },
            "",
            ("tools (dig, googleSearch)", "topK"),
        ),
        ({"model": "m", "input": "x", "instructions": "y", "store": False}, "m", ("store",)),
    ],
)
def test_what_has_no_place_in_a_session_is_named(
    body: dict[str, Any], model: str, not_kept: tuple[str, ...]
) -> None:
    found = read_captured(json.dumps(body))
    assert (found.settings.model, found.not_kept) == (model, not_kept)
