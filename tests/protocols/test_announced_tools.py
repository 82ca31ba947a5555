"""Tools of OpenAI that are no plain functions: what an item of the conversation announces, what
stands in a namespace, and what takes free text. Other protocols get them as functions.
"""

from __future__ import annotations

import json
from typing import Any

from tests.support.requests import ANTHROPIC, CHAT, GEMINI, OLLAMA, RESPONSES
from tui_chat.cli.captured import convert
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import Note

SCHEMA = {"type": "object", "properties": {}}


def function(name: str) -> dict[str, Any]:
    return {"type": "function", "name": name, "parameters": SCHEMA}


GRAMMAR = {"type": "grammar", "syntax": "lark", "definition": "start: WORD"}
NAMESPACES = [
    {
        "type": "namespace",
        "name": "functions",
        "tools": [
            {"type": "custom", "name": "exec", "description": "Runs.", "format": GRAMMAR},
            function("wait"),
        ],
    },
    {"type": "namespace", "name": "clock", "description": "Time.", "tools": [function("wait")]},
    {"type": "image_generation"},
]
LISTED = [
    {"type": "custom", "name": "apply_patch", "description": "d", "format": {"type": "text"}},
    {"type": "namespace", "name": "mcp__git", "tools": [function("log")]},
]
CALLS = [
    ("custom_tool_call", "a", "exec", "functions", "input", "ls -l"),
    ("function_call", "b", "log", "mcp__git", "arguments", "{}"),
    ("function_call", "c", "wait", "clock", "arguments", "{}"),
]
REQUEST = {
    "model": "m",
    "tools": LISTED,
    "input": [
        {"type": "additional_tools", "role": "developer", "tools": NAMESPACES},
        {"role": "user", "content": "hi"},
        *(
            {"type": kind, "call_id": call, "name": name, "namespace": space, key: value}
            for kind, call, name, space, key, value in CALLS
        ),
        *(
            {"type": f"{kind}_output", "call_id": call, "output": "done"}
            for kind, call, *_ in CALLS
        ),
    ],
}
OTHERS = [protocol for protocol in Protocol if protocol is not RESPONSES]
NAMES = ["apply_patch", "mcp__git__log", "exec", "wait", "clock__wait"]


def converted(request: Any, source: Protocol, target: Protocol) -> tuple[Any, list[Note]]:
    body, notes = convert(
        json.dumps(request).encode(), source, Endpoint("e", target, ""), model="m"
    )
    return json.loads(body), list(notes)


def tools_in(body: Any) -> list[tuple[str, Any]]:
    """Return names and schemas of the functions of a request."""
    found: list[tuple[str, Any]] = []
    for entry in body.get("tools", []):
        for each in entry.get("functionDeclarations", [entry.get("function", entry)]):
            keys = ("parameters", "input_schema", "parametersJsonSchema")
            found.append((each["name"], next(each[key] for key in keys if key in each)))
    return found


def calls_in(body: Any, target: Protocol) -> list[tuple[str, Any]]:
    """Return names and arguments of the calls of a request."""
    found: list[tuple[str, Any]] = []
    for message in body.get("messages") or body["contents"]:
        for each in message.get("tool_calls", []):
            inner = each["function"]
            is_text = target is CHAT
            given = json.loads(inner["arguments"]) if is_text else inner["arguments"]
            found.append((inner["name"], given))
        blocks = message.get("parts") or message.get("content") or []
        for block in blocks if isinstance(blocks, list) else []:
            if block.get("type") == "tool_use":
                found.append((block["name"], block["input"]))
            elif "functionCall" in block:
                found.append((block["functionCall"]["name"], block["functionCall"]["args"]))
    return found


def test_functions_and_calls_are_carried_to_every_protocol() -> None:
    wrong: list[str] = []
    expected = [("exec", {"input": "ls -l"}), ("mcp__git__log", {}), ("clock__wait", {})]
    for target in OTHERS:
        body, notes = converted(REQUEST, RESPONSES, target)
        tools = dict(tools_in(body))
        if list(tools) != NAMES:
            wrong.append(f"{target}: {list(tools)}")
        text_tools = [name for name, schema in tools.items() if "input" in schema["properties"]]
        if text_tools != ["apply_patch", "exec"]:
            wrong.append(f"{target}: tools with a text {text_tools}")
        if (found := calls_in(body, target)) != expected:
            wrong.append(f"{target}: calls {found}")
        said = " ".join(note.sentence for note in notes)
        if any(word not in said for word in ("free text", "image_generation", "format", "clock")):
            wrong.append(f"{target}: {said}")
        if "additional_tools" in said:
            wrong.append(f"{target}: {said}")
    assert not wrong, "\n".join(wrong)


def test_it_comes_back_equal_in_its_own_protocol() -> None:
    body, notes = converted(REQUEST, RESPONSES, RESPONSES)
    assert body == REQUEST
    assert notes == []


def test_a_custom_tool_of_chat_is_a_function_elsewhere() -> None:
    call = {"id": "a", "type": "custom", "custom": {"name": "exec", "input": "ls"}}
    request = {
        "model": "m",
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "a", "content": "done"},
        ],
        "tools": [{"type": "custom", "custom": {"name": "exec", "description": "Runs."}}],
    }
    assert converted(request, CHAT, CHAT)[0] == request
    for target in (ANTHROPIC, GEMINI, OLLAMA):
        body, _ = converted(request, CHAT, target)
        assert [name for name, _ in tools_in(body)] == ["exec"], target
        assert calls_in(body, target) == [("exec", {"input": "ls"})], target
