"""Commands over a database with two sessions."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.support.command_line import Done, Run
from tui_chat.interop.own_json import read_session
from tui_chat.paths import database_file
from tui_chat.store import Store

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
def filled(chat: Command, file: Path, tmp_path: Path) -> Command:
    asyncio.run(add_sessions(tmp_path / "data", file))
    return chat


async def add_sessions(folder: Path, file: Path) -> None:
    """Store the sessions of a file of our own JSON in the database of a data folder."""
    sessions = json.loads(file.read_text())["sessions"]
    store = await Store.open(database_file(folder), now=time.time, new_id=lambda: uuid4().hex)
    async with store:
        await store.transcripts.add_many(map(read_session, sessions))
