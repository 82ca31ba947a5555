"""Every way in which a reply can end or be framed has a sentence and an exit code, also as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.cli.data import table
from tests.support.command_line import Run
from tests.support.server import Answer, Provider, events

ENDS = table("reply_ends")
"""Protocol, the reply as events or whole, the exit code, words on the error stream, and our reason
and the provider's.
"""


def answer_of(row: dict[str, Any]) -> Answer:
    if "events" in row:
        return Answer(events(*row["events"], done=row["protocol"] == "openai_chat"))
    return Answer(json.dumps(row["whole"]), "application/json")


def ask(run: Run, folder: Path, protocol: str, *answers: Answer, options: tuple[str, ...] = ()):
    with Provider(*answers) as provider:
        config = provider.config(protocol) + "[endpoints.local.retries]\ntimes = 0\n"
        (folder / "config.toml").write_text(config)
        base = ("--config-dir", folder, "--data-dir", folder, "ask", "Hi", "--raw")
        return run(*base, "--save-to", folder, *options)


def test_ask_says_how_a_reply_ended(run: Run, tmp_path: Path):
    wrong: list[object] = []
    for name, row in ENDS.items():
        done, words = ask(run, tmp_path, row["protocol"], answer_of(row)), row["words"]
        is_told = words in done.err if words else not done.err
        if done.code != row["code"] or not is_told or done.err.count(words or "x") > 1:
            wrong.append((name, done))
        if "Half" in json.dumps(row) and done.out != "Half":
            wrong.append((name, "text", done.out))
    assert not wrong, wrong


def test_json_has_both_reasons(run: Run, tmp_path: Path):
    wrong: list[object] = []
    for name, row in ENDS.items():
        done = ask(run, tmp_path, row["protocol"], answer_of(row), options=("--json",))
        reply = json.loads(done.out)
        found = [reply["finish_reason"], reply["provider_finish_reason"]]
        error = reply["error"] or ""
        is_told = "Saved" in row["words"] or (error != "") == bool(row["words"])
        if found != row["reasons"] or done.code != row["code"] or not is_told:
            wrong.append((name, found, done.code, error))
    assert not wrong, wrong


def test_a_cut_reply_and_an_error_have_theirs(run: Run, tmp_path: Path):
    half = events({"choices": [{"delta": {"content": "Half"}}]}, done=False)
    rows = {
        "cut": (Answer(half), 6, "The connection ended in the middle of the reply."),
        "cut at once": (Answer(""), 6, "The connection ended before the reply began."),
        "error": (Answer(half + 'data: {"error":"boom"}\n\n'), 5, "boom"),
        "refused": (Answer('{"error":{"message":"no"}}', "application/json", 400), 5, "no"),
    }
    wrong: list[object] = []
    for name, (answer, code, words) in rows.items():
        done = ask(run, tmp_path, "openai_chat", answer)
        if done.code != code or words not in done.err:
            wrong.append((name, done))
    assert not wrong, wrong


# --- Replies in the framings of real servers ----------------------------------------------


def chunk(text: str = "", finish: str | None = None) -> dict[str, object]:
    delta = {"content": text} if text else {}
    return {"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


OLLAMA_LINE = {"model": "m", "message": {"role": "assistant", "content": "Good "}, "done": False}
GEMINI = (
    {"candidates": [{"content": {"role": "model", "parts": [{"text": "Good "}]}}]},
    {"candidates": [{"content": {"parts": [{"text": "morning."}]}, "finishReason": "STOP"}]},
)
TABLE = table("reply_framing")
"""Replies that say “Good morning.”, by protocol, content type and body, and replies with an error
that says “too wide”, by content type and body.
"""
HALF = events(chunk("Half"), done=False)


def lines(*values: object) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


def ask_framed(run: Run, folder: Path, provider: Provider, protocol: str) -> tuple[int, str, str]:
    folder.mkdir(exist_ok=True)
    config = provider.config(protocol) + "[endpoints.local.retries]\ntimes = 0\n"
    (folder / "config.toml").write_text(config)
    done = run("--config-dir", folder, "--data-dir", folder, "ask", "Hi", "--raw")
    return done.code, done.out, done.err


def test_a_reply_is_read_in_any_framing(run: Run, tmp_path: Path):
    wrong: list[object] = []
    for name, (protocol, kind, body) in TABLE["read"].items():
        with Provider(Answer(body, kind)) as provider:
            found = ask_framed(run, tmp_path, provider, protocol)
        if found != (0, "Good morning.", ""):
            wrong.append((name, found))
    assert not wrong, wrong


def test_an_error_is_shown_in_any_framing(run: Run, tmp_path: Path):
    wrong: list[object] = []
    for name, (kind, body) in TABLE["errors"].items():
        with Provider(Answer(body, kind)) as provider:
            code, out, err = ask_framed(run, tmp_path, provider, "openai_chat")
        if code not in (5, 6) or "too wide" not in err or ("Half" in body) != ("Half" in out):
            wrong.append((name, code, out, err))
    assert not wrong, wrong


def test_what_came_before_an_error_is_kept_in_pieces_of_any_size(run: Run, tmp_path: Path):
    body = (HALF + 'error: {"message":"too wide"}\r\n\r\n').encode()
    pieces = [body[n : n + 1] for n in range(len(body))]
    with Provider(Answer(pieces)) as provider:
        code, out, err = ask_framed(run, tmp_path, provider, "openai_chat")
    assert (code, out) == (5, "Half")
    assert "too wide" in err


def test_a_recorded_reply_is_read_as_far_as_it_goes(run: Run, tmp_path: Path):
    rows = {
        "one line of Ollama": ("ollama", lines(OLLAMA_LINE)),
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
