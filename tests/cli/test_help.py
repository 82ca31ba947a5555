"""`--help`: the commands under four headings, and examples that can be parsed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click

from tests.support.command_line import Run
from tests.support.command_tree import subcommands
from tests.support.tables import each_row
from tui_chat.cli.commands import cli
from tui_chat.cli.lazy_group import LazyGroup

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
        ("Data", "import export db library"),
        ("Setup", "config keys doctor models mcp"),
    ):
        assert {*some.split()} <= {*names[name]}, name
    assert "Commands:" in run("sessions", "--help").out


def commands(command: click.Command, path: str = "tui-chat") -> Iterator[tuple[str, click.Command]]:
    """Yield all commands that are not groups, with their names."""
    if isinstance(command, click.Group):
        for name, each in subcommands(command).items():
            yield from commands(each, f"{path} {name}")
    else:
        yield path, command


EXAMPLES = [
    (path, example.strip())
    for path, command in commands(cli)
    for example in re.findall(r"^ *.*tui-chat [a-z].*$", command.help or "", re.M)
]


def test_every_command_has_an_example():
    assert {path for path, _ in commands(cli)} - {path for path, _ in EXAMPLES} == set()


@each_row("path, example", EXAMPLES)
def test_every_example_can_be_parsed(path: str, example: str, tmp_path, monkeypatch):
    """An example of another command is one, too: `ask -s "$(tui-chat sessions fork ...)"`."""
    monkeypatch.chdir(tmp_path)
    Path("cases").mkdir()
    for found in re.findall(r"tui-chat (.*)", re.sub(r'"?\$\([^)]*\)"?', "x", example)):
        line = re.split(r"[|<>;)]|   \(", found)[0]
        command, context, words = cli, click.Context(cli), shlex.split(line)
        while isinstance(command, click.Group):
            name, command, words = command.resolve_command(context, words)
            assert command is not None
            context = click.Context(command, parent=context)
        command.make_context(name, words, parent=context.parent)


def test_the_list_of_commands_says_what_their_help_says():
    for group in (cli, *subcommands(cli).values()):
        if isinstance(group, LazyGroup):
            for name, summary in group.summaries(click.Context(group)).items():
                command = group.get_command(click.Context(group), name)
                assert (command.name, command.get_short_help_str(limit=200)) == (name, summary)
