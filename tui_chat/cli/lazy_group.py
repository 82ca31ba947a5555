"""A group of commands that are imported when they run.

The commands are a table of names, import paths and summaries, to which plugins add theirs. Listing
and completing the names imports no command.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any

import click
from click.exceptions import NoSuchCommand
from click.shell_completion import CompletionItem

from tui_chat import hooks
from tui_chat.api import Command, Plugin
from tui_chat.cli.common_options import enable_plugins
from tui_chat.hooks import failed, is_of_interface


def _guarded(plugin: Plugin, entry: Command, command: Any) -> click.Command:
    """Return a plugin's command whose faults name it. Raises PluginFailed for no command."""
    part = f"command {entry.name}"
    if not isinstance(command, click.Command):
        raise failed(plugin.name, part, TypeError(f"{entry.path} is no click command"))
    if "invoke" in vars(command):
        return command
    for name in ("invoke", "make_context", "get_help", "shell_complete"):
        setattr(command, name, _guarded_method(plugin.name, part, getattr(command, name)))
    return command


def _guarded_method(plugin: str, part: str, method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return method(*args, **kwargs)
        except (click.ClickException, click.Abort, click.exceptions.Exit, BrokenPipeError):
            raise
        except Exception as error:
            if is_of_interface(error) or getattr(error, "errno", None) == errno.ENOSPC:
                raise
            raise failed(plugin, part, error) from error

    return call


class LazyGroup(click.Group):
    """The commands of a table, and those that plugins add to the group."""

    def __init__(
        self,
        *args: Any,
        table: Iterable[Command] = (),
        place: str = "",
        headings: tuple[str, ...] = (),
        **attributes: Any,
    ) -> None:
        """`place` is the words before the names of the commands; empty for the group of all.
        `headings` are those that `--help` lists the commands under, if there are several.
        """
        super().__init__(*args, **attributes)
        self.table = {entry.name: entry for entry in table}
        """The commands that are not of a plugin, by name."""
        self._place = place.split()
        self._headings = headings

    def _plugin_commands(self) -> dict[str, tuple[Plugin, Command]]:
        """Return what the loaded plugins add to this group, by name."""
        added: dict[str, tuple[Plugin, Command]] = {}
        taken = {" ".join([*self._place, name]) for name in (*self.table, *self.commands)}
        for plugin, entry in hooks.parts("commands", taken):
            *place, name = entry.name.split()
            if place == self._place:
                added[name] = plugin, entry
        return added

    def summaries(self, ctx: click.Context) -> Mapping[str, str]:
        """Return the names of all commands, sorted, and a line about each."""
        enable_plugins(ctx)
        summaries = {name: entry.summary for name, entry in self.table.items()}
        for name, (_, entry) in self._plugin_commands().items():
            summaries[name] = entry.summary
        for name, command in self.commands.items():
            summaries[name] = command.get_short_help_str(limit=200)
        return dict(sorted(summaries.items()))

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.summaries(ctx))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if command := super().get_command(ctx, cmd_name):
            return command
        if entry := self.table.get(cmd_name):
            return hooks.load(entry.path)
        if cmd_name not in self._plugin_commands():
            enable_plugins(ctx)
        if added := self._plugin_commands().get(cmd_name):
            plugin, entry = added
            return _guarded(plugin, entry, hooks.load_part(plugin, entry.path))
        return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments name. Raises UsageError with advice."""
        try:
            return super().resolve_command(ctx, args)
        except NoSuchCommand:
            error = NoSuchCommand(args[0], possibilities=self.list_commands(ctx), ctx=ctx)
            hint = self.hint(args[0])
            raise click.UsageError(f"{error.format_message()} {hint}".rstrip(), ctx) from None

    def hint(self, name: str) -> str:
        """Return advice on a command that does not exist."""
        return ""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        summaries = self.summaries(ctx)
        if not self._headings:
            with formatter.section("Commands"):
                formatter.write_dl(list(summaries.items()))
            return
        entries = [*self.table.values(), *(entry for _, entry in self._plugin_commands().values())]
        group_of = {entry.name: entry.group for entry in entries}
        width = max(map(len, summaries))
        for heading in (*self._headings, "Other"):
            rows = [
                (f"{name:<{width}}", summary)
                for name, summary in summaries.items()
                if heading == (group_of.get(name, "") or "Other")
            ]
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        commands = [
            CompletionItem(name, help=summary)
            for name, summary in self.summaries(ctx).items()
            if name.startswith(incomplete)
        ]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]
