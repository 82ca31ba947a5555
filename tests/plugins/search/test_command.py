"""`tui-chat search`."""

from __future__ import annotations

import json

from tests.support.command_line import Run
from tests.support.hostile_world import World
from tests.support.imported_sessions import Command


def test_search(filled: Command):
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


def test_a_printed_id_works_when_pasted_back(filled: Command):
    [line, *_] = filled("search", "walk").out.splitlines()
    assert filled("sessions", "show", line.split()[-1]).out.startswith("# A walk\n")


def test_json_escapes_keep_the_data(run: Run, stored: World):
    folders = ("--data-dir", stored.data, "--config-dir", stored.config)
    (hit, *_) = json.loads(run(*folders, "search", "findme", "--json").out)
    assert "\x9b31m" in hit["snippet"]
