"""Writes the manual page `man/tui-chat.1`; `python docs/dev/man_page.py`.

It has what `--help` prints. The package installs it where `man` finds it.
`.ci/run` writes it and fails if that changes it.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

import click

from tui_chat import __version__
from tui_chat.cli.commands import cli
from tui_chat.cli.completion import PROGRAM

FILE = Path(__file__).parents[1] / "man" / f"{PROGRAM}.1"
DATE = "2026-11-23"
"""When what this page adds to the help was written."""
WIDTH = 100
"""Columns of the help."""
FILES = (
    ("~/.config/tui-chat/config.toml", "The configuration; beside it presets, roles and themes."),
    ("~/.local/share/tui-chat/chat.db", "All conversations."),
)
ENVIRONMENT = (
    ("TUI_CHAT_ENDPOINT, TUI_CHAT_MODEL, TUI_CHAT_THEME", "Override the configuration file."),
    ("VISUAL, EDITOR", "The editor of drafts and of the configuration."),
    ("NO_COLOR", "If set, the output has no color."),
    ("OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY, ...", "Keys of the built-in endpoints."),
    ("TUI_CHAT_TRACEBACK", "If set, an internal error prints its traceback."),
)


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


def escaped(text: str) -> str:
    """Return text for a line of roff."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{text}" if text.startswith((".", "'")) else text


def filled(text: str) -> str:
    """Return prose as lines of roff, which fills them anew."""
    lines = textwrap.wrap(text, 76, break_long_words=False, break_on_hyphens=False)
    return "\n".join(map(escaped, lines))


def paragraphs(help_text: str) -> Iterator[str]:
    """Yield the paragraphs of a help text as roff; one after a backspace keeps its lines."""
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(help_text)):
        if paragraph.startswith("\b"):
            lines = [escaped(line) for line in paragraph.splitlines()[1:]]
            if lines and lines[0].startswith("Exam"):
                yield f".PP\n{lines.pop(0)}"
            yield "\n".join((".PP", ".nf", *lines, ".fi"))
        else:
            yield f".PP\n{filled(paragraph)}"


def command(context: click.Context) -> Iterator[str]:
    """Yield the section of a command as roff."""
    found = context.command
    usage = " ".join(found.collect_usage_pieces(context))
    if context.parent is not None:
        yield f".SS {escaped(context.command_path.removeprefix(PROGRAM + ' '))}"
        yield f".B {escaped(context.command_path)}\n{escaped(usage)}"
    yield from paragraphs(found.help or "")
    formatter = context.make_formatter()
    found.format_epilog(context, formatter)
    if epilog := formatter.getvalue():
        yield from paragraphs(epilog)
    for parameter in found.get_params(context):
        record = parameter.get_help_record(context)
        if isinstance(parameter, click.Option) and record is not None and "--help" not in record[0]:
            yield f".TP\n.B {escaped(record[0])}\n{filled(record[1])}"


def text() -> str:
    """Return the page for the present commands."""
    first, *others = contexts(cli, None)
    parts = [
        f'.TH {PROGRAM.upper()} 1 "{DATE}" "tui\\-chat {__version__}" "User Commands"',
        ".SH NAME",
        f"{escaped(PROGRAM)} \\- chat with language models, and see exactly what they will see",
        ".SH SYNOPSIS",
        f".B {escaped(PROGRAM)}\n[\\fIOPTIONS\\fR] [\\fICOMMAND\\fR [\\fIARGS\\fR]...]",
        ".SH DESCRIPTION",
        "\n".join(command(first)).removeprefix(".PP\n"),
        ".SH COMMANDS",
        *(part for context in others for part in command(context)),
        ".SH ENVIRONMENT",
        *(f".TP\n.B {escaped(name)}\n{escaped(about)}" for name, about in ENVIRONMENT),
        ".SH FILES",
        *(f".TP\n.I {escaped(name)}\n{escaped(about)}" for name, about in FILES),
    ]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(text(), encoding="utf-8")
