"""`tui-chat search`."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from pathlib import Path

import pytest

from tests.support.command_line import Run
from tests.support.imported_sessions import add_sessions


@pytest.fixture
def filled(run: Run, tmp_path: Path) -> Run:
    """Run a command on a database with a conversation, in which there is a control character."""
    messages = [
        {"id": "q", "role": "user", "content": "Where to, 去北方好吗? findme \x9b31m"},
        {"id": "a", "role": "assistant", "content": "North.", "parent_id": "q", "model": "gpt-4"},
    ]
    session = {"session_id": "walk", "title": "A walk", "head_id": "a"}
    told = [{"session": session, "messages": messages}]
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps({"format": "tui-chat", "version": 1, "sessions": told}))
    filled = partial(run, "--data-dir", tmp_path / "data")
    asyncio.run(add_sessions(tmp_path / "data", path))
    return filled


def test_messages_are_found_and_printed_harmlessly(filled: Run):
    [hit] = json.loads(filled("search", "北方", "--json").out)
    assert {"session_id", "message_id", "snippet"} <= set(hit)
    [(start, end)] = hit["marks"]
    assert hit["snippet"][start:end] == "北方"
    plain = filled("search", "north", "--message-role", "assistant")
    assert plain.code == 0
    assert "[North]" in plain.out
    assert "\x1b" not in plain.out
    nothing = filled("search", "elsewhere", "--json")
    assert (nothing.code, json.loads(nothing.out)) == (1, [])
    assert filled("search", "north", "--model", "nobody").code == 1
    assert filled("search", "north", "--until", "2001-01-01").code == 1
    assert "\x9b" not in filled("search", "findme").out
    escaped = filled("search", "findme", "--json").out
    assert "\x9b" not in escaped
    assert "\x9b31m" in json.loads(escaped)[0]["snippet"], "escapes keep the data"


def test_a_printed_id_works_when_pasted_back(filled: Run):
    [line, *_] = filled("search", "walk").out.splitlines()
    assert filled("sessions", "show", line.split()[-1]).out.startswith("# A walk\n")
