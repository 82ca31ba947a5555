"""Bodies as today's agents send them: read without a note, all of their text in the count, and
encoded again as the same JSON.
"""

from __future__ import annotations

import json
from typing import Any

from tests.support.tables import each_row
from tui_chat.analysis.captured_request import read_captured
from tui_chat.compose import Composed, encode
from tui_chat.models.endpoint import Endpoint, Protocol

PROSE = (
    "Read a file before you change it, and keep the style of the code around your change. Run the "
    "tests that cover it. If a command fails twice, stop and say what you tried. Never write to "
    "paths outside of the working directory unless the user asked for it.\n"
)
SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "The file, relative to the working directory."},
        "limit": {"type": "number", "description": "The number of lines; all if it is left out."},
    },
    "required": ["path"],
    "additionalProperties": False,
}


def named(count: int) -> list[tuple[str, str]]:
    """Return names and descriptions of tools."""
    return [(f"tool_{n}", f"Tool {n}. {PROSE * (1 + n % 4)}") for n in range(count)]


def functions(count: int) -> list[dict[str, Any]]:
    return [
        {"type": "function", "name": n, "description": d, "strict": False, "parameters": SCHEMA}
        for n, d in named(count)
    ]


def claude_code() -> dict[str, Any]:
    mark = {"type": "ephemeral"}
    reminder = f"<system-reminder>\n{PROSE * 4}</system-reminder>"
    return {
        "model": "claude-opus-5-5",
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": reminder},
                    {"type": "text", "text": "Fix the test", "cache_control": mark},
                ],
            },
            {
                "role": "system",
                "content": [{"type": "text", "text": PROSE * 20}],
                "output_config": {"effort": "medium"},
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": PROSE * 6, "signature": "c2ln" * 40},
                    {"type": "text", "text": "I look."},
                    {"type": "tool_use", "id": "toolu_1", "name": "tool_1", "input": {"path": "a"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "toolu_1", "content": PROSE * 9},
                    {"type": "text", "text": reminder},
                ],
            },
        ],
        "system": [
            {"type": "text", "text": "x-anthropic-billing-header: cc_version=1; entrypoint=cli;"},
            {"type": "text", "text": "You are an agent.", "cache_control": mark},
            {"type": "text", "text": PROSE * 30, "cache_control": mark},
        ],
        "tools": [{"name": n, "description": d, "input_schema": SCHEMA} for n, d in named(12)],
        "metadata": {"user_id": '{"device_id":"0f","session_id":"a9e3"}'},
        "max_tokens": 64000,
        "thinking": {"type": "adaptive", "display": "omitted"},
        "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
        "output_config": {"effort": "medium"},
        "stream": True,
    }


def message(role: str, *texts: str) -> dict[str, Any]:
    content = [{"type": "input_text", "text": text} for text in texts]
    return {"type": "message", "id": f"msg_{role}", "role": role, "content": content}


