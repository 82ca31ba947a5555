from __future__ import annotations

import json
import shlex
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.contexts import ENDPOINT, LETTERS
from tests.support.strategies import histories
from tests.support.tables import each_row
from tui_chat.analysis.captured_request import read_captured
from tui_chat.compose import compose
from tui_chat.context import Inputs, SessionSettings
from tui_chat.errors import InputError
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.message import Message
from tui_chat.models.preset import Preset, PresetMessage
from tui_chat.protocols.registry import detect_request

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
    Protocol.OLLAMA: {
        "model": "qwen3:8b",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "It's me"},
        ],
        "options": {"temperature": 0.5},
    },
}


@each_row("protocol", list(Protocol))
def test_the_protocol_of_a_body_is_detected_and_decoded(protocol: Protocol) -> None:
    found = read_captured(json.dumps(BODIES[protocol]))
    assert found.protocol is protocol
    assert [(m.role, m.content) for m in found.messages] == [("user", "It's me")]
    assert found.settings.temperature == 0.5
    preset = found.preset("pasted")
    assert [(m.type, m.content) for m in preset.messages] == [
        ("message", "Be brief."),
        ("chat_history", ""),
    ]


@each_row("protocol", list(Protocol))
def test_the_body_of_a_curl_command_is_found(protocol: Protocol) -> None:
    body = json.dumps(BODIES[protocol])
    text = f"curl -X POST https://here.invalid/v1 -H 'X: {{a}}' -d {shlex.quote(body)}"
    dollar = text.replace("'\"'\"'", "'\\''")
    assert read_captured(dollar).protocol is protocol
    assert read_captured(dollar).messages[0].content == "It's me"


@each_row(
    ("more", "protocol"),
    [
        ({"tools": [{"name": "t", "input_schema": {}}]}, Protocol.ANTHROPIC),
        ({"tools": [{"type": "function", "function": {"name": "t"}}]}, Protocol.OPENAI_CHAT),
        ({"stop_sequences": ["x"]}, Protocol.ANTHROPIC),
        ({"max_completion_tokens": 5}, Protocol.OPENAI_CHAT),
        ({"model": "claude-x"}, Protocol.ANTHROPIC),
        ({"options": {"num_ctx": 8192}, "tools": [{"function": {"name": "t"}}]}, Protocol.OLLAMA),
        ({"keep_alive": "5m"}, Protocol.OLLAMA),
        ({"think": True}, Protocol.OLLAMA),
        ({"model": "who-knows"}, Protocol.OPENAI_CHAT),
    ],
)
def test_fields_of_one_protocol_identify_it(more: dict[str, Any], protocol: Protocol) -> None:
    body = {"messages": [{"role": "user", "content": "a"}], **more}
    assert detect_request(body) is protocol


@each_row("text", ["", "hello", "[]", "{}", '{"messages": 3}', "{" * 5000, "\ud800{"])
def test_text_that_is_not_a_request_is_refused(text: str) -> None:
    with pytest.raises(InputError) as told:
        read_captured(text)
    assert told.value.advice


@given(st.text() | st.text("{}[]\":,messagesinput\\' ", max_size=200))
def test_any_pasted_text_is_handled(text: str) -> None:
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
        Inputs(place, found.preset("q"), found.messages, settings=found.settings), lambda _: LETTERS
    )
    assert json.loads(again.payload.body) == json.loads(first.payload.body)


HISTORY = (PresetMessage("history", "user", type="chat_history"),)


def test_the_marks_of_its_system_prompt_stay() -> None:
    block = {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}
    body = {"model": "claude-x", "system": [block], "messages": [{"role": "user", "content": "x"}]}
    preset = read_captured(json.dumps(body)).preset("p")
    assert [message.cache_control for message in preset.messages] == ["5m", None]


def test_the_settings_that_a_session_can_hold_are_kept() -> None:
    body = {
        "model": "m", "messages": [], "temperature": 0.5, "top_p": 0.5, "seed": 1, "stop": "END",
        "presence_penalty": 9, "parallel_tool_calls": False, "reasoning_effort": "high",
    }  # fmt: skip
    found = read_captured(json.dumps(body))
    assert found.settings == SessionSettings(
        model="m", temperature=0.5, top_p=0.5, seed=1, stop=("END",), parallel_tool_calls=False
    )
    assert found.not_kept == ("presence_penalty", "reasoning_effort"), "one is out of range"
    body = {"contents": [], "generationConfig": {"topK": 3, "stopSequences": ["a"]}}
    found = read_captured(json.dumps(body))
    assert found.settings == SessionSettings(top_k=3, stop=("a",))
    assert found.not_kept == ()


@each_row(
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
            ("tools (dig)",),
        ),
        (
            {
                "contents": [],
                "generationConfig": {"topK": 3, "temperature": 1, "maxOutputTokens": 9},
                "tools": [{"functionDeclarations": [{"name": "dig"}]}, {"googleSearch": {}}],
            },
            "",
            ("tools (dig, googleSearch)",),
        ),
        ({"model": "m", "input": "x", "instructions": "y", "store": False}, "m", ("store",)),
    ],
)
def test_parts_without_a_place_in_a_session_are_listed(
    body: dict[str, Any], model: str, not_kept: tuple[str, ...]
) -> None:
    found = read_captured(json.dumps(body))
    assert (found.settings.model, found.not_kept) == (model, not_kept)
