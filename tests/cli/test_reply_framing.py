"""Replies in the framings of real servers: each is printed, or its error is, with an exit code."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.command_line import Run
from tests.support.server import Answer, Provider, chat_text, events

SSE, JSON, LINES = "text/event-stream", "application/json", "application/x-ndjson"


def chunk(text: str = "", finish: str | None = None) -> dict[str, object]:
    delta = {"content": text} if text else {}
    return {"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


STREAM = chat_text("Good ", "morning.")
WHOLE = {
    "choices": [
        {"message": {"role": "assistant", "content": "Good morning."}, "finish_reason": "stop"}
    ]
}
CHUNKS = (chunk("Good "), chunk("morning."), chunk(finish="stop"))
OLLAMA = (
    {"model": "m", "message": {"role": "assistant", "content": "Good "}, "done": False},
    {"model": "m", "message": {"content": "morning."}, "done": True, "done_reason": "stop"},
)
GEMINI = (
    {"candidates": [{"content": {"role": "model", "parts": [{"text": "Good "}]}}]},
    {"candidates": [{"content": {"parts": [{"text": "morning."}]}, "finishReason": "STOP"}]},
)
ANTHROPIC = {
    "type": "message",
    "role": "assistant",
    "content": [{"type": "text", "text": "Good morning."}],
    "stop_reason": "end_turn",
}
RESPONSES = {
    "object": "response",
    "status": "completed",
    "output": [{"type": "message", "content": [{"type": "output_text", "text": "Good morning."}]}],
}


def lines(*values: object) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


READ: dict[str, tuple[str, str, str]] = {
    **{f"events as {kind!r}": ("openai_chat", kind, STREAM) for kind in ("text/plain", JSON, "")},
    "events as bytes": ("openai_chat", "application/octet-stream", STREAM),
    "events as a page": ("openai_chat", "text/html; charset=utf-8", STREAM),
    "a comment before events": ("openai_chat", JSON, f": hello\n\n{STREAM}"),
    "blank lines before events": ("openai_chat", "text/plain", f"\n\n{STREAM}"),
    "a mark of byte order": ("openai_chat", SSE, f"\ufeff{STREAM}"),
    "a mark of byte order as JSON": ("openai_chat", JSON, f"\ufeff{STREAM}"),
    "carriage returns": ("openai_chat", SSE, STREAM.replace("\n", "\r")),
    "no blank lines": ("openai_chat", SSE, STREAM.replace("\n\n", "\n")),
    "JSON lines for events": ("openai_chat", SSE, lines(*CHUNKS)),
    "JSON lines as JSON": ("openai_chat", JSON, lines(*CHUNKS)),
    "one JSON body as events": ("openai_chat", SSE, json.dumps(WHOLE)),
    "one JSON body over lines": ("openai_chat", SSE, json.dumps(WHOLE, indent=2)),
    "one JSON body as lines": ("openai_chat", LINES, lines(WHOLE)),
    "one JSON body as text": ("openai_chat", "text/plain", json.dumps(WHOLE)),
    "one JSON body": ("openai_chat", JSON, f"\ufeff{json.dumps(WHOLE)}\n"),
    "JSON over lines in an event": (
        "openai_chat",
        SSE,
        "".join(f"data: {json.dumps(each, indent=1)}\n\n" for each in CHUNKS),
    ),
    "lines": ("ollama", LINES, lines(*OLLAMA)),
    "lines as JSON": ("ollama", JSON, lines(*OLLAMA)),
    "lines as events": ("ollama", SSE, lines(*OLLAMA)),
    "events for lines": ("ollama", SSE, events(*OLLAMA)),
    "events as lines": ("ollama", LINES, events(*OLLAMA, done=False)),
    "lines without the last end": ("ollama", LINES, lines(*OLLAMA).rstrip()),
    "a list over lines": ("gemini", JSON, json.dumps(GEMINI, indent=2)),
    "a list as events": ("gemini", SSE, json.dumps(GEMINI, indent=2)),
    "a list of whole lines": ("gemini", SSE, json.dumps(GEMINI)),
    "a list with commas apart": (
        "gemini",
        SSE,
        "[" + "\n,\r\n".join(json.dumps(each, indent=2) for each in GEMINI) + "\n]\n",
    ),
    "a whole message as events": ("anthropic", SSE, json.dumps(ANTHROPIC)),
    "a whole message in an event": ("anthropic", SSE, events(ANTHROPIC, done=False)),
    "a whole response as events": ("openai_responses", SSE, json.dumps(RESPONSES, indent=2)),
    "a whole response in an event": ("openai_responses", JSON, events(RESPONSES)),
}
"""Protocol, content type and body of replies that say “Good morning.”."""

HALF = events(chunk("Half"), done=False)
ERRORS: dict[str, tuple[str, str]] = {
    "error: as a field": (SSE, HALF + 'error: {"code":400,"message":"too wide"}\n\n'),
    "error: and the end": (SSE, HALF + 'error: {"message":"too wide"}\n\ndata: [DONE]\n\n'),
    "error: first": (SSE, 'error: {"code":500,"message":"too wide"}\n\n'),
    "error: as text": (SSE, HALF + "error: too wide\n\n"),
    "Error: as text": (SSE, HALF + "Error: too wide\n"),
    "an event called error": (SSE, HALF + 'event: error\ndata: {"message":"too wide"}\n\n'),
    "an event called error of text": (SSE, HALF + "event: error\ndata: too wide\n\n"),
    "bare JSON first": (SSE, '{"error":{"code":400,"message":"too wide"}}'),
    "bare JSON after": (SSE, HALF + '{"error":{"code":400,"message":"too wide"}}\n'),
    "bare JSON over lines": (SSE, HALF + '{\n  "error": {\n    "message": "too wide"\n  }\n}\n'),
    "bare list": (SSE, HALF + '[{\n  "error": {\n    "message": "too wide"\n  }\n}\n]\n'),
    "JSON of several lines in data": (SSE, HALF + 'data: {\n  "error": "too wide"\n}\n\n'),
    "an error of text": (SSE, HALF + 'data: {"error":"too wide"}\n\n'),
    "a detail": (SSE, HALF + 'data: {"detail":"too wide"}\n\n'),
    "a list of details": (SSE, 'data: {"detail":[{"loc":["body"],"msg":"too wide"}]}\n\n'),
    "message and code": (SSE, HALF + 'data: {"message":"too wide","code":429}\n\n'),
    "message and code as text": (SSE, 'data: {"code":"Bad","message":"too wide","id":"1"}\n\n'),
    "a message alone": (SSE, HALF + 'data: {"message":"too wide"}\n\n'),
    "a message alone, and the end": (SSE, 'data: {"message":"too wide"}\n\ndata: [DONE]\n\n'),
    "a type of error": (SSE, 'data: {"type":"overloaded_error","message":"too wide"}\n\n'),
    "errors": (SSE, HALF + 'data: {"errors":[{"message":"too wide"}]}\n\n'),
    "msg": (SSE, HALF + 'data: {"error_code":17,"error_msg":"too wide"}\n\n'),
    "base_resp": (
        SSE,
        'data: {"id":"1","choices":null,"base_resp":{"status_code":1,"status_msg":"too wide"}}\n',
    ),
    "an error in the choice": (
        SSE,
        events(
            {"choices": [{"delta": {"content": "Half"}, "error": {"message": "too wide"}}]},
        ),
    ),
    "a proxy's words": (SSE, HALF + "upstream reset: too wide\n"),
    "a page": (SSE, "<html><title>too wide</title></html>"),
    "a page as such": ("text/html", "<html><title>too wide</title></html>"),
    "JSON that is no reply": (JSON, '{"message":"too wide"}'),
    "JSON that is no reply, as events": (SSE, '{"message":"too wide"}'),
    "an error as JSON": (JSON, '{"error":{"message":"too wide"}}'),
    "an error as text": ("text/plain", '{"error":{"message":"too wide"}}'),
}
"""Content type and body of replies with an error that says “too wide”."""


def ask(run: Run, folder: Path, provider: Provider, protocol: str) -> tuple[int, str, str]:
    folder.mkdir(exist_ok=True)
    config = provider.config(protocol) + "[endpoints.local.retries]\ntimes = 0\n"
    (folder / "config.toml").write_text(config)
    done = run("--config-dir", folder, "--data-dir", folder, "ask", "Hi", "--raw")
    return done.code, done.out, done.err


def test_a_reply_is_read_in_any_framing(run: Run, tmp_path: Path):
    wrong: list[object] = []
    for name, (protocol, kind, body) in READ.items():
        with Provider(Answer(body, kind)) as provider:
            found = ask(run, tmp_path, provider, protocol)
        if found != (0, "Good morning.", ""):
            wrong.append((name, found))
    assert not wrong, wrong


def test_an_error_is_shown_in_any_framing(run: Run, tmp_path: Path):
    wrong: list[object] = []
    for name, (kind, body) in ERRORS.items():
        with Provider(Answer(body, kind)) as provider:
            code, out, err = ask(run, tmp_path, provider, "openai_chat")
        if code not in (5, 6) or "too wide" not in err or ("Half" in body) != ("Half" in out):
            wrong.append((name, code, out, err))
    assert not wrong, wrong


def test_what_came_before_an_error_is_kept_in_pieces_of_any_size(run: Run, tmp_path: Path):
    body = (HALF + 'error: {"message":"too wide"}\r\n\r\n').encode()
    pieces = [body[n : n + 1] for n in range(len(body))]
    with Provider(Answer(pieces)) as provider:
        code, out, err = ask(run, tmp_path, provider, "openai_chat")
    assert (code, out) == (5, "Half")
    assert "too wide" in err


def test_a_recorded_reply_is_read_as_far_as_it_goes(run: Run, tmp_path: Path):
    rows = {
        "one line of Ollama": ("ollama", lines(OLLAMA[0])),
        "a list that was cut": ("gemini", json.dumps(GEMINI, indent=2)[:-200]),
        "JSON lines": ("openai_chat", lines(chunk("Good "))),
    }
    wrong: list[object] = []
    for name, (protocol, body) in rows.items():
        file = tmp_path / "reply"
        file.write_text(body)
        done = run("read", file, "--protocol", protocol)
        reply = json.loads(done.out)
        if reply["content"] != "Good " or not reply["error"]:
            wrong.append((name, reply))
    assert not wrong, wrong