def codex(*announced: dict[str, Any], tools: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    return {
        "model": "gpt-5.2",
        "stream": True,
        "input": [
            *announced,
            message("developer", PROSE * 30),
            message("developer", PROSE * 4, PROSE * 2),
            message("user", "<environment_context>\n  <cwd>/work</cwd>\n</environment_context>"),
            message("user", "Fix the test"),
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA" * 500},
            {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "tool_1",
             "arguments": '{"path":"a"}'},
            {"type": "function_call_output", "id": "fc_2", "call_id": "c1", "output": PROSE * 5},
        ],
        **({"tools": tools} if tools is not None else {}),
        "tool_choice": "auto",
        "parallel_tool_calls": False,
        "reasoning": {"effort": "medium", "context": "all_turns"},
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": "01a20b03-f9ad",
        "text": {"verbosity": "low"},
        "client_metadata": {"session_id": "01a20b03-f9ad", "x-codex-window-id": "01a20b03:0"},
    }  # fmt: skip


ANNOUNCED = {
    "type": "additional_tools",
    "id": "at_1",
    "role": "developer",
    "tools": [
        {
            "type": "namespace",
            "name": "functions",
            "description": "",
            "tools": [
                {"type": "custom", "name": "exec", "description": PROSE * 40,
                 "format": {"type": "grammar", "syntax": "lark", "definition": PROSE}},
                *functions(6),
            ],
        },
        {"type": "namespace", "name": "clock", "description": "Time.", "tools": functions(1)},
    ],
}  # fmt: skip


def gemini_cli() -> dict[str, Any]:
    declared = [{"name": n, "description": d, "parametersJsonSchema": SCHEMA} for n, d in named(8)]
    return {
        "contents": [
            {"role": "user", "parts": [{"text": f"<session_context>\n{PROSE}"}, {"text": "Hi"}]},
            {"role": "model", "parts": [
                {"text": PROSE * 3, "thought": True},
                {"functionCall": {"name": "tool_1", "args": {"path": "a"}, "id": "c1"},
                 "thoughtSignature": "c2ln" * 60},
            ]},
            {"role": "user", "parts": [
                {"functionResponse": {"id": "c1", "name": "tool_1",
                                      "response": {"output": PROSE * 7}}},
            ]},
        ],
        "systemInstruction": {"parts": [{"text": PROSE * 60}], "role": "user"},
        "tools": [{"functionDeclarations": declared}],
        "generationConfig": {
            "temperature": 1, "topP": 0.95, "topK": 64,
            "thinkingConfig": {"includeThoughts": True, "thinkingBudget": 8192},
        },
    }  # fmt: skip


def opencode() -> dict[str, Any]:
    call = {"name": "tool_1", "arguments": '{"path":"a"}'}
    return {
        "model": "gpt-5.2",
        "reasoning_effort": "medium",
        "messages": [
            {"role": "system", "content": PROSE * 40},
            {"role": "user", "content": "Fix the test"},
            {"role": "assistant", "content": None,
             "tool_calls": [{"id": "c1", "type": "function", "function": call}]},
            {"role": "tool", "tool_call_id": "c1", "content": PROSE * 8},
        ],
        "tools": [
            {"type": "function", "function": {"name": n, "description": d, "parameters": SCHEMA}}
            for n, d in named(9)
        ],
        "tool_choice": "auto",
        "stream": True,
        "stream_options": {"include_usage": True},
    }  # fmt: skip


NAMESPACE = {"type": "namespace", "name": "agents", "description": "A.", "tools": functions(6)}
BODIES = {
    "Claude Code": (Protocol.ANTHROPIC, claude_code()),
    "Codex": (Protocol.OPENAI_RESPONSES, codex(ANNOUNCED)),
    "Codex, tools beside": (
        Protocol.OPENAI_RESPONSES,
        codex(tools=[*functions(7), NAMESPACE, {"type": "web_search"}]),
    ),
    "Gemini CLI": (Protocol.GEMINI, gemini_cli()),
    "opencode": (Protocol.OPENAI_CHAT, opencode()),
}


def read(protocol: Protocol, body: dict[str, Any]) -> tuple[Composed, str]:
    """Return a captured body as the inspector shows it, and its text."""
    text = json.dumps(body, separators=(",", ":"), ensure_ascii=False)
    endpoint = Endpoint("captured", protocol, "http://x.example")
    return read_captured(text, protocol).composed(endpoint), text


def tokens(composed: Composed) -> int:
    assert composed.envelope.budget is not None
    return composed.envelope.budget.total


@each_row("program", BODIES)
def test_a_body_is_read_and_counted_as_a_whole(program: str):
    protocol, body = BODIES[program]
    composed, text = read(protocol, body)
    assert composed.payload.body.decode() == text
    assert [note.code for note in composed.notes] == []
    assert tokens(composed) >= len(text) / 8
    assert composed.encoded.tree.origin.id != "body", "its parts have their own origins"


def doubled(value: Any, path: tuple[Any, ...] = ()) -> Any:
    """Yield the places of long texts in a body, with a longer one in each."""
    if isinstance(value, str) and len(value) > 150:
        yield path, f"{value} {value}"
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in items:
            yield from doubled(inner, (*path, key))


@each_row("program", BODIES)
def test_every_text_counts(program: str):
    protocol, body = BODIES[program]
    before = tokens(read(protocol, body)[0])
    for path, text in doubled(body):
        if path[-1] in ("signature", "thoughtSignature"):
            continue  # proves that the model thought, and is no input
        changed = json.loads(json.dumps(body))
        holder = changed
        for key in path[:-1]:
            holder = holder[key]
        holder[path[-1]] = text
        assert tokens(read(protocol, changed)[0]) > before, path


def test_announced_tools_are_tools_and_no_message():
    composed, text = read(*BODIES["Codex"])
    captured = read_captured(text, Protocol.OPENAI_RESPONSES)
    assert captured.tools[:3] == ("exec", "tool_0", "tool_1")
    assert captured.not_kept[-1] == f"additional_tools ({', '.join(captured.tools)})"
    assert captured.messages[0].role == "user"
    assert [turn.role for turn in composed.envelope.turns][:2] == ["system", "system"]
    (native,) = composed.envelope.semantics.tools.native
    assert (native.name, native.item) == ("additional_tools", 0)


@each_row("target", [p for p in Protocol if p is not Protocol.OPENAI_RESPONSES])
def test_another_protocol_gets_the_announced_tools_as_functions(target: Protocol):
    composed, _ = read(*BODIES["Codex"])
    converted = encode(composed.envelope, Endpoint("other", target, "http://x.example"))
    sent = json.dumps(json.loads(converted.payload.body)["tools"])
    names = ["exec", *(f"tool_{number}" for number in range(6))]
    assert [name for name in names if f'"{name}"' not in sent] == []
    codes = {note.code for note in converted.notes}
    assert "tool-as-function" in codes  # exec takes free text
    assert "tool-left-out" not in codes


ITEM = {"type": "memory_of_tomorrow", "text": PROSE * 20}
UNKNOWN = {
    "item": (Protocol.OPENAI_RESPONSES, {"model": "m", "input": [ITEM, message("user", "Hi")]}),
    "item with a role": (
        Protocol.OPENAI_RESPONSES,
        {"model": "m", "input": [{**ITEM, "role": "developer"}, message("user", "Hi")]},
    ),
    "item between": (
        Protocol.OPENAI_RESPONSES,
        {"model": "m", "input": [message("user", "Hi"), ITEM, message("user", "Hi")]},
    ),
    "part of a Responses message": (
        Protocol.OPENAI_RESPONSES,
        {"model": "m", "input": [{**message("user", "Hi"), "content": [ITEM]}]},
    ),
    "Messages block": (
        Protocol.ANTHROPIC,
        {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": [ITEM]}]},
    ),
    "Chat part": (
        Protocol.OPENAI_CHAT,
        {"model": "m", "messages": [{"role": "user", "content": [ITEM]}]},
    ),
    "Gemini part": (
        Protocol.GEMINI,
        {"contents": [{"role": "user", "parts": [{"memory_of_tomorrow": PROSE * 20}]}]},
    ),
}


@each_row("place", UNKNOWN)
def test_what_is_not_known_is_a_note_and_counts(place: str):
    protocol, body = UNKNOWN[place]
    composed, text = read(protocol, body)
    assert composed.payload.body.decode() == text
    (note,) = [note for note in composed.notes if note.code == "unknown-content"]
    assert "memory_of_tomorrow" in note.sentence
    assert tokens(composed) >= len(text) / 8
    assert composed.envelope.turns[0].role != "assistant"
