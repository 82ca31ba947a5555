"""docs/command-line.md is what --help prints, and every example there can be parsed."""

from __future__ import annotations

import re
import runpy
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tests.support.command_tree import subcommands
from tui_chat.cli.commands import cli
from tui_chat.cli.lazy_group import LazyGroup

DOCS = Path(__file__).parents[1] / "docs"


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


def test_the_reference_is_up_to_date():
    code = runpy.run_path(str(DOCS / "dev" / "command_line.py"))
    text = (DOCS / "command-line.md").read_text(encoding="utf-8")
    assert code["text"]() == text, "run `python docs/dev/command_line.py`"


def test_every_command_has_an_example():
    assert {path for path, _ in commands(cli)} - {path for path, _ in EXAMPLES} == set()


@pytest.mark.parametrize(("path", "example"), EXAMPLES)
def test_every_example_can_be_parsed(
    path: str, example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """An example of another command is one, too: `ask -s "$(tui-chat sessions fork ...)"`."""
    monkeypatch.chdir(tmp_path)
    Path("cases").mkdir()
    for found in re.findall(r"tui-chat (.*)", re.sub(r'"?\$\([^)]*\)"?', "x", example)):
        line = re.split(r"[|<>;)]|   \(", found)[0]
        context = cli.make_context("tui-chat", shlex.split(line), resilient_parsing=True)
        rest = [*context._protected_args, *context.args]
        command: click.Command = cli
        while isinstance(command, click.Group):
            name, command, rest = command.resolve_command(context, rest)
            assert command is not None
            if isinstance(command, click.Group):
                continue
            command.make_context(name, rest, parent=context)


def test_the_table_says_what_the_help_says():
    for group in (cli, *subcommands(cli).values()):
        if isinstance(group, LazyGroup):
            for name, summary in group.summaries(click.Context(group)).items():
                command = group.get_command(click.Context(group), name)
                assert command is not None
                assert (command.name, command.get_short_help_str(limit=200)) == (name, summary)
