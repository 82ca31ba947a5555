"""`tui-chat inspect FILE.har`: the provider calls of a HAR file."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import Run
from tests.support.tables import each_row

KEY = "sk-planted-0123456789abcdefghij"


def entry(url: str, body: Any, reply: Any, status: int = 200, **more: Any) -> dict[str, Any]:
    text = reply if isinstance(reply, str) else json.dumps(reply)
    return {
        "startedDateTime": "2026-03-07T04:00:00.000Z",
        "time": 900,
        "timings": {"send": 100, "wait": 200, "receive": 600},
        "request": {
            "method": "POST",
            "url": url,
            "headers": [
                {"name": "Authorization", "value": f"Bearer {KEY}"},
                {"name": "Content-Encoding", "value": "zstd"},
            ],
            "postData": {"mimeType": "application/json", "text": json.dumps(body)},
        },
        "response": {
            "status": status,
            "headers": [{"name": "content-encoding", "value": "br"}],
            "content": {"mimeType": "text/event-stream", "text": text, **more},
        },
    }


def har(*entries: Any) -> dict[str, Any]:
    return {"log": {"version": "1.2", "creator": {"name": "x"}, "entries": list(entries)}}


def said(*texts: str) -> list[dict[str, str]]:
    roles = ("user", "assistant")
    return [{"role": roles[number % 2], "content": text} for number, text in enumerate(texts)]


CHAT = "https://api.openai.com/v1/chat/completions"
DELTA = {"choices": [{"delta": {"content": "Hello"}, "finish_reason": "stop"}]}
STREAM = f"data: {json.dumps(DELTA)}\n\ndata: [DONE]\n\n"
FILE = har(
    {"request": {"method": "GET", "url": "https://example.org/"}},
    entry(f"{CHAT}?key={KEY}", {"model": "m", "messages": said("Hi")}, STREAM),
    entry("https://api.openai.com/v1/embeddings", {"model": "m", "input": ["x"]}, {}),
    entry(
        CHAT,
        {"model": "m", "messages": said("Hi", "Hello", f"It is {KEY}")},
        base64.b64encode(STREAM.encode()).decode(),
        encoding="base64",
    ),
    entry(
        "https://generativelanguage.googleapis.com/v1beta/models/gemini-3:generateContent",
        {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
        {"error": {"code": 429, "message": "Slow down.", "status": "RESOURCE_EXHAUSTED"}},
        429,
    ),
    None,
    7,
    {"request": "x"},
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "calls.har"
    file.write_text("\ufeff" + json.dumps(FILE), encoding="utf-8")
    return file


def test_the_calls_are_listed(run: Run, path: Path):
    done = run("inspect", path)
    assert done.code == 0
    head, one, two, three, failure = done.out.splitlines()
    assert head.split()[:4] == ["call", "time", "program", "model"]
    assert [line.split()[0] for line in (one, two, three)] == ["1", "2", "3"]
    assert [line.split()[3] for line in (one, two, three)] == ["m", "m", "gemini-3"]
    assert "Slow down." in failure


def test_one_is_explained(run: Run, path: Path):
    done = run("inspect", path, "--call", 2, "--json")
    call = json.loads(done.out)
    assert call["at"] == "2026-03-07T04:00:00.000+00:00"
    assert call["request"]["url"] == CHAT
    assert call["reply"]["content"] == "Hello"
    assert call["seconds"] == {
        "request": 0.1,
        "first_byte": 0.2,
        "first_token": 0.2,
        "total": 0.9,
    }
    assert call["compared"]["cache"]["kind"] == "grown"
    assert call["explained"]["turns"][2]["content"] == "It is [key]"
    lines = run("inspect", path, "--json").out
    assert len(lines.splitlines()) == 3
    assert KEY not in lines + done.out


def test_tokens_are_those_that_the_reply_reported(run: Run, tmp_path: Path):
    texts = ("Where is the river? " * 40, "Hello", "And where is the mill? " * 40)
    usage = {"choices": [], "usage": {"prompt_tokens": 210, "completion_tokens": 3}}
    reported = STREAM.replace("data: [DONE]", f"data: {json.dumps(usage)}\n\ndata: [DONE]")
    file = tmp_path / "calls.har"
    first = entry(CHAT, {"model": "m", "messages": said(texts[0])}, STREAM)
    second = entry(CHAT, {"model": "m", "messages": said(*texts)}, reported)
    file.write_text(json.dumps(har(first, second)))
    calls = [json.loads(line) for line in run("inspect", file, "--json").out.splitlines()]
    tokens = [call["explained"]["tokens"] for call in calls]
    assert tokens[0]["total"] != tokens[1]["total"] == 210
    assert calls[1]["reply"]["usage"]["input"] == 210
    assert calls[1]["compared"]["cache"]["total"] == 210


@each_row(
    ("text", "words", "told"),
    [
        (json.dumps(FILE), ("--call", 4), "There is no call 4: the HAR file has 3."),
        (json.dumps(FILE), ("--call", 1), "The screen needs a terminal."),
        (json.dumps(har()), (), "The HAR file has no call of a provider."),
        ('{"log": {"entries": 7}}', (), "This is not a HAR file: it has no list of entries."),
        ('{"log": {"entries": [', (), "The HAR file is not JSON"),
        ('{"model": "m", "messages": []}', ("--json",), "--call and --json are for HAR files."),
    ],
)
def test_faults(run: Run, tmp_path: Path, text: str, words: tuple[Any, ...], told: str):
    file = tmp_path / "x.har"
    file.write_text(text)
    done = run("inspect", file, *words)
    assert done.code == 2
    assert told in done.err


@each_row("time", [10**400, 1e999, -1, True, "900", None])
def test_an_impossible_time_is_left_out(run: Run, tmp_path: Path, time: Any):
    path = tmp_path / "calls.har"
    reply = f"data: {json.dumps(DELTA)}\n\ndata: [DONE]\n\n"
    call = entry(CHAT, {"model": "m", "messages": said("Hi")}, reply)
    path.write_text(json.dumps(har(call | {"time": time})))
    done = run("inspect", str(path), "--json")
    assert done.code == 0
    assert "Infinity" not in done.out
