"""What a reply of a gateway brought is in the next request, as it came."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.cli.test_reply_goes_back import MILK, TEA, THOUGHT, ask, chat_stream
from tests.support.command_line import Run
from tests.support.server import Answer, events

DONE = chat_stream({"content": "Done"})


def test_thinking_of_chat_that_is_a_text(run: Run, tmp_path: Path):
    parts = [{"type": "thinking", "thinking": "H"}, THOUGHT | {"thinking": "m"}]
    deltas = [*({"content": [part]} for part in parts), {"content": "Hello"}]
    body = ask(run, tmp_path / "1", "openai_chat", chat_stream(*deltas), DONE)
    assert body["messages"][1]["content"] == [THOUGHT, {"type": "text", "text": "Hello"}]


def test_a_call_in_odd_pieces_is_run_once_and_sent_back_whole(run: Run, tmp_path: Path):
    pieces: list[dict[str, Any]] = [
        {"index": 0, "id": "a", "function": {"arguments": '{"q"'}},
        {"index": 0, "function": {"arguments": TEA}},
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


def test_signatures_of_gemini_in_snake_case(run: Run, tmp_path: Path):
    parts = [
        {"text": "Hi", "thought_signature": "YQ=="},
        {"function_call": {"name": "look", "args": {"q": "tea"}}, "thought_signature": "Yg=="},
    ]
    reply = {"candidates": [{"content": {"parts": parts}, "finish_reason": "STOP"}]}
    done = {"candidates": [{"content": {"parts": [{"text": "Done"}]}, "finishReason": "STOP"}]}
    answers = [events(each, done=False) for each in (reply, done)]
    body = ask(run, tmp_path / "1", "gemini", *answers, model="gemini-3-pro")
    sent = [part["thoughtSignature"] for part in body["contents"][1]["parts"]]
    assert sent == ["YQ==", "Yg=="]


def test_a_refusal_of_responses_is_one_message(run: Run, tmp_path: Path):
    content = [{"type": "refusal", "refusal": "I will not."}]
    output = [{"type": "message", "id": "msg_1", "role": "assistant", "content": content}]
    reply = {"object": "response", "status": "completed", "output": output}
    answer = Answer(json.dumps(reply), "application/json")
    body = ask(run, tmp_path / "1", "openai_responses", answer, answer)
    roles = [item.get("role") for item in body["input"]]
    assert roles == ["user", "assistant", "user"]
    assert "I will not." in json.dumps(body["input"][1])
