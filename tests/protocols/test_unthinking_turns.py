"""Anthropic's manual thinking needs the model's last turn to begin with its thinking. Where it does
not, after another model's call or a beginning of the reply, thinking waits for the next user turn.
"""

from __future__ import annotations

import json
from typing import Any

from tests.support.requests import (
    ANTHROPIC,
    assistant,
    call,
    calls,
    chat,
    function,
    result,
    user,
)
from tui_chat.cli.captured import convert
from tui_chat.models.endpoint import Endpoint, Protocol

THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "U0lH"}
USE = {"type": "tool_use", "id": "c2", "name": "f", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "c2", "content": "3"}


def request(*messages: dict[str, Any]) -> dict[str, Any]:
    return chat(user("tea?"), *messages, tools=[function()], reasoning_effort="low")


def thinking(body: Any, model: str, source: Protocol) -> tuple[str, bool]:
    """Return what is sent of thinking and whether a note says that something was left out."""
    captured, endpoint = json.dumps(body).encode(), Endpoint("e", ANTHROPIC, "")
    made, notes = convert(captured, source, endpoint, model=model)
    out, codes = json.loads(made), [note.code for note in notes]
    return out.get("thinking", {}).get("type", ""), "setting-left-out" in codes


def test_thinking_waits_for_the_end_of_a_turn_without_any() -> None:
    """Each row: the conversation, the model, and the type of thinking that is sent."""
    chat_source, old = Protocol.OPENAI_CHAT, "claude-sonnet-4-5"
    step = (calls(call("c1")), result("c1"))
    step_with_text = (calls(call("c1"), content="Let me look."), result("c1"))
    more = (calls(call("c3")), result("c3"))
    rows: list[tuple[tuple[dict[str, Any], ...], str, str]] = [
        ((), old, "enabled"),
        (step, old, ""),
        (step_with_text, old, ""),
        ((*step, *more), old, ""),
        (step, "claude-opus-4-5", ""),
        (step, "deepseek-chat", ""),
        (step, "claude-opus-4-8", "adaptive"),  # which has no such rule
        ((*step, assistant("It is 3."), user("And milk?")), old, "enabled"),
        ((*step, user("Go on.")), old, ""),  # the API joins it with the results
        ((assistant("The answer"),), old, ""),
        ((assistant("The answer is 3."), user("Why?")), old, "enabled"),
    ]
    wrong: list[str] = []
    for messages, model, expected in rows:
        got, said = thinking(request(*messages), model, chat_source)
        if got != expected or said is (got != ""):
            wrong.append(f"{json.dumps(messages)[:200]} for {model}: {got!r}, said: {said}")
    assert not wrong, "\n".join(wrong)


def test_a_turn_that_began_with_thinking_goes_on_with_it() -> None:
    body = {
        "model": "claude-sonnet-4-0",
        "max_tokens": 9000,
        "thinking": {"type": "enabled", "budget_tokens": 2000},
        "messages": [
            user("tea?"),
            {"role": "assistant", "content": [THOUGHT, {**USE, "id": "c1"}]},
            {"role": "user", "content": [{**RESULT, "tool_use_id": "c1"}]},
            {"role": "assistant", "content": [USE]},
            {"role": "user", "content": [RESULT]},
        ],
    }
    assert thinking(body, "claude-sonnet-4-5", ANTHROPIC) == ("enabled", False)
    body["messages"][1]["content"] = body["messages"][1]["content"][1:]
    assert thinking(body, "claude-sonnet-4-5", ANTHROPIC) == ("", True)
    assert thinking(body, "", ANTHROPIC) == ("enabled", False), "its own request stays as it is"
