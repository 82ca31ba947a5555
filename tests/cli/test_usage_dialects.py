"""Usage in the words of many servers, and what a later, emptier report does to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.command_line import Run
from tests.support.server import events

CHAT: dict[str, tuple[dict[str, Any], dict[str, int]]] = {
    "OpenAI": (
        {"prompt_tokens_details": {"cached_tokens": 8, "cache_write_tokens": 1}}
        | {"completion_tokens_details": {"reasoning_tokens": 2}},
        {"cached": 8, "cache_write": 1, "reasoning": 2},
    ),
    "Kimi": ({"cached_tokens": 8}, {"cached": 8}),
    "DeepSeek": ({"prompt_cache_hit_tokens": 8, "prompt_cache_miss_tokens": 2}, {"cached": 8}),
    "litellm": (
        {"cache_read_input_tokens": 8, "cache_creation_input_tokens": 1},
        {"cached": 8, "cache_write": 1},
    ),
    "litellm's details": (
        {"prompt_tokens_details": {"cached_tokens": 8, "cache_creation_tokens": 1}},
        {"cached": 8, "cache_write": 1},
    ),
    "details of Responses": (
        {"input_tokens_details": {"cached_tokens": 8}}
        | {"output_tokens_details": {"reasoning_tokens": 2}},
        {"cached": 8, "reasoning": 2},
    ),
    "details that are null": ({"prompt_tokens_details": None, "cached_tokens": 8}, {"cached": 8}),
    "reasoning beside": ({"reasoning_tokens": 2}, {"reasoning": 2}),
}
BASE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
TEXT = {"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}
EMPTY = ({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, {"prompt_tokens": None})


def read(run: Run, folder: Path, protocol: str, body: str) -> dict[str, Any]:
    file = folder / "reply"
    file.write_text(body)
    return json.loads(run("read", file, "--protocol", protocol).out)["usage"]


def has(usage: dict[str, Any], **wanted: int) -> bool:
    return all(usage[key] == value for key, value in wanted.items())


def test_openai_chat(run: Run, tmp_path: Path):
    wrong: list[object] = []
    for name, (words, wanted) in CHAT.items():
        usage = {**BASE, **words}
        bodies = {
            "last": events(TEXT, {"choices": [], "usage": usage}),
            "in the choice": events({"choices": [{**TEXT["choices"][0], "usage": usage}]}),
            "whole": json.dumps({"choices": [{"message": {"content": "Hi"}}], "usage": usage}),
            **{
                f"before {empty}": events({**TEXT, "usage": usage}, {"choices": [], "usage": empty})
                for empty in EMPTY
            },
        }
        for form, body in bodies.items():
            found = read(run, tmp_path, "openai_chat", body)
            if not has(found, input=10, output=5, **wanted):
                wrong.append((name, form, found))
    assert not wrong, wrong


OTHERS: dict[str, tuple[str, list[Any], dict[str, int]]] = {
    "llama.cpp's timings": (
        "openai_chat",
        [{**TEXT, "timings": {"cache_n": 8, "prompt_n": 2, "predicted_n": 5}}],
        {"input": 10, "output": 5, "cached": 8},
    ),
    "Anthropic's words in Chat": (
        "openai_chat",
        [TEXT, {"usage": {"input_tokens": 2, "output_tokens": 5, "cache_read_input_tokens": 8}}],
        {"input": 10, "output": 5, "cached": 8},
    ),
    "Groq's place": (
        "openai_chat",
        [{**TEXT, "x_groq": {"usage": BASE}}],
        {"input": 10, "output": 5},
    ),
    "Responses": (
        "openai_responses",
        [
            {
                "type": "response.completed",
                "response": {
                    "status": "completed",
                    "output": [],
                    "usage": {
                        "input_tokens": 10,
                        "output_tokens": 5,
                        "input_tokens_details": {"cached_tokens": 8},
                        "output_tokens_details": {"reasoning_tokens": 2},
                    },
                },
            }
        ],
        {"input": 10, "output": 5, "cached": 8, "reasoning": 2},
    ),
    "Anthropic, emptier later": (
        "anthropic",
        [
            {
                "type": "message_start",
                "message": {"usage": {"input_tokens": 1, "cache_read_input_tokens": 8}}
                | {"content": []},
            },
            {
                "type": "message_delta",
                "delta": {"stop_reason": "end_turn"},
                "usage": {"input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 5},
            },
        ],
        {"input": 9, "output": 5, "cached": 8},
    ),
    "Anthropic, fuller later": (
        "anthropic",
        [
            {
                "type": "message_start",
                "message": {"usage": {"input_tokens": 0, "output_tokens": 0}, "content": []},
            },
            {
                "type": "message_delta",
                "delta": {"stop_reason": "end_turn"},
                "usage": {
                    "input_tokens": 1,
                    "cache_read_input_tokens": 8,
                    "cache_creation": {"ephemeral_5m_input_tokens": 1},
                    "output_tokens": 5,
                },
            },
        ],
        {"input": 10, "output": 5, "cached": 8, "cache_write": 1},
    ),
    "Gemini": (
        "gemini",
        [
            {
                "candidates": [{"content": {"parts": [{"text": "Hi"}]}}],
                "usageMetadata": {
                    "promptTokenCount": 10,
                    "candidatesTokenCount": 3,
                    "thoughtsTokenCount": 2,
                    "cachedContentTokenCount": 8,
                },
            },
            {"candidates": [{"finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 0}},
        ],
        {"input": 10, "output": 5, "cached": 8, "reasoning": 2},
    ),
    "Ollama": (
        "ollama",
        [
            {"message": {"content": "Hi"}, "prompt_eval_count": 10, "eval_count": 5},
            {"message": {}, "done": True, "prompt_eval_count": 0},
        ],
        {"input": 10, "output": 5},
    ),
}
"""Protocol, events and usage."""


def test_other_places_and_protocols(run: Run, tmp_path: Path):
    wrong: list[object] = []
    for name, (protocol, found, wanted) in OTHERS.items():
        usage = read(run, tmp_path, protocol, events(*found, done=protocol == "openai_chat"))
        if not has(usage, **wanted):
            wrong.append((name, usage))
    assert not wrong, wrong
