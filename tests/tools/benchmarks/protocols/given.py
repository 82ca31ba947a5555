"""What is encoded and read, and how the seconds are taken. Knows nobody's library."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable
from typing import Any

PROTOCOLS = ("openai_chat", "openai_responses", "anthropic", "gemini")
RUNS = 5
ENOUGH = 4.0
"""Seconds after which nothing is run again."""

Figures = dict[str, dict[str, float | str]]
"""What was measured, protocol by protocol: seconds, or why not."""


def best(work: Callable[[], object]) -> float:
    """Return the seconds of the quickest run, after one to warm up."""
    work()
    seconds: list[float] = []
    while len(seconds) < RUNS and sum(seconds) < ENOUGH:
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def conversation(turns: int) -> list[dict[str, Any]]:
    """Return an OpenAI-shaped history: talk, and every fifth time a tool call with its answer."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You are a harbour master."}]
    for number in range((turns - 1) // 2):
        words = f"Message {number}: the ferry — ぼくの 船 — leaves at dawn.\n" * 6
        messages.append({"role": "user", "content": words})
        if number % 5:
            messages.append({"role": "assistant", "content": words.upper()})
            continue
        call = {"name": "tide", "arguments": json.dumps({"harbour": f"Oslo {number}"})}
        messages.append(
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": f"call_{number}", "type": "function", "function": call}],
            }
        )
        messages.append({"role": "tool", "tool_call_id": f"call_{number}", "content": "2.1 m"})
    messages.append({"role": "user", "content": "And now?"})
    return messages


TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "tide",
            "description": "The tide.",
            "parameters": {"type": "object", "properties": {"harbour": {"type": "string"}}},
        },
    }
]


async def best_of(
    read: Callable[[], Awaitable[None]], close: Callable[[], Awaitable[None]]
) -> float:
    """Return the seconds of the quickest run of a coroutine."""
    await read()
    seconds: list[float] = []
    for _ in range(RUNS):
        began = time.perf_counter()
        await read()
        seconds.append(time.perf_counter() - began)
    await close()
    return min(seconds)
