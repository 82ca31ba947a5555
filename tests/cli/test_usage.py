"""`usage`: what it prints."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tui_chat.models.message import Message
from tui_chat.models.session import Entry, Session
from tui_chat.models.transcript import SessionTranscript
from tui_chat.models.usage import Usage
from tui_chat.store import Store

Call = Callable[..., Any]


@pytest.fixture
def call(run: Call, tmp_path: Path) -> Call:
    return lambda *words: run("--data-dir", tmp_path, "--config-dir", tmp_path, *words)


def test_usage_adds_up_what_is_stored(call: Call, tmp_path: Path):
    assert json.loads(call("usage", "--json").out) == []

    async def fill() -> None:
        seconds, numbers = itertools.count(1_700_000_000), itertools.count()
        store = await Store.open(
            tmp_path / "chat.db",
            now=lambda: float(next(seconds)),
            new_id=lambda: f"i{next(numbers)}",
        )
        async with store:
            where = {"model": "gpt-5", "endpoint": "openai"}
            entries = (
                Entry(Message("user", "q", id="a")),
                Entry(
                    Message("assistant", "one", id="b", timestamp=1_790_000_000.0), "a",
                    usage=Usage(10, 2, 5), cost=Decimal("0.1"), priced="x", **where,
                ),
                Entry(
                    Message("assistant", "two", id="c", timestamp=1_790_000_001.0), "a",
                    usage=Usage(11, 2), cost=Decimal("0.2"), priced="x", **where,
                ),
                Entry(
                    Message("assistant", "three", id="d", timestamp=1_790_000_002.0), "a",
                    usage=Usage(1_000_000, 0), **where,
                ),
                Entry(
                    Message("assistant", "four", id="e", timestamp=1_790_000_003.0), "a",
                    usage=Usage(7, 7), priced="unknown", **where,
                ),
            )  # fmt: skip
            talk = SessionTranscript(Session("s", "Talk", head_id="b"), entries)
            await store.transcripts.add(talk)
            await store.branches.fork("b")

    asyncio.run(fill())
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
    for group in ("day", "month", "session"):
        done = call("usage", "--by", group)
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
    assert call("import", file).code == 0
    (row,) = json.loads(call("usage", "--by", "model", "--json").out)
    assert (row["replies"], row["input"]) == (4, 40)
    assert call("sessions", "fork", "one").code == 0
    assert call("sessions", "fork", "one").code == 0
    (row,) = json.loads(call("usage", "--by", "model", "--json").out)
    assert (row["replies"], row["input"]) == (4, 40)
