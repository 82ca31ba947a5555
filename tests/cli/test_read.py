"""`tui-chat read`: a recorded reply of any protocol, in one form."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Done, Run


def stream(*chunks: dict[str, Any], end: str = "") -> bytes:
    return ("".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + end).encode()


def chunk(**delta: Any) -> dict[str, Any]:
    finish = delta.pop("finish", None)
    return {"id": "r", "model": "m", "choices": [{"delta": delta, "finish_reason": finish}]}


TOOL = {"index": 0, "id": "c1", "function": {"name": "f", "arguments": '{"a": 1'}}
CHAT = stream(
    chunk(reasoning_content="Hm."),
    chunk(content="Hi\u2028there"),
    chunk(tool_calls=[TOOL]),
    chunk(finish="tool_calls"),
    {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}},
    end="data: [DONE]\n\n",
)
ANTHROPIC = {
    "type": "message",
    "id": "msg_1",
    "model": "claude",
    "content": [
        {"type": "thinking", "thinking": "Hm.", "signature": "s"},
        {"type": "text", "text": "Hi"},
        {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": 1}},
    ],
    "stop_reason": "tool_use",
    "usage": {"input_tokens": 5, "output_tokens": 3, "cache_read_input_tokens": 90},
}
GEMINI = {
    "candidates": [{"content": {"parts": [{"text": "Hi"}]}, "finishReason": "SAFETY"}],
    "usageMetadata": {"promptTokenCount": 4, "candidatesTokenCount": 2, "thoughtsTokenCount": 9},
}
RESPONSES = {
    "id": "resp_1",
    "object": "response",
    "status": "completed",
    "output": [{"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}],
    "usage": {"input_tokens": 1, "output_tokens": 2},
}


def told(done: Done) -> Any:
    assert done.code == 0
    assert done.err == ""
    return json.loads(done.out)


def read(run: Run, folder: Path, protocol: str, body: bytes | dict[str, Any]) -> Any:
    path = folder / "reply"
    path.write_bytes(body if isinstance(body, bytes) else json.dumps(body).encode())
    return told(run("read", path, "--protocol", protocol))


def test_a_stream(run: Run, tmp_path: Path):
    assert read(run, tmp_path, "openai_chat", CHAT) == {
        "content": "Hi\u2028there",
        "reasoning": "Hm.",
        "tool_calls": [{"id": "c1", "name": "f", "arguments": '{"a": 1'}],
        "finish_reason": "tool_calls",
        "provider_finish_reason": "tool_calls",
        "usage": {
            "input": 7,
            "output": 3,
            "cached": None,
            "cache_write": None,
            "reasoning": None,
        },
        "error": None,
    }


def test_a_whole_body_with_the_provider_s_own_figures(run: Run, tmp_path: Path):
    reply = read(run, tmp_path, "anthropic", ANTHROPIC)
    assert (reply["content"], reply["reasoning"]) == ("Hi", "Hm.")
    assert reply["tool_calls"] == [{"id": "toolu_1", "name": "f", "arguments": '{"a":1}'}]
    assert (reply["finish_reason"], reply["provider_finish_reason"]) == ("tool_calls", "tool_use")
    assert (reply["usage"]["input"], reply["usage"]["cached"]) == (5, 90)


def test_a_safety_stop(run: Run, tmp_path: Path):
    reply = read(run, tmp_path, "gemini", GEMINI)
    assert (reply["finish_reason"], reply["provider_finish_reason"]) == ("content_filter", "SAFETY")
    assert (reply["usage"]["output"], reply["usage"]["reasoning"]) == (2, 9)


def test_a_refusal_is_apart_from_the_content(run: Run, tmp_path: Path):
    reply = read(run, tmp_path, "openai_responses", RESPONSES)
    assert (reply["content"], reply["refusal"], reply["finish_reason"]) == ("", "No.", "refusal")


@pytest.mark.parametrize("length", [len(CHAT) // 3, len(CHAT) // 2])
def test_a_cut_stream_is_read_as_far_as_it_came(run: Run, tmp_path: Path, length: int):
    reply = read(run, tmp_path, "openai_chat", CHAT[:length])
    assert reply["error"]["kind"] == "cut"
    assert reply["reasoning"] == "Hm."
    assert reply["finish_reason"] is None


def test_an_error_body_keeps_the_provider_s_words(run: Run, tmp_path: Path):
    body = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    for protocol in ("anthropic", "openai_chat", "openai_responses", "gemini"):
        error = read(run, tmp_path, protocol, body)["error"]
        assert (error["kind"], error["code"]) == ("refused", "overloaded_error")
        assert "Overloaded" in error["message"]


def test_an_error_in_the_stream_comes_after_what_was_said(run: Run, tmp_path: Path):
    body = stream(chunk(content="Hi"), {"error": {"message": "Token limit reached", "code": 400}})
    reply = read(run, tmp_path, "openai_chat", body)
    assert reply["content"] == "Hi"
    assert "Token limit reached" in reply["error"]["message"]


@pytest.mark.parametrize("body", [b"", b"\xff\xfe\x00", b"<html>502</html>", b"data: {\n\n", b"{"])
@pytest.mark.parametrize("protocol", ["openai_chat", "openai_responses", "anthropic", "gemini"])
def test_what_is_no_reply_is_told(run: Run, tmp_path: Path, protocol: str, body: bytes):
    assert read(run, tmp_path, protocol, body)["error"]["message"]


def test_the_standard_input_is_read_for_a_dash(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CHAT)))
    assert told(run("read", "-", "--protocol", "openai_chat"))["content"] == "Hi\u2028there"


def test_a_file_that_cannot_be_read_is_named(run: Run, tmp_path: Path):
    done = run("read", tmp_path, "--protocol", "gemini")
    assert (done.code, done.out) == (2, "")
    assert done.err == f"Error: {tmp_path}: cannot be read: Is a directory\n"
