"""Every way in which a reply can end has a sentence and an exit code, also as JSON."""

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
