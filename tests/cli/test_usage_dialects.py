"""Usage in the words of many servers, and what a later, emptier report does to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.cli.data import table
from tests.support.command_line import Run
from tests.support.server import events

TABLE = table("usage_dialects")
BASE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
TEXT = {"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}
EMPTY = ({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, {"prompt_tokens": None})


def read(run: Run, folder: Path, protocol: str, body: str) -> dict[str, Any]:
    file = folder / "reply"
    file.write_text(body)
    return json.loads(run("read", file, "--protocol", protocol).out)["usage"]


def has(usage: dict[str, Any], **wanted: int) -> bool:
    return all(usage[key] == value for key, value in wanted.items())


def test_openai_chat(run: Run, tmp_path: Path):
    wrong: list[object] = []
    for name, row in TABLE["openai_chat"].items():
        usage = {**BASE, **row["usage"]}
        bodies = {
            "last": events(TEXT, {"choices": [], "usage": usage}),
            "in the choice": events({"choices": [{**TEXT["choices"][0], "usage": usage}]}),
            "whole": json.dumps({"choices": [{"message": {"content": "Hi"}}], "usage": usage}),
            **{
                f"before {empty}": events({**TEXT, "usage": usage}, {"choices": [], "usage": empty})
                for empty in EMPTY
            },
        }
        for form, body in bodies.items():
            found = read(run, tmp_path, "openai_chat", body)
            if not has(found, input=10, output=5, **row["read"]):
                wrong.append((name, form, found))
    assert not wrong, wrong


def test_other_places_and_protocols(run: Run, tmp_path: Path):
    wrong: list[object] = []
    for name, row in TABLE["others"].items():
        body = events(*row["events"], done=row["protocol"] == "openai_chat")
        usage = read(run, tmp_path, row["protocol"], body)
        if not has(usage, **row["read"]):
            wrong.append((name, usage))
    assert not wrong, wrong
