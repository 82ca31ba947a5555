"""The command line as a tree, the commands of plugins included."""

from __future__ import annotations

import click


def subcommands(group: click.Command) -> dict[str, click.Command]:
    """Return the commands of a group by name; none of a command that is no group."""
    if not isinstance(group, click.Group):
        return {}
    context = click.Context(group)
    commands = {name: group.get_command(context, name) for name in group.list_commands(context)}
    return {name: command for name, command in commands.items() if command is not None}
