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


# --- replies of gateways -----------------------------------------------------------------


DONE = chat_stream({"content": "Done"})


def test_thinking_of_chat_that_is_a_text(run: Run, tmp_path: Path):
    parts = [{"type": "thinking", "thinking": "H"}, THOUGHT | {"thinking": "m"}]
    deltas = [*({"content": [part]} for part in parts), {"content": "Hello"}]
    body = ask(run, tmp_path / "1", "openai_chat", chat_stream(*deltas), DONE)
    assert body["messages"][1]["content"] == [THOUGHT, {"type": "text", "text": "Hello"}]


def test_a_call_in_odd_pieces_is_run_once_and_sent_back_whole(run: Run, tmp_path: Path):
    pieces: list[dict[str, Any]] = [
        {"index": 0, "id": "a", "function": {"arguments": '{"q"'}},
        {"index": 0, "function": {"arguments": ':"tea"}'}},
        {"index": 0, "function": {"name": "look"}},
    ]
    stream = chat_stream(*({"tool_calls": [piece]} for piece in pieces))
    messages = ask(run, tmp_path / "1", "openai_chat", stream, DONE)["messages"]
    assert messages[1]["tool_calls"] == [
        {"id": "a", "type": "function", "function": {"name": "look", "arguments": TEA}}
    ]
    assert messages[2:] == [{"role": "tool", "content": "found", "tool_call_id": "a"}]


def anthropic(*content: dict[str, Any]) -> Answer:
    value = {"type": "message", "content": content, "stop_reason": "tool_use"}
    return Answer(json.dumps(value), "application/json")


def test_blocks_of_anthropic_with_one_index(run: Run, tmp_path: Path):
    stream: list[dict[str, Any]] = [{"type": "message_start", "message": {"content": []}}]
    for id, arguments in (("a", TEA), ("b", MILK)):
        block = {"type": "tool_use", "id": id, "name": "look", "input": {}}
        delta = {"type": "input_json_delta", "partial_json": arguments}
        stream += [
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
        ]
    stream.append({"type": "message_delta", "delta": {"stop_reason": "tool_use"}})
    done = anthropic({"type": "text", "text": "Done"})
    body = ask(run, tmp_path / "1", "anthropic", events(*stream, done=False), done)
    sent = [(block["id"], block["input"]) for block in body["messages"][1]["content"]]
    assert sent == [("a", {"q": "tea"}), ("b", {"q": "milk"})]
    assert [block["tool_use_id"] for block in body["messages"][2]["content"]] == ["a", "b"]


def test_a_refusal_of_responses_is_one_message(run: Run, tmp_path: Path):
    content = [{"type": "refusal", "refusal": "I will not."}]
    output = [{"type": "message", "id": "msg_1", "role": "assistant", "content": content}]
    reply = {"object": "response", "status": "completed", "output": output}
    answer = Answer(json.dumps(reply), "application/json")
    body = ask(run, tmp_path / "1", "openai_responses", answer, answer)
    roles = [item.get("role") for item in body["input"]]
    assert roles == ["user", "assistant", "user"]
    assert "I will not." in json.dumps(body["input"][1])
