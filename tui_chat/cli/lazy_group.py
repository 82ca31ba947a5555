"""A group of commands that are imported when they run: names, import paths and summaries, to which
plugins add theirs. Listing and completing the names imports no command.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import click
from click.exceptions import NoSuchCommand
from click.shell_completion import CompletionItem

from tui_chat import hooks
from tui_chat.api import Command, Plugin
from tui_chat.cli.common_options import enable_plugins


class LazyGroup(click.Group):
    """The commands of a table, and those that plugins add to the group."""

    def __init__(
        self,
        *args: Any,
        table: Iterable[Command] = (),
        place: tuple[str, ...] = (),
        headings: tuple[str, ...] = (),
        **attributes: Any,
    ) -> None:
        """`place` has the words that may stand before the names of the commands; empty for the
        group of all. `headings` are those that `--help` lists the commands under.
        """
        super().__init__(*args, **attributes)
        self.table = {entry.name: entry for entry in table}
        """The commands that are not of a plugin, by name."""
        self._places = [[word] for word in place] or [[]]
        self._headings = headings

    def _plugin_commands(self) -> dict[str, tuple[Plugin, Command]]:
        """Return what the loaded plugins add to this group, by name."""
        added: dict[str, tuple[Plugin, Command]] = {}
        names = (*self.table, *self.commands)
        taken = {" ".join([*place, name]) for place in self._places for name in names}
        for plugin, entry in hooks.parts("commands", taken):
            *place, name = entry.name.split()
            if place in self._places:
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
        if (added := self._plugin_commands().get(cmd_name)) is None:
            return None
        plugin, entry = added
        command = hooks.load_part(plugin, entry.path)
        if not isinstance(command, click.Command):
            wrong = TypeError(f"{entry.path} is no click command")
            raise hooks.failed(plugin.name, f"command {entry.name}", wrong)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except NoSuchCommand:
            raise NoSuchCommand(args[0], possibilities=self.list_commands(ctx), ctx=ctx) from None

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
        names = self.summaries(ctx).items()
        commands = [CompletionItem(name, help=about) for name, about in names]
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [*(item for item in commands if item.value.startswith(incomplete)), *options]
