"""What a reply brought is in the next request: ids, signatures and reasoning of every dialect.

Each reply comes as a stream and, where there is such a form, whole; a tool is run for its calls, or
another message follows. The provider's second request is compared.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.cli.data import table
from tests.support.command_line import Run
from tests.support.server import Answer, Provider, events

TOOL = """
[tools.look]
description = "Look it up"
parameters = '{"type":"object","properties":{"q":{"type":"string"}}}'
command = ["sh", "-c", "cat >/dev/null; echo found"]
"""
TEA, MILK = '{"q":"tea"}', '{"q":"milk"}'
GOOGLE = {"google": {"thought_signature": "U0lH"}}
THOUGHT = {"type": "thinking", "thinking": "Hm", "signature": "c2ln"}


def call(index: int | None, id: str, arguments: str, **more: Any) -> dict[str, Any]:
    place = {} if index is None else {"index": index}
    function = {"name": "look", "arguments": arguments}
    return {**place, "id": id, "type": "function", "function": function, **more}


TABLE = table("reply_goes_back")
"""Deltas of a reply of OpenAI Chat, and what the next request must have of it; protocol and content
of replies of the others, which the next request must have as they came.
"""


def ask(
    run: Run, folder: Path, protocol: str, *bodies: str | Answer, model: str = "m", then: str = ""
) -> Any:
    """Return the request after the reply that these bodies are; `then` is the protocol of that."""
    with Provider(*bodies) as provider:
        folder.mkdir(parents=True)
        config = provider.config(protocol, model)
        if then:
            more = provider.config(then, model, "other")
            config += more[more.index("[endpoints") :]
        (folder / "config.toml").write_text(config + TOOL)
        base = ("--config-dir", folder, "--data-dir", folder, "ask", "--raw")
        first = run(*base, "Hi", "--allow-tool", "look")
        if len(provider.received) == 1 or then:
            run(*base, "-c", "And?", *(("-m", f"other/{model}") if then else ()))
        assert len(provider.received) > 1, (first.out, first.err)
        return provider.bodies[-1]


def lacking(found: Any, wanted: Any) -> bool:
    """Return True if a message lacks one of these values."""
    return any(found.get(key) != value for key, value in wanted.items())


def chat_stream(*deltas: dict[str, Any]) -> str:
    chunks: list[Any] = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    return events(*chunks, {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})


def chat_whole(deltas: list[dict[str, Any]]) -> Answer | None:
    """Return a reply whose deltas have nothing in pieces as one answer; None for others."""
    message: dict[str, Any] = {}
    for delta in deltas:
        for key, value in delta.items():
            if value and message.get(key):
                return None
            message[key] = message.get(key) or value
    body = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    return Answer(json.dumps(body), "application/json")


def test_openai_chat(run: Run, tmp_path: Path):
    wrong: list[object] = []
    done = chat_stream({"content": "Done"})
    for number, (name, row) in enumerate(TABLE["openai_chat"].items()):
        deltas, wanted = row["deltas"], row["sent"]
        whole = chat_whole(deltas)
        for form, answer in (("stream", chat_stream(*deltas)), ("whole", whole)):
            if answer is None:
                continue
            body = ask(run, tmp_path / f"{number}{form}", "openai_chat", answer, done)
            replies = [m for m in body["messages"] if m["role"] == "assistant"]
            if not replies or lacking(replies[0], wanted):
                wrong.append((name, form, replies))
    assert not wrong, wrong


def test_googles_signatures_go_to_gemini_and_back(run: Run, tmp_path: Path):
    done = chat_stream({"content": "Done"})
    deltas = [
        {"content": "Hello", "extra_content": GOOGLE},
        {"tool_calls": [call(0, "a", TEA, extra_content=GOOGLE)]},
    ]
    body = ask(run, tmp_path / "1", "openai_chat", chat_stream(*deltas), done, then="gemini")
    parts = next(c["parts"] for c in body["contents"] if c["role"] == "model")
    assert [part.get("thoughtSignature") for part in parts] == ["U0lH", "U0lH"]
    parts = [
        {"text": "Hello", "thoughtSignature": "U0lH"},
        {"functionCall": {"id": "a", "name": "look", "args": {"q": "tea"}}}
        | {"thoughtSignature": "U0lH"},
    ]
    reply = {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}]}
    for folder, model, wanted in (("2", "gemini-3-pro", GOOGLE), ("3", "gpt-5", None)):
        body = ask(
            run,
            tmp_path / folder,
            "gemini",
            events(reply, done=False),
            done,
            model=model,
            then="openai_chat",
        )
        message = next(m for m in body["messages"] if m["role"] == "assistant")
        assert message.get("extra_content") == wanted
        assert message["tool_calls"][0].get("extra_content") == wanted


def test_claudes_signatures_go_from_gateways_to_anthropic(run: Run, tmp_path: Path):
    claude = {"type": "reasoning.text", "text": "Hm", "signature": "c2ln", "index": 0}
    for folder, delta in (
        ("1", {"thinking_blocks": [THOUGHT]}),
        ("2", {"reasoning_details": [{**claude, "format": "anthropic-claude-v1"}]}),
    ):
        stream = chat_stream(delta, {"content": "Hello"})
        body = ask(run, tmp_path / folder, "openai_chat", stream, stream, then="anthropic")
        assert body["messages"][1]["content"] == [THOUGHT, {"type": "text", "text": "Hello"}]


def other_reply(protocol: str, content: Any) -> Answer:
    match protocol:
        case "anthropic":
            value: Any = {"type": "message", "content": content, "stop_reason": "tool_use"}
        case "gemini":
            candidate = {"content": {"role": "model", "parts": content}, "finishReason": "STOP"}
            value = {"candidates": [candidate]}
        case "openai_responses":
            value = {"object": "response", "status": "completed", "output": content}
        case _:
            value = {"model": "m", "message": content, "done": True, "done_reason": "stop"}
    return Answer(json.dumps(value), "application/json")


def sent_back(protocol: str, body: Any, content: Any) -> Any:
    match protocol:
        case "anthropic":
            return next(m["content"] for m in body["messages"] if m["role"] == "assistant")
        case "gemini":
            return next(c["parts"] for c in body["contents"] if c["role"] == "model")
        case "openai_responses":
            kinds = [item["type"] for item in content]
            return [item for item in body["input"] if item.get("type") in kinds]
        case _:
            return next(m for m in body["messages"] if m["role"] == "assistant")


def test_the_other_protocols(run: Run, tmp_path: Path):
    wrong: list[object] = []
    for number, (name, (protocol, content)) in enumerate(TABLE["others"].items()):
        done = {"anthropic": [{"type": "text", "text": "Done"}], "gemini": [{"text": "Done"}]}
        last = other_reply(protocol, done.get(protocol, []))
        if protocol == "ollama":
            last = other_reply(protocol, {"role": "assistant", "content": "Done"})
        body = ask(run, tmp_path / str(number), protocol, other_reply(protocol, content), last)
        if (found := sent_back(protocol, body, content)) != content:
            wrong.append((name, found))
    assert not wrong, wrong
