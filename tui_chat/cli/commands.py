"""The command line: a table of the commands, and the options before them."""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterator
from typing import Any

import click
from click.exceptions import NoArgsIsHelpError, NoSuchCommand

from tui_chat import __version__, hooks
from tui_chat.api import Command
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.completion import PROGRAM
from tui_chat.cli.lazy_group import LazyGroup
from tui_chat.cli.options import FILE, endpoint_option, model_option
from tui_chat.cli.output import detect_closed_output, write_error, write_line
from tui_chat.hooks import failed, is_of_interface, plugin_in

_COMMANDS = {
    "Chat": {
        "ask": "Send a message and print the reply.",
        "search": "Search messages and sessions.",
        "sessions": "List, show and delete sessions.",
        "usage": "Print tokens and costs of all replies.",
    },
    "Requests": {
        "build": "Print the request that `ask` would send.",
        "convert": "Convert a request body to another protocol.",
        "inspect": "Open a captured request in the inspector.",
        "read": "Parse a recorded reply and print it as JSON.",
    },
    "Data": {
        "export": "Write a session to a file or the standard output.",
        "library": "List, show, export and check presets, roles, profiles, lorebooks.",
    },
    "Setup": {
        "completion": "Print the script for completion in a shell.",
        "config": "Show, change and check the configuration file.",
        "docs": "Print a page of the documentation, or list the pages.",
        "endpoints": "List and test the configured endpoints.",
        "keys": "Keep the keys of endpoints in the system's keyring, or in private files.",
        "models": "List the models of the endpoints, with their limits and prices.",
        "plugins": "List the built-in plugins, and the installed ones of other people.",
    },
}
"""By heading in `--help`, the commands, each with its summary: the first sentence of its help."""

_PATHS = {
    "completion": "completion:completion_command",
    "config": "config:config_group",
    "convert": "captured:convert_command",
    "endpoints": "models:endpoints",
    "export": "export:export_command",
    "inspect": "captured:inspect",
    "read": "captured:read",
}
"""Module and attribute of the commands that are not `NAME:NAME`."""

_KINDS = ("presets", "roles", "profiles")
"""Kinds of the library whose names are hidden commands, as are those that plugins add."""


def _table() -> Iterator[Command]:
    for group, commands in _COMMANDS.items():
        for name, summary in commands.items():
            path = _PATHS.get(name, f"{name}:{name}")
            yield Command(name, f"tui_chat.cli.{path}", summary, group)


class CommandLine(LazyGroup):
    """All commands."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        with detect_closed_output():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. Raises OutputClosed, which click passes on: the exit status is ours;
        and PluginFailed for what a plugin's command raises.
        """
        try:
            with detect_closed_output():
                return super().invoke(ctx)
        except KeyboardInterrupt:  # click would print an empty line
            sys.exit(130)
        except (click.ClickException, click.Abort, click.exceptions.Exit):
            raise
        except Exception as error:
            of_disk = getattr(error, "errno", None) == errno.ENOSPC
            if of_disk or is_of_interface(error) or (plugin := plugin_in(error)) is None:
                raise
            raise failed(plugin.name, f"command {ctx.invoked_subcommand}", error) from error

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments name; `presets show X` is `library show presets X`.
        Raises UsageError with advice.
        """
        kind = "presets" if args[0] == "preset" else args[0]
        added = (part.name for _, part in hooks.parts_at("library kind"))
        if kind not in self.table and (kind in _KINDS or kind in added):
            words = args[1:]
            if words and words[0] in hooks.load(self.table["library"].path).commands:
                words.insert(1, kind)
            args = ["library", *words]
        try:
            return super().resolve_command(ctx, args)
        except NoSuchCommand as error:
            advice = "`tui-chat ask TEXT` sends a message. `tui-chat --help` lists all."
            raise click.UsageError(f"{error.format_message()} {advice}", ctx) from None


@click.group(
    cls=CommandLine,
    table=_table(),
    headings=tuple(_COMMANDS),
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "-V", "--version", prog_name="tui-chat")
@click.option("--data-dir", type=FILE, is_eager=True, help="The folder of the database.")
@click.option(
    "--config-dir",
    type=FILE,
    is_eager=True,  # before --help, which lists the commands of plugins that it enables
    help="The folder of config.toml, presets and themes.",
)
@endpoint_option("The endpoint that new sessions use.")
@model_option("The model that new sessions use.")
@click.option("--theme", help="The color theme, such as dark or light.")
@click.pass_context
def cli(context: click.Context, **options: Any) -> None:
    """A terminal chat client that shows exactly what the model will see.

    Without a command, open the app. The first start needs no key and no network: it uses a
    built-in offline provider. `tui-chat docs --schema COMMAND` prints the JSON Schema of what a
    command prints with --json.
    """
    context.obj = CommonOptions(**options)
    if context.invoked_subcommand is None:
        from tui_chat.cli.app import run_app

        run_app(context.obj)


def run() -> None:
    """Run the command that the arguments name. Raises our errors; exits on click's."""
    try:
        cli(standalone_mode=False, prog_name=PROGRAM)
    except NoArgsIsHelpError as error:
        write_line(error.format_message(), err=True)
        sys.exit(2)
    except click.ClickException as error:
        context = error.ctx if isinstance(error, click.UsageError) else None
        if context is not None:
            write_line(context.get_usage(), err=True)
            write_line(f"Try '{context.command_path} --help' for help.\n", err=True)
        write_error(error.format_message())
        sys.exit(2)
    except click.Abort:
        sys.exit(130)
