"""Conversations of the calls in HAR files."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

from tests.support.reading import read, said


def har(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"log": {"version": "1.2", "creator": {}, "entries": list(entries)}}


def call(messages: list[Any], reply: str, **content: Any) -> dict[str, Any]:
    body = json.dumps({"model": "m", "messages": messages})
    return {
        "startedDateTime": "2026-01-01T00:00:00Z",
        "request": {
            "method": "POST",
            "url": "https://example.com/v1/chat/completions?key=sk-secret",
            "headers": [{"name": "authorization", "value": "Bearer sk-secret"}],
            "postData": {"text": body},
        },
        "response": {"status": 200, "content": {"text": reply, **content}},
    }


def test_calls_of_a_har_file_become_a_conversation_without_keys():
    user, more = {"role": "user", "content": "Hi"}, {"role": "user", "content": "More"}
    stream = 'data: {"choices": [{"delta": {"content": "Hello"}, "finish_reason": "stop"}]}\r\n\r\n'
    whole = json.dumps({"choices": [{"message": {"content": "Bye"}, "finish_reason": "stop"}]})
    [found] = read(har(
        {"request": {"method": "GET", "url": "https://example.com/"}},
        {"request": 5},
        call([user], b64encode(stream.encode()).decode(), encoding="base64"),
        call([user, {"role": "assistant", "content": "Hello"}, more], whole),
    ))  # fmt: skip
    assert found.transcript is not None
    assert said(found.transcript) == [
        ("user", "Hi"), ("assistant", "Hello"), ("user", "More"), ("assistant", "Bye"),
    ]  # fmt: skip
    assert "sk-secret" not in repr(found)


def test_a_call_that_failed_keeps_its_messages():
    [found] = read(har(call([{"role": "user", "content": "Hi"}], "<html>")))
    assert found.transcript is not None
    assert said(found.transcript) == [("user", "Hi")]
    assert len(found.notes) == 1


def test_a_har_file_without_calls_says_so():
    [found] = read(har())
    assert found.fault == "has no call of a provider"
