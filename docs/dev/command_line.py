"""Writes the reference of the commands, `command-line.md`, and the manual page:
`python docs/dev/command_line.py`.

It is what `--help` prints. `.ci/run` runs it and fails if that changes the file.
"""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from pathlib import Path

import click

from tui_chat.cli.commands import cli
from tui_chat.cli.completion import PROGRAM

FILE = Path(__file__).parents[1] / "command-line.md"
WIDTH = 100
"""Columns of the help."""
HEAD = """\
# Command line

What `--help` prints. [scripts.md](scripts.md) explains the most useful commands and the exit codes.
"""


def contexts(command: click.Command, parent: click.Context | None) -> Iterator[click.Context]:
    """Yield a context for a command and, after it, for each one below it."""
    name = PROGRAM if parent is None else command.name
    context = click.Context(
        command, info_name=name, parent=parent, terminal_width=WIDTH, max_content_width=WIDTH
    )
    context.help_option_names = ["-h", "--help"]
    yield context
    if isinstance(command, click.Group):
        for name in sorted(command.list_commands(context)):
            found = command.get_command(context, name)
            assert found is not None  # it is listed
            yield from contexts(found, context)


def text() -> str:
    """Return the page for the present commands."""
    sections = [
        f"\n## `{context.command_path}`\n\n```text\n{context.get_help()}\n```\n"
        for context in contexts(cli, None)
    ]
    return HEAD + "".join(sections)


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
    runpy.run_path(str(Path(__file__).parent / "man_page.py"), run_name="__main__")
