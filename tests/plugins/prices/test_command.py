"""`prices`: what it prints, and that a bad update changes nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tui_chat.library.prices import FILE

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
