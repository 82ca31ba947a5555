"""`usage`: what it prints."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.imported_sessions import add_sessions
from tui_chat.cli.app import open_workspace
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.names import named_session

Call = Callable[..., Any]


async def fork(home: Path, title: str) -> None:
    """Copy the branch of a session into a new one."""
    workspace = await open_workspace(CommonOptions(home, home).config())
    try:
        session = await named_session(workspace.store, title)
        await workspace.sessions.activate(session.session_id)
        await workspace.branches.fork(workspace.state.entries[-1].message.id)
    finally:
        await workspace.close()


@pytest.fixture
def call(run: Call, tmp_path: Path) -> Call:
    return lambda *words: run("--data-dir", tmp_path, "--config-dir", tmp_path, *words)


def test_usage_adds_up_what_is_stored(call: Call, tmp_path: Path):
    assert json.loads(call("usage", "--json").out) == []

    file = Path(__file__).parent / "data" / "usage_session.json"
    asyncio.run(add_sessions(tmp_path, file))
    asyncio.run(fork(tmp_path, "Talk"))
    (row,) = json.loads(call("usage", "--by", "model", "--json").out)
    assert row == {
        "model": "openai/gpt-5",
        "replies": 4,
        "input": 1_000_028,
        "cached": 5,
        "output": 11,
        "cost": "1.55",
        "without_cost": 1,
    }, "the fork’s copy is not counted; the third has the prices of its day"
    done = call("usage", "--by", "day")
    assert done.code == 0
    assert "$1.5500" in done.out


def test_equal_replies_without_times_count_each_and_copies_of_a_fork_do_not(call: Call, tmp_path):
    reply = {"role": "assistant", "content": "Yes.", "parent_id": "q"}
    facts = {"model": "gpt-5", "endpoint": "openai", "usage": {"input": 10, "output": 2}}
    sessions = [
        {
            "session": {"session_id": name, "title": name, "head_id": f"{name}-b"},
            "messages": [
                {"id": f"{name}-q", "role": "user", "content": "Is it?"},
                {**reply, "id": f"{name}-a", "parent_id": f"{name}-q", **facts},
                {**reply, "id": f"{name}-b", "parent_id": f"{name}-q", **facts},
            ],
        }
        for name in ("one", "two")
    ]
    file = tmp_path / "export.json"
    file.write_text(json.dumps({"format": "tui-chat", "version": 1, "sessions": sessions}))
    asyncio.run(add_sessions(tmp_path, file))
    (row,) = json.loads(call("usage", "--by", "model", "--json").out)
    assert (row["replies"], row["input"]) == (4, 40)
    (first,) = [
        e["session_id"]
        for e in json.loads(call("sessions", "list", "--json").out)
        if e["title"] == "one"
    ]
    for _ in range(2):
        asyncio.run(fork(tmp_path, first))
    (row,) = json.loads(call("usage", "--by", "model", "--json").out)
    assert (row["replies"], row["input"]) == (4, 40)
