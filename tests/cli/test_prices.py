"""`prices` and `usage`: what they print, and that a bad update changes nothing."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tui_chat.library.prices import FILE
from tui_chat.models.message import Message
from tui_chat.models.session import Entry, Session
from tui_chat.models.transcript import SessionTranscript
from tui_chat.models.usage import Usage
from tui_chat.store import Store

Call = Callable[..., Any]
MODEL = {"id": "m", "match": {"equals": "gpt-5"}, "prices": {"input_mtok": 9, "output_mtok": 8.5}}
GOOD = [{"id": "openai", "models": [MODEL]}, {"id": "other", "models": "whatever"}]


@pytest.fixture
def call(run: Call, tmp_path: Path) -> Call:
    return lambda *words: run("--data-dir", tmp_path, "--config-dir", tmp_path, *words)


def test_prices_are_shown_with_their_source(call: Call):
    done = call("prices", "show", "gemini-2.5-pro")
    assert done.code == 0
    assert "genai-prices 0.2.3, 2026-11-23" in done.out
    assert "above 200,000 tokens of input: input $2.5, output $15" in done.out
    shown = json.loads(call("prices", "show", "gpt-5", "--endpoint", "openai", "--json").out)
    assert shown["prices"]["openai"]["input"] == 1.25
    unknown = call("prices", "show", "nobody-knows")
    assert (unknown.code, "—" in unknown.out) == (1, True)


def test_an_update_is_used_at_once_and_a_bad_one_changes_nothing(call: Call, tmp_path: Path):
    source = tmp_path / "data_slim.json"
    source.write_text(json.dumps(GOOD))
    done = call("prices", "update", "--from", source)
    assert (done.code, "1 models of 1 providers" in done.out) == (0, True)
    kept = (tmp_path / FILE).read_bytes()
    shown = json.loads(call("prices", "show", "gpt-5", "--endpoint", "openai", "--json").out)
    assert shown["prices"]["openai"]["output"] == 8.5
    for bad in ("", "{}", "[1]", "[]", json.dumps([{**GOOD[0], "models": [{"id": "m"}]}])):
        source.write_text(bad)
        done = call("prices", "update", "--from", source)
        assert (done.code, "Traceback" in done.err) == (2, False)
        assert str(source) in done.err
    for place in ("http://127.0.0.1:1/x", "https://127.0.0.1:1/x", tmp_path / "missing"):
        done = call("prices", "update", "--from", place)
        assert done.code == (4 if str(place).startswith("https") else 2)
        assert "Traceback" not in done.err
    assert (tmp_path / FILE).read_bytes() == kept


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
