"""Requests with odd values: nothing raises, and in its own protocol a request stays as it was, or a
note says that it did not.

Recorded requests, where they are at hand, and small ones of ours are changed in random places. The
suite tries some hundred; for a long run:

    TUI_CHAT_MUTANTS=25000 uv run pytest tests/protocols/test_mutated_requests.py

`TUI_CHAT_MUTANTS_SEED` begins elsewhere. A long run also takes the roads of the inspector, of
`convert` and of the tap.
"""

from __future__ import annotations

import copy
import json
import os
import random
from collections.abc import Iterator
from typing import Any

from tests.support.agent_requests import agent_body
from tests.support.corpus import RECORDED
from tests.support.requests import (
    ANTHROPIC,
    CHAT,
    GEMINI,
    OLLAMA,
    PICTURE,
    PNG,
    RESPONSES,
    assistant,
    call,
    calls,
    chat,
    function,
    result,
    system,
    user,
)
from tui_chat import extensions
from tui_chat.analysis.captured_request import read_captured
from tui_chat.cli.captured import convert
from tui_chat.compose import encode
from tui_chat.errors import InputError
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.protocols.registry import protocol_of

COUNT = int(os.environ.get("TUI_CHAT_MUTANTS", "400"))
SEED = int(os.environ.get("TUI_CHAT_MUTANTS_SEED", "1"))
LONG = 2_000
"""The number of mutants from which all roads are taken."""
LARGEST = 60_000
"""Characters of the largest recorded request that is changed."""

IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "U0lH"}
USE = {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}}
SCHEMA = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
OURS: list[tuple[Protocol, dict[str, Any]]] = [
    *((protocol, agent_body(protocol)) for protocol in Protocol),
    (
        CHAT,
        chat(
            system("s"),
            user([{"type": "text", "text": "see"}, PICTURE]),
            {
                **calls(call("a"), call("b"), content="w"),
                "reasoning_content": "hm",
                "name": "bot",
            },
            result("a", [{"type": "text", "text": "1"}, PICTURE]),
            result("b", "2"),
            assistant(None, refusal="no"),
            assistant(None, function_call={"name": "f", "arguments": "{}"}),
            {"role": "function", "name": "f", "content": "3"},
            user("x"),
            tools=[function(strict=True), {"type": "custom", "custom": {"name": "g"}}],
            tool_choice={"type": "function", "function": {"name": "f"}},
            response_format={"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}},
            web_search_options={"search_context_size": "low", "user_location": {"type": "exact"}},
            reasoning_effort="low",
            stop=["a"],
            logprobs=True,
            top_logprobs=2,
            stream=True,
            stream_options={"include_usage": True},
            prompt_cache_options={"ttl": "12h"},
        ),
    ),
    (
        ANTHROPIC,
        {
            "model": "claude-sonnet-4-5",
            "max_tokens": 9000,
            "system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}],
            "messages": [
                user([{"type": "text", "text": "see"}, IMAGE]),
                assistant([THOUGHT, {"type": "text", "text": "w"}, USE]),
                user(
                    [
                        {
                            "type": "tool_result",
                            "tool_use_id": "a",
                            "content": [{"type": "text", "text": "1"}, IMAGE],
                            "is_error": False,
                        },
                        {"type": "text", "text": "and?"},
                    ]
                ),
            ],
            "tools": [
                {"name": "f", "description": "d", "input_schema": SCHEMA},
                {"type": "web_search_20250305", "name": "web_search", "max_uses": 2},
            ],
            "tool_choice": {"type": "tool", "name": "f", "disable_parallel_tool_use": True},
            "thinking": {"type": "enabled", "budget_tokens": 2000},
            "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": SCHEMA}},
            "metadata": {"user_id": "u"},
            "stop_sequences": ["a"],
            "stream": True,
        },
    ),
    (
        RESPONSES,
        {
            "model": "gpt-5",
            "instructions": "s",
            "input": [
                {
                    "type": "additional_tools",
                    "tools": [
                        {
                            "type": "namespace",
                            "name": "n",
                            "tools": [
                                {"type": "custom", "name": "g", "format": {"type": "text"}},
                                {"type": "function", "name": "h", "parameters": SCHEMA},
                            ],
                        }
                    ],
                },
                user(
                    [
                        {"type": "input_text", "text": "see"},
                        {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"},
                    ]
                ),
                {
                    "type": "reasoning",
                    "id": "rs_1",
                    "summary": [{"type": "summary_text", "text": "hm"}],
                    "encrypted_content": "RU5D",
                },
                {
                    "type": "message",
                    "id": "msg_1",
                    "role": "assistant",
                    "status": "completed",
                    "content": [{"type": "output_text", "text": "w", "annotations": []}],
                },
                {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
                {"type": "custom_tool_call", "call_id": "b", "name": "g", "input": "x"},
                {"type": "function_call_output", "call_id": "a", "output": "1"},
                {
                    "type": "custom_tool_call_output",
                    "call_id": "b",
                    "output": [{"type": "input_text", "text": "2"}],
                },
            ],
            "tools": [
                {"type": "function", "name": "f", "parameters": SCHEMA, "strict": False},
                {"type": "web_search", "filters": {"allowed_domains": ["e.invalid"]}},
            ],
            "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": []},
            "reasoning": {"effort": "low", "summary": "auto"},
            "text": {
                "verbosity": "low",
                "format": {"type": "json_schema", "name": "n", "schema": SCHEMA},
            },
            "include": ["reasoning.encrypted_content"],
            "previous_response_id": "resp_1",
            "store": False,
        },
    ),
    (
        GEMINI,
        {
            "systemInstruction": {"parts": [{"text": "s"}], "role": "user"},
            "contents": [
                {
                    "role": "user",
                    "parts": [
                        {"text": "see"},
                        {"inline_data": {"mime_type": "image/png", "data": PNG}},
                        {"fileData": {"mimeType": "video/mp4", "fileUri": "gs://b/v"}},
                    ],
                },
                {
                    "role": "model",
                    "parts": [
                        {"text": "hm", "thought": True, "thoughtSignature": "U0lH"},
                        {"functionCall": {"id": "a", "name": "f", "args": {"x": 1}}},
                    ],
                },
                {
                    "role": "user",
                    "parts": [
                        {
                            "functionResponse": {
                                "id": "a",
                                "name": "f",
                                "response": {"output": "1"},
                                "parts": [{"inlineData": {"mimeType": "image/png", "data": PNG}}],
                            }
                        }
                    ],
                },
            ],
            "tools": [
                {"functionDeclarations": [{"name": "f", "parametersJsonSchema": SCHEMA}]},
                {"googleSearch": {}},
            ],
            "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
            "generationConfig": {
                "temperature": 1,
                "stopSequences": ["a"],
                "responseMimeType": "application/json",
                "responseSchema": {"type": "OBJECT"},
                "thinkingConfig": {"includeThoughts": True, "thinkingBudget": 100},
            },
            "safetySettings": [],
        },
    ),
    (
        OLLAMA,
        {
            "model": "qwen3",
            "messages": [
                {"role": "system", "content": "s"},
                {"role": "user", "content": "see", "images": [PNG]},
                {
                    "role": "assistant",
                    "content": "w",
                    "thinking": "hm",
                    "tool_calls": [{"function": {"name": "f", "arguments": {"x": 1}}}],
                },
                {"role": "tool", "tool_name": "f", "content": "1"},
            ],
            "tools": [function()],
            "format": SCHEMA,
            "options": {"temperature": 1, "stop": ["a"], "num_ctx": 9},
            "think": "low",
            "stream": False,
        },
    ),
]
VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 2.5, 1e300, "", " ", "x", "none", "auto", "user", "assistant"),
    *([], {}, [{}], ["x"], [None], {"x": 1}, {"type": "text"}, {"type": "text", "text": ""}),
    *("text", "tool", "image", "é\u2028\U0001f600", [[]], {"role": "user"}, 10**30),
]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value inside a value."""
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in entries:
        yield (*path, key)
        if isinstance(inner, dict | list):
            yield from places(inner, (*path, key))


def changed(value: Any, chance: random.Random) -> Any:
    """Return a request with one to three values deleted, replaced, doubled or of another type."""
    value = copy.deepcopy(value)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        paths = list(places(value))
        if not paths:
            break
        *path, key = chance.choice(paths)
        holder = value
        for step in path:
            holder = holder[step]
        match chance.randrange(6):
            case 0:
                del holder[key]
            case 1 if isinstance(holder, list):
                holder.insert(key, copy.deepcopy(holder[key]))
            case 2 if isinstance(holder, dict):
                holder[chance.choice(("x", "type", "id", "name", "content", "role"))] = holder.pop(
                    key
                )
            case 3:
                holder[key] = [holder[key]]
            case 4:
                *_, other = chance.choice(paths)
                holder[key] = other if isinstance(other, str) else str(holder[key])
            case _:
                holder[key] = copy.deepcopy(chance.choice(VALUES))
    return value


def same(one: Any, other: Any) -> bool:
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def fault(protocol: Protocol, body: bytes, *, is_long: bool) -> str:
    """Return what is wrong with the answer to a request; empty if nothing is."""
    try:
        envelope = protocol_of(protocol).decode(body)
    except InputError:
        return ""
    for target in Protocol:
        made = encode(envelope, Endpoint("e", target, ""))
        assert json.loads(made.payload.body) is not None
        if target is protocol and not made.notes and not envelope.notes:
            sent = json.loads(made.payload.body)
            if not same(sent, json.loads(body)):
                return f"changed without a note: {made.payload.body.decode()}"
    if is_long:
        other_roads(protocol, body)
    return ""


def other_roads(protocol: Protocol, body: bytes) -> None:
    """Read and show a request as the inspector, `convert` and the tap do."""
    captured = read_captured(body.decode(), protocol)
    captured.composed(Endpoint("e", protocol, ""), "m")
    for target in Protocol:
        convert(body, protocol, Endpoint("e", target, ""), model="gpt-5")
    text = json.dumps({"log": {"entries": [har_entry(protocol, body)] * 2}})
    for plugin in extensions.plugins():
        for recording in plugin.recordings:
            if extensions.load_part(plugin, recording.detect)(text):
                extensions.load_part(plugin, recording.choose)(text, 1, as_json=True)


PATHS = {
    CHAT: "/v1/chat/completions",
    RESPONSES: "/v1/responses",
    ANTHROPIC: "/v1/messages",
    GEMINI: "/v1beta/models/gemini-3-pro:generateContent",
    OLLAMA: "/api/chat",
}


def har_entry(protocol: Protocol, body: bytes) -> dict[str, Any]:
    """Return a call as a HAR file has it."""
    return {
        "startedDateTime": "2026-01-01T00:00:00Z",
        "time": 5,
        "request": {
            "method": "POST",
            "url": f"https://e.invalid{PATHS[protocol]}",
            "headers": [{"name": "content-type", "value": "application/json"}],
            "postData": {"mimeType": "application/json", "text": body.decode()},
        },
        "response": {"status": 200, "headers": [], "content": {"text": "{}"}},
        "timings": {"send": 1, "wait": 1, "receive": 1},
    }


def requests() -> list[tuple[Protocol, Any]]:
    recorded = [
        (protocol, json.loads(path.read_text()))
        for protocol, path in RECORDED
        if path.stat().st_size <= LARGEST
    ]
    return [*OURS, *recorded] if COUNT >= LONG else [*OURS, *recorded[::7]]


def test_the_requests_of_ours_come_back_equal() -> None:
    for protocol, request in OURS:
        wrong = fault(protocol, json.dumps(request).encode(), is_long=True)
        assert not wrong, f"{protocol}: {wrong}"


def test_a_request_with_odd_values_raises_nothing_and_changes_with_a_note(capsys: Any) -> None:
    chance = random.Random(SEED)
    pool = requests()
    wrong: list[str] = []
    for number in range(COUNT):
        protocol, request = pool[chance.randrange(len(OURS)) if number % 2 else number % len(pool)]
        body = json.dumps(changed(request, chance), ensure_ascii=False).encode()
        try:
            why = fault(protocol, body, is_long=COUNT >= LONG)
        except Exception as error:  # whatever it is, it is what this test looks for
            why = f"{type(error).__name__}: {error}"
        capsys.readouterr()
        if why:
            wrong.append(f"{protocol} mutant {number}: {body.decode()}\n  {why}")
    report = os.environ.get("TUI_CHAT_MUTANTS_REPORT")
    if report:
        with open(report, "w", encoding="utf-8") as file:
            file.write("\n".join(wrong))
    assert not wrong, "\n".join([f"{len(wrong)} of {COUNT}", *(line[:1500] for line in wrong[:8])])
