"""Tool calls and results, tool names and choices, in every protocol."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from tests.support.requests import (
    ANTHROPIC,
    GEMINI,
    OLLAMA,
    assistant,
    body_of,
    call,
    calls,
    chat,
    converted,
    decoded,
    encoded,
    endpoint,
    function,
    result,
    user,
)
from tests.support.tables import each_row
from tui_chat.analysis.captured_request import read_captured
from tui_chat.compose import compose
from tui_chat.models.blocks import CallBlock
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import Message
from tui_chat.protocols.common.tools import restore_names

Story = list[tuple[str, ...]]


def story(body: Any, protocol: Protocol) -> Story:
    """Tell a body as speech, calls and results, whatever the protocol."""
    match protocol:
        case Protocol.OPENAI_CHAT:
            return [line for message in body["messages"] for line in _chat(message)]
        case Protocol.OPENAI_RESPONSES:
            return [_item(item) for item in body["input"]]
        case Protocol.ANTHROPIC:
            return [line for message in body["messages"] for line in _blocks(message)]
        case Protocol.GEMINI:
            return [line for content in body["contents"] for line in _parts(content)]
        case Protocol.OLLAMA:
            return [line for message in body["messages"] for line in _ollama(message)]


def _chat(message: dict[str, Any]) -> Story:
    if message["role"] == "tool":
        return [("result", message["tool_call_id"], message["content"])]
    words = [(message["role"], message["content"])] if message["content"] else []
    wanted = message.get("tool_calls", [])
    return [*words, *(("call", c["id"], c["function"]["name"]) for c in wanted)]


def _ollama(message: dict[str, Any]) -> Story:
    if message["role"] == "tool":
        return [("result", message.get("tool_call_id", ""), message["content"])]
    return _chat(message)


def _item(item: dict[str, Any]) -> tuple[str, ...]:
    match item.get("type"):
        case "function_call":
            return ("call", item["call_id"], item["name"])
        case "function_call_output":
            return ("result", item["call_id"], item["output"])
        case _:
            return (item["role"], item["content"])


def _blocks(message: dict[str, Any]) -> Story:
    if isinstance(message["content"], str):
        return [(message["role"], message["content"])]
    found: Story = []
    for block in message["content"]:
        match block["type"]:
            case "tool_use":
                found.append(("call", block["id"], block["name"]))
            case "tool_result":
                found.append(("result", block["tool_use_id"], block.get("content", "")))
            case _:
                found.append((message["role"], block["text"]))
    return found


def _parts(content: dict[str, Any]) -> Story:
    found: Story = []
    for part in content["parts"]:
        if called := part.get("functionCall"):
            found.append(("call", called.get("id", ""), called["name"]))
        elif answer := part.get("functionResponse"):
            found.append(("result", answer.get("id", ""), answer["response"]["output"]))
        else:
            role = "assistant" if content["role"] == "model" else content["role"]
            found.append((role, part["text"]))
    return found


@each_row("target", [each for each in Protocol if each is not OLLAMA])
def test_forbidden_names_are_aliased_apart_and_restored(target: Protocol) -> None:
    names = ["a b", "a/b", "a_b"]
    request = chat(user(), calls(call("1", "a/b")), result("1"), tools=[function(n) for n in names])
    envelope = decoded(request)
    out = encoded(envelope, target)
    aliases = dict(out.aliases)
    assert aliases == {"a b": "a_b_2", "a/b": "a_b_3"}
    assert [note.code for note in out.notes].count("tool-renamed") == 2
    asked = (CallBlock("2", "a_b_2", "{}"), CallBlock("3", "a_b", ""))
    reply = Message("assistant", asked)
    assert [c.name for c in restore_names(reply, out.aliases).tool_calls] == ["a b", "a_b"]
    body, _ = converted(request, target)
    assert ("call", "1", "a_b_3") in story(body, target)


USE = [{"type": "tool_use", "id": each, "name": "f", "input": {}} for each in "ab"]
FOUND = [{"type": "tool_result", "tool_use_id": each} for each in "ba"]
CALLED = [{"functionCall": {"id": each, "name": "f", "args": {}}} for each in "ab"]
RESPONSES = [
    {"functionResponse": {"id": each, "name": "f", "response": {"output": each}}} for each in "ba"
]


@each_row(
    ("protocol", "messages", "key"),
    [
        (ANTHROPIC, [user(), assistant(USE), user(FOUND)], "messages"),
        (
            GEMINI,
            [
                {"role": "user", "parts": [{"text": "hi"}]},
                {"role": "model", "parts": CALLED},
                {"role": "user", "parts": RESPONSES},
            ],
            "contents",
        ),
    ],
)
def test_results_of_a_session_in_another_order_are_in_messages_of_the_user(
    protocol: Protocol, messages: list[Any], key: str
) -> None:
    """They are where their calls want them, whatever message they came in."""
    body = json.dumps({"model": "m", "max_tokens": 9, key: messages})
    to = replace(endpoint(protocol), models=("m",))
    inputs = read_captured(body, protocol).inputs(to, "m", datetime(2026, 1, 1, tzinfo=UTC))
    sent = json.loads(compose(inputs).payload.body)
    assert sent[key][1] == messages[1]
    assert {message["role"] for message in sent[key][2:]} == {"user"}
    told = [line[1] for line in story(sent, protocol) if line[0] == "result"]
    assert told == ["a", "b"]


def test_what_is_left_of_a_captured_content_is_no_content_of_the_model() -> None:
    """The results that it began with are muted."""
    parts = [*RESPONSES, {"text": "go on"}]
    contents = [{"role": "model", "parts": [{"text": "hi"}]}, {"role": "user", "parts": parts}]
    envelope = decoded({"contents": contents}, GEMINI, "m")
    left = tuple(turn for turn in envelope.turns if turn.role != "tool")
    sent = body_of(encoded(replace(envelope, turns=left, source=None, rest=None), GEMINI))
    assert sent["contents"] == [contents[0], {"role": "user", "parts": [{"text": "go on"}]}]
