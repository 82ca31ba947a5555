"""`tui-chat --help`: the commands under four headings."""

from __future__ import annotations

import re

from tests.support.command_line import Run

HEADINGS = ("Chat", "Requests", "Data", "Setup")


def test_each_command_stands_under_one_heading(run: Run):
    done = run("--help")
    assert done.code == 0
    sections = dict(re.findall(r"^(\w+):\n((?:(?:  .*)?\n)+)", done.out, re.MULTILINE))
    assert [name for name in sections if name != "Options"] == [*HEADINGS]
    names = {name: re.findall(r"^  (\w+)", sections[name], re.MULTILINE) for name in HEADINGS}
    every = [each for name in HEADINGS for each in names[name]]
    assert len(every) == len({*every})
    for name, some in (
        ("Chat", "ask sessions"),
        ("Requests", "build tap convert"),
        ("Data", "import export db presets"),
        ("Setup", "config keys doctor models mcp"),
    ):
        assert {*some.split()} <= {*names[name]}, name
    assert "Commands:" in run("sessions", "--help").out
