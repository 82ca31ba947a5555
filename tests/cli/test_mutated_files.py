"""Files with any value replaced by any type: every command reports one sentence."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tests.support.tables import each_row
from tui_chat.analysis.captured_request import read_captured
from tui_chat.cli.captured import convert
from tui_chat.errors import InputError
from tui_chat.interop.messages import read_history
from tui_chat.interop.reader import read_conversations
from tui_chat.library.foreign_files import import_preset_file
from tui_chat.library.lorebooks import read_lorebook
from tui_chat.library.preset_check import check_preset
from tui_chat.library.presets import parse_preset
from tui_chat.library.roles_and_profiles import parse_profile, parse_role
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.providers.response_recorder import read_recorded
from tui_chat.turn_file import holds_turn, read_turn

CORPUS = Path(os.environ.get("TUI_CHAT_CORPUS", Path(__file__).parents[3] / "shared" / "corpus"))

WRONG: tuple[Any, ...] = (
    *(None, True, -1, 10**400, 1e308, "", "\ud800", [], {}, [[]], [{}], [None], {"a": []}),
    *({"type": []}, {"role": {}}, "x", ["x"], {"type": "text", "text": []}),
)

TOOL = {"name": "look", "description": "d", "parameters": {"type": "object", "properties": {}}}
REQUESTS: tuple[dict[str, Any], ...] = (
    {
        "model": "gpt-5",
        "messages": [
            {"role": "system", "content": "s"},
            {"role": "user", "content": [{"type": "text", "text": "t"}]},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
                ],
            },
            {"role": "tool", "tool_call_id": "c", "content": "r"},
            {
                "role": "user",
                "content": [{"type": "image_url", "image_url": {"url": "https://e.test/a"}}],
            },
        ],
        "tools": [{"type": "function", "function": TOOL}],
        "tool_choice": {"type": "function", "function": {"name": "look"}},
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {}}},
        "stop": ["x"],
    },
    {
        "model": "gpt-5",
        "instructions": "s",
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "t"}]},
            {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "h"}]},
            {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "r"},
        ],
        "tools": [{"type": "function", **TOOL}, {"type": "web_search"}],
        "text": {"format": {"type": "json_schema", "name": "n", "schema": {}}},
        "reasoning": {"effort": "low"},
    },
    {
        "model": "claude-sonnet-4-5",
        "max_tokens": 9,
        "system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {"role": "user", "content": "t"},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "h", "signature": "s"},
                    {"type": "tool_use", "id": "c", "name": "look", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text"}]},
                    {"type": "document", "source": {"type": "url", "url": "https://e.test/a"}},
                ],
            },
        ],
        "tools": [{"name": "look", "input_schema": {"type": "object"}}],
        "thinking": {"type": "enabled", "budget_tokens": 5},
    },
    {
        "systemInstruction": {"parts": [{"text": "s"}]},
        "contents": [
            {"role": "user", "parts": [{"text": "t"}]},
            {
                "role": "model",
                "parts": [
                    {"thought": True, "text": "h"},
                    {"functionCall": {"name": "look", "args": {}}, "thoughtSignature": "s"},
                ],
            },
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"name": "look", "response": {"r": 1}}},
                    {"inlineData": {"mimeType": "image/png", "data": "AA=="}},
                ],
            },
        ],
        "tools": [{"functionDeclarations": [TOOL]}, {"googleSearch": {}}],
        "generationConfig": {"temperature": 1, "thinkingConfig": {"thinkingBudget": 5}},
    },
    {
        "model": "qwen3:8b",
        "messages": [
            {"role": "user", "content": "t", "images": ["iVBORw0KGgo="]},
            {
                "role": "assistant",
                "content": "",
                "thinking": "h",
                "tool_calls": [{"function": {"name": "look", "arguments": {}}}],
            },
            {"role": "tool", "tool_name": "look", "content": "r"},
        ],
        "tools": [{"type": "function", "function": TOOL}],
        "format": {"type": "object"},
        "think": "low",
        "options": {"num_ctx": 4096, "stop": ["x"]},
        "keep_alive": "5m",
    },
)
REPLIES: tuple[tuple[Protocol, dict[str, Any]], ...] = (
    (
        Protocol.OPENAI_CHAT,
        {
            "id": "i",
            "model": "m",
            "choices": [
                {
                    "message": {
                        "role": "assistant",
                        "content": "t",
                        "tool_calls": [{"id": "c", "function": {"name": "n", "arguments": "{}"}}],
                    },
                    "finish_reason": "stop",
                }
            ],
            "usage": {"prompt_tokens": 1, "prompt_tokens_details": {"cached_tokens": 1}},
        },
    ),
    (
        Protocol.OPENAI_RESPONSES,
        {
            "id": "i",
            "model": "m",
            "status": "completed",
            "output": [
                {"type": "reasoning", "id": "r", "summary": [{"type": "s", "text": "h"}]},
                {"type": "message", "id": "m", "content": [{"type": "output_text", "text": "t"}]},
                {"type": "function_call", "call_id": "c", "name": "n", "arguments": "{}"},
            ],
            "usage": {"input_tokens": 1, "input_tokens_details": {"cached_tokens": 1}},
        },
    ),
    (
        Protocol.ANTHROPIC,
        {
            "id": "i",
            "type": "message",
            "model": "m",
            "content": [
                {"type": "thinking", "thinking": "h", "signature": "s"},
                {"type": "text", "text": "t"},
                {"type": "tool_use", "id": "c", "name": "n", "input": {}},
            ],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 1, "output_tokens": 1},
        },
    ),
    (
        Protocol.GEMINI,
        {
            "candidates": [
                {
                    "content": {
                        "role": "model",
                        "parts": [{"text": "t"}, {"functionCall": {"name": "n", "args": {}}}],
                    },
                    "finishReason": "STOP",
                }
            ],
            "promptFeedback": {"blockReason": "SAFETY"},
            "usageMetadata": {"promptTokenCount": 1},
        },
    ),
    (
        Protocol.OLLAMA,
        {
            "model": "m",
            "message": {
                "role": "assistant",
                "content": "t",
                "thinking": "h",
                "tool_calls": [{"id": "c", "function": {"name": "n", "arguments": {}}}],
                "images": ["iVBORw0KGgo="],
            },
            "done": True,
            "done_reason": "stop",
            "prompt_eval_count": 1,
        },
    ),
)
PRESETS: tuple[dict[str, Any], ...] = (
    {
        "name": "p",
        "systemPlacement": "in_place",
        "parameters": {"temperature": 1},
        "messages": [
            {"id": "a", "role": "system", "content": "c", "enabled": True, "order": 1},
            {"id": "h", "type": "chat_history"},
            {"id": "d", "role": "user", "content": "c", "insertionPoint": -1},
            {
                "id": "e",
                "role": "user",
                "content": "c",
                "anchorPoint": "after",
                "anchorTarget": "h",
            },
        ],
    },
    {
        "prompts": [
            {"identifier": "main", "role": "system", "content": "c", "name": "Main"},
            {"identifier": "x", "injection_position": 1, "injection_depth": 4, "content": "c"},
            {"identifier": "chatHistory", "marker": True},
        ],
        "prompt_order": [
            {"character_id": 100001, "order": [{"identifier": "main", "enabled": True}]}
        ],
        "temperature": 1,
        "wi_format": "{0}",
    },
    {"entries": {"0": {"uid": 0, "key": ["k"], "content": "c", "position": 4, "depth": 2}}},
    {"name": "Ada", "system_prompt": "You are {{char}}.", "parameters": {"temperature": 1}},
)
CONVERSATIONS: tuple[Any, ...] = (
    [
        {
            "title": "t",
            "create_time": 1.0,
            "current_node": "b",
            "mapping": {
                "a": {"id": "a", "children": ["b"], "message": None},
                "b": {
                    "id": "b",
                    "parent": "a",
                    "children": [],
                    "message": {
                        "id": "b",
                        "author": {"role": "user"},
                        "content": {"content_type": "text", "parts": ["t"]},
                    },
                },
            },
        }
    ],
    [
        {
            "uuid": "u",
            "name": "n",
            "chat_messages": [
                {"uuid": "m", "sender": "human", "text": "t", "content": [{"type": "text"}]}
            ],
        }
    ],
    {
        "format": "tui-chat",
        "version": 1,
        "sessions": [
            {
                "session": {"session_id": "s", "title": "t", "created": 1.0, "tags": ["a"]},
                "role": {"role_id": "r", "name": "n"},
                "messages": [{"role": "user", "content": "c", "id": "m", "parent_id": None}],
                "requests": [],
                "revisions": [],
            }
        ],
    },
    [{"role": "user", "content": [{"type": "text", "text": "t"}]}],
    {"title": "t", "messages": [{"role": "user", "content": "c", "timestamp": 1}]},
)


def paths_in(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the path of every node of a JSON value."""
    yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from paths_in(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from paths_in(inner, (*path, index))


def replaced(value: Any, path: tuple[str | int, ...], wrong: object) -> Any:
    """Return the value with the value at a path replaced."""
    if not path:
        return wrong
    value = inner = deepcopy(value)
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = wrong
    return value


def mutants(value: Any, wrong: tuple[Any, ...] = WRONG) -> Iterator[str]:
    """Yield the JSON of a value with each node replaced by each wrong value."""
    for path in paths_in(value):
        for each in wrong:
            yield json.dumps(replaced(value, path, each))


def inspect_and_convert(text: str) -> None:
    """Do what `inspect` and `convert` do with a request."""
    with suppress(InputError):
        captured = read_captured(text)
        assert captured.settings is not None
        assert isinstance((captured.messages, captured.not_kept, captured.preset("x")), tuple)
        target = list(Protocol)[len(text) % len(Protocol)]  # all of them would take too long
        endpoint = Endpoint("convert", target, "")
        body, _ = convert(captured.body, captured.protocol, endpoint, model="", name="x")
        assert json.loads(body) is not None


def validate(text: str) -> None:
    """Do what `preset` and `build` do with a file."""
    assert isinstance(list(check_preset(text, "x")), list)
    for read in (
        lambda: parse_preset(text, "x", "x"),
        lambda: parse_role(text, "x", "x"),
        lambda: parse_profile(text, "x"),
        lambda: read_lorebook(text, "x").file.raise_errors("x"),
        lambda: read_history(text, "x"),
        lambda: read_turn(text, "x") if holds_turn(text) else None,
    ):
        with suppress(InputError):
            read()


def imported(text: str) -> None:
    """Do what `import` does with a file."""
    for found in read_conversations(iter([text.encode("utf-8", "replace")])):
        assert (found.transcript is None) == bool(found.fault or found.ignored)


@pytest.mark.slow
@each_row("request_body", REQUESTS, ids=["chat", "responses", "claude", "gemini", "ollama"])
def test_requests(request_body: dict[str, Any]) -> None:
    for text in mutants(request_body):
        inspect_and_convert(text)


@each_row("key", ["role", "type"])
@each_row("wrong", [[], {}, [[]], None, 5])
def test_a_role_or_type_of_another_type(key: str, wrong: object) -> None:
    block = {"type": "text", "text": "t"}
    message = {"role": "user", "content": [{**block, key: wrong}], key: wrong}
    inspect_and_convert(json.dumps({"model": "m", "messages": [message]}))


@each_row(("protocol", "body"), REPLIES)
def test_replies(protocol: Protocol, body: dict[str, Any]) -> None:
    for text in mutants(body):
        for said in (text, f"data: {text}\n\n", f"event: x\ndata: {text}\n\n"):
            reply, _ = read_recorded(said.encode("utf-8", "replace"), protocol)
            assert isinstance(reply.text, str)


@pytest.mark.slow
@each_row("body", PRESETS, ids=["preset", "sillytavern", "lorebook", "role"])
def test_presets(body: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "case.json"
    for text in mutants(body):
        validate(text)
        path.write_text(text)
        with suppress(InputError):
            import_preset_file(path)


@each_row("body", CONVERSATIONS, ids=["chatgpt", "claude", "own", "list", "object"])
def test_conversations(body: object) -> None:
    for text in mutants(body):
        imported(text)


@pytest.mark.slow
@pytest.mark.skipif(not CORPUS.is_dir(), reason=f"no corpus at {CORPUS}")
@each_row(
    ("pattern", "use"),
    [
        ("wire/*/*.request.json", inspect_and_convert),
        ("sillytavern/**/*.json", validate),
        ("transcripts/**/*.json", imported),
    ],
)
def test_the_corpus(pattern: str, use: Callable[[str], None]) -> None:
    chance = random.Random(14)
    files = [path for path in sorted(CORPUS.glob(pattern)) if path.stat().st_size < 8_000]
    for path in chance.sample(files, min(len(files), 20)):
        body = json.loads(path.read_bytes())
        places = list(paths_in(body))
        for place in chance.sample(places, min(len(places), 10)):
            use(json.dumps(replaced(body, place, chance.choice(WRONG))))
