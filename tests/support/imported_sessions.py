"""Commands over a database into which two sessions were imported."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import Done, Run

Command = Callable[..., Done]


@pytest.fixture
def chat(run: Run, tmp_path: Path) -> Command:
    """Run a command on a new database."""
    return lambda *words: run("--data-dir", tmp_path / "data", *words)


def conversation(title: str, said: str) -> dict[str, Any]:
    """A session of our own JSON with a question and two answers."""
    key = title.replace(" ", "-")
    question = {"id": f"{key}-q", "role": "user", "content": said}
    answers = [
        {"id": f"{key}-{each}", "role": "assistant", "content": text, "parent_id": f"{key}-q"}
        for each, text in (("a", "North."), ("b", "South."))
    ]
    answers[0]["model"] = "gpt-4"
    session = {
        "session_id": title.replace(" ", "") + "session",
        "title": title,
        "head_id": f"{key}-a",
    }
    return {"session": session, "messages": [question, *answers]}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "conversations.json"
    told = [conversation("A walk", "Where to, 去北方好吗?"), conversation("A swim", "How far?")]
    path.write_text(json.dumps({"format": "tui-chat", "version": 1, "sessions": told}))
    return path


@pytest.fixture
def filled(chat: Command, file: Path) -> Command:
    assert chat("import", file).code == 0
    return chat
