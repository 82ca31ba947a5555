"""Reading captured requests: nothing is lost, and junk is refused with a sentence."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.requests import (
    ANTHROPIC,
    CHAT,
    GEMINI,
    PICTURE,
    PNG,
    RESPONSES,
    assistant,
    call,
    calls,
    chat,
    converted,
    decoded,
    function,
    result,
    system,
    user,
)
from tests.support.tables import each_row
from tui_chat.errors import InputError
from tui_chat.models.endpoint import Protocol
from tui_chat.protocols.registry import PROTOCOLS

WORD = {"type": "text", "text": "w"}
MARK = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}

CHAT_BODIES: list[dict[str, Any]] = [
    chat(user()),
    {"messages": [user()]},
    chat(user([]), user(None), {"role": "user"}),
    chat(system([WORD]), {"role": "developer", "content": "d"}, user([WORD, PICTURE, WORD])),
    chat(
        user(),
        assistant("x", refusal=None, tool_calls=None, annotations=[]),
        assistant(""),
        assistant(None),
    ),
    chat(user(), calls(call("a", arguments="{broken")), result("a", [WORD]), stream=False),
    chat(user(), calls({**call("a"), "index": 0, "x": {"y": None}}, content=""), result("a")),
    chat(user(), assistant([WORD, {"type": "refusal", "refusal": "no"}]), user()),
    chat(user(), assistant("x", reasoning_content="r", reasoning="s"), user()),
    chat(
        user(),
        assistant(
            "x",
            reasoning_details=[
                {"type": "reasoning.text", "text": "t", "signature": "s", "index": 0},
                {"type": "reasoning.encrypted", "data": "d", "format": "f-v1", "index": 1},
            ],
        ),
        user(),
    ),
    chat(user(), assistant("x", reasoning_details=[{"type": "odd", "n": 1}]), user()),
    chat(
        user(
            [
                {"type": "image_url", "image_url": {"url": "https://x/y", "detail": "low", "z": 1}},
                {"type": "image_url", "image_url": {"url": "data:image/png;a=b;base64,AA=="}},
                {"type": "input_audio", "input_audio": {"data": "AA==", "format": "mp3"}},
                {"type": "input_audio", "input_audio": {"data": "AA==", "format": "flac"}},
                {"type": "file", "file": {"file_id": "file-1"}},
                {"type": "file", "file": {"filename": "f", "file_data": "https://x/f.pdf"}},
                {"type": "video_url", "video_url": {"url": "v"}},
            ]
        )
    ),
    chat(
        user(),
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "r"},
    ),
    chat(
        user(),
        calls({"id": "c", "type": "custom", "custom": {"name": "py", "input": "1+1"}}),
        result("c"),
        tools=[{"type": "custom", "custom": {"name": "py"}}, function(strict=True, x=1)],
    ),
    chat(
        user(),
        tools=[{"type": "function", "function": {"name": "f", "description": None}}],
        tool_choice={"type": "custom", "custom": {"name": "q"}},
        response_format={"type": "grammar", "grammar": "x"},
        parallel_tool_calls=False,
        stop="END",
        max_tokens=5,
        max_completion_tokens=6,
        temperature=None,
        stream=True,
        stream_options={"include_usage": False},
        reasoning_effort="high",
        n=2,
        logit_bias={"1": -100},
        x_vendor={"deep": [1, None, {}]},
    ),
]

RESPONSES_BODIES: list[dict[str, Any]] = [
    {"model": "m", "input": "hi"},
    {"model": "m", "input": "", "instructions": ""},
    {"model": "m", "previous_response_id": "resp_1", "input": None},
    {"model": "m", "conversation": {"id": "conv_1"}},
    {"prompt": {"id": "p", "variables": {}}},
    {
        "model": "m",
        "instructions": "I",
        "input": [
            {"role": "developer", "content": "d"},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"}]},
            {
                "type": "reasoning",
                "id": "rs_1",
                "summary": [
                    {"type": "summary_text", "text": "s1"},
                    {"type": "summary_text", "text": "s2"},
                ],
                "content": [{"type": "reasoning_text", "text": "t"}],
                "encrypted_content": "e",
                "status": None,
            },
            {
                "type": "message",
                "id": "msg_1",
                "role": "assistant",
                "status": "completed",
                "phase": "commentary",
                "content": [
                    {"type": "output_text", "text": "a", "annotations": [], "logprobs": [1]},
                    {"type": "output_text", "text": "b", "annotations": []},
                    {"type": "refusal", "refusal": "no"},
                ],
            },
            {"type": "web_search_call", "id": "ws_1", "status": "completed"},
            {
                "type": "function_call",
                "id": "fc_1",
                "call_id": "c1",
                "name": "f",
                "arguments": "{}",
                "status": "completed",
            },
            {"role": "user", "content": "between"},
            {"type": "function_call_output", "call_id": "c1", "output": "o", "id": "fc_2"},
            {"role": "assistant", "content": "x"},
            {"role": "assistant", "content": "y"},
            {"type": "custom_tool_call", "call_id": "c2", "name": "py", "input": "1+1", "x": 1},
            {"type": "custom_tool_call_output", "call_id": "c2", "output": "2", "id": "ctc_1"},
            {"type": "reasoning", "id": "rs_2", "summary": []},
            {"type": "item_reference", "id": "msg_9"},
        ],
    },
    {
        "model": "m",
        "input": [
            {"role": "user", "content": [
                {"type": "input_image", "image_url": "data:image/png;base64,AA==", "detail": "low"},
                {"type": "input_image", "file_id": "file-1", "detail": "auto"},
                {"type": "input_file", "filename": "a.pdf", "file_data": "JVBERi0="},
                {"type": "input_file", "file_url": "https://x/a.pdf"},
                {"type": "input_odd", "x": 1},
            ]},
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": [
                {"type": "input_text", "text": "o"},
                {"type": "input_image", "image_url": "https://x/y.png"},
            ]},
        ],
        "tools": [
            {"type": "web_search", "search_context_size": "low"},
            {"type": "function", "name": "f", "parameters": None, "strict": None},
            {"type": "mcp", "server_label": "s", "server_url": "u"},
        ],
        "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [
            {"type": "function", "name": "f"}]},
        "text": {"format": {"type": "text"}, "verbosity": "low"},
        "reasoning": {"effort": "low", "summary": "auto"},
        "max_output_tokens": 1,
        "store": False,
        "stream": True,
        "truncation": "auto",
        "x": 1,
    },
]  # fmt: skip

ANTHROPIC_BODIES: list[dict[str, Any]] = [
    {"model": "m", "max_tokens": 9, "messages": [user()]},
    {"messages": [user([])], "system": ""},
    {"messages": [user(None), {"role": "user"}, user()]},
    {
        "model": "m",
        "max_tokens": 9,
        "messages": [user()],
        "thinking": {"type": "adaptive"},
        "output_config": {"effort": "high", "x": 1},
    },
    {
        "model": "m",
        "max_tokens": 9,
        "system": "S",
        "messages": [user(), assistant("x"), system([WORD]), user()],
    },
    {
        "model": "m",
        "max_tokens": 9,
        "system": [{**WORD, **MARK}, {**WORD, "x": 1}],
        "messages": [
            {**user([{**WORD, **MARK}]), "x_message": 1},
            assistant(
                [
                    {"type": "thinking", "thinking": "", "signature": "c2ln"},
                    {"type": "redacted_thinking", "data": "ZGF0YQ=="},
                    {**WORD, "citations": [{"type": "char_location"}]},
                    {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
                    {"type": "web_search_tool_result", "tool_use_id": "s", "content": []},
                    {"type": "tool_use", "id": "a", "name": "f", "input": {"n": 1.5}, **MARK},
                    {"type": "tool_use", "id": "b", "name": "f", "input": {}},
                ]
            ),
            user(
                [
                    {"type": "tool_result", "tool_use_id": "b", "is_error": False, **MARK},
                    {
                        "type": "tool_result",
                        "tool_use_id": "a",
                        "is_error": True,
                        "content": [WORD, {"type": "tool_reference", "tool_name": "f"}],
                    },
                    WORD,
                    {"type": "image", "source": {"type": "url", "url": "https://x/y.png"}},
                    {
                        "type": "document",
                        "title": "T",
                        "context": "c",
                        "source": {"type": "text", "media_type": "text/plain", "data": "D"},
                        "citations": {"enabled": True},
                    },
                    {"type": "document", "source": {"type": "content", "content": "c"}},
                    {"type": "image", "source": {"type": "file", "file_id": "f1"}},
                ]
            ),
            assistant("one"),
            assistant([WORD]),
            user(),
        ],
        "tools": [
            {"name": "f", "input_schema": {"type": "object"}, "defer_loading": True, **MARK},
            {"type": "custom", "name": "g", "description": "", "input_schema": {"type": "object"}},
            {"type": "bash_20250124", "name": "bash"},
        ],
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
        "thinking": {"type": "enabled", "budget_tokens": 1024},
        "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": {"a": 1}}},
        "metadata": {"user_id": "u"},
        "stop_sequences": ["x"],
        "temperature": 0.5,
        "stream": False,
        "x": None,
    },
]


def content(role: str | None, *parts: dict[str, Any]) -> dict[str, Any]:
    return {**({"role": role} if role else {}), "parts": list(parts)}


GEMINI_BODIES: list[dict[str, Any]] = [
    {"contents": [content(None, {"text": "hi"})]},
    {"contents": [{"role": "user"}, content("user"), content("model", {"text": ""})]},
    {
        "model": "models/gemini-3-pro",
        "systemInstruction": {"role": "user", "parts": [{"text": "a"}, {"text": "b"}]},
        "contents": [
            content(
                "user",
                {"text": "t"},
                {"inlineData": {"mimeType": "image/png", "data": PNG, "displayName": "d"}},
                {"fileData": {"fileUri": "gs://x"}, "videoMetadata": {"fps": 2}},
                {"fileData": {"fileUri": "gs://y", "mimeType": "image/png", "x": 1}},
                {"inlineData": {"mimeType": "image/png", "data": PNG, "x": 1}},
            ),
            content(
                "model",
                {"text": "hm", "thought": True, "thoughtSignature": "UzA="},
                {"text": "a", "thought": False},
                {"executableCode": {"language": "PYTHON", "code": "1"}},
                {"functionCall": {"id": "1", "name": "f", "args": {"a": []}, "x": 1}},
                {"functionCall": {"name": "g"}, "thoughtSignature": "UzE="},
            ),
            content(
                "user",
                {"functionResponse": {"id": "1", "name": "f", "response": {"output": "o"}}},
                {"functionResponse": {"name": "g", "response": {"a": {"output": 1}}}},
                {"text": "and"},
            ),
            content("model", {"text": "x"}),
        ],
        "tools": [
            {"functionDeclarations": [{"name": "f", "parametersJsonSchema": {"type": "object"}}]},
            {"googleSearch": {}},
            {"functionDeclarations": [{"name": "g"}], "codeExecution": {}},
        ],
        "toolConfig": {
            "functionCallingConfig": {"mode": "VALIDATED"},
            "retrievalConfig": {"languageCode": "en"},
        },
        "generationConfig": {
            "temperature": 0,
            "responseMimeType": "application/json",
            "responseSchema": {"type": "STRING"},
            "thinkingConfig": {"thinkingBudget": 5},
            "candidateCount": 1,
        },
        "safetySettings": [{"category": "c", "threshold": "t"}],
        "labels": {"a": "b"},
    },
    {
        "system_instruction": {"parts": [{"text": "s"}]},
        "contents": [
            content("user", {"inline_data": {"mime_type": "image/png", "data": PNG}}),
            content(
                "model",
                {"function_call": {"name": "f", "args": {}}, "thought_signature": "UzE="},
            ),
            content("user", {"function_response": {
                "name": "f",
                "response": {"error": "e"},
                "parts": [{"file_data": {"file_uri": "u", "mime_type": "image/png"}}],
            }}),
        ],
        "tools": {"function_declarations": [{"name": "f", "parameters_json_schema": {"a": 1}}]},
        "tool_config": {
            "function_calling_config": {"mode": "ANY", "allowed_function_names": ["f"]}
        },
        "generation_config": {
            "max_output_tokens": 5,
            "thinking_config": {"include_thoughts": True},
        },
        "x_unknown": 1,
    },
]  # fmt: skip

BODIES = [
    *((CHAT, body) for body in CHAT_BODIES),
    *((RESPONSES, body) for body in RESPONSES_BODIES),
    *((ANTHROPIC, body) for body in ANTHROPIC_BODIES),
    *((GEMINI, body) for body in GEMINI_BODIES),
]


@each_row(("protocol", "body"), BODIES)
def test_a_request_round_trips(protocol: Protocol, body: dict[str, Any]) -> None:
    assert converted(body, protocol, source=protocol)[0] == body


@each_row("target", list(Protocol))
@each_row(("protocol", "body"), BODIES)
def test_any_request_encodes_in_any_protocol(
    protocol: Protocol, body: dict[str, Any], target: Protocol
) -> None:
    converted(body, target, source=protocol)


JUNK: list[tuple[bytes, str]] = [
    (b"", "not JSON"),
    (b"\xff", "not UTF-8"),
    (b"[]", "a list and not an object"),
    (b"{", "not JSON"),
    (b'{"messages": [], "contents": [], "input": [], "x": NaN}', "NaN is not a JSON number"),
    (b'{"messages": [], "contents": [], "input": [], "x": 1e999}', "too large"),
    (b'{"x": ' + b"[" * 300 + b"]" * 300 + b"}", "nested"),
    (b'{"x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested"),
    (b"{}", "it has no"),
    (b'{"messages": 1, "contents": 1, "input": 1}', "must be a"),
    (b'{"messages": [1], "contents": [1], "input": [1]}', "must be an object"),
    (
        b'{"messages": [{"role": "x"}], "contents": [{"role": "x"}], "input": [{"role": "x"}]}',
        "must be",
    ),
]


@each_row("protocol", list(Protocol))
@each_row(("body", "words"), JUNK)
def test_junk_is_refused_with_a_sentence(protocol: Protocol, body: bytes, words: str) -> None:
    with pytest.raises(InputError, match=words):
        PROTOCOLS[protocol].decode(body)


def test_content_that_is_none_names_its_place() -> None:
    with pytest.raises(InputError, match=r"messages\[1\]\.content must be"):
        decoded(chat(user(), user(5)))


def test_the_envelope_has_the_meaning() -> None:
    request = chat(
        system("S"),
        user([WORD, PICTURE]),
        calls(call("a", arguments='{"x":1}')),
        result("a"),
        temperature=0.5,
        max_completion_tokens=5,
        stream=True,
        tools=[function(description="d")],
    )
    envelope = decoded(json.loads(json.dumps(request)))
    assert [turn.role for turn in envelope.turns] == ["system", "user", "assistant", "tool"]
    picture = envelope.turns[1].parts[0]
    assert (picture.kind, picture.mime, picture.data) == ("image", "image/png", PNG)
    assert envelope.turns[2].tool_calls[0].arguments == '{"x":1}'
    parameters = envelope.parameters
    assert parameters.temperature is not None
    assert parameters.max_tokens is not None
    assert (parameters.model.value, parameters.temperature.value, parameters.max_tokens.value) == (
        "m",
        0.5,
        5,
    )
    assert parameters.stream
    assert envelope.tools is not None
    assert envelope.tools[0].description == "d"
    assert envelope.semantics.source is CHAT
