"""`tui-chat plugins`: the plugins, and what cannot be loaded of them."""

from __future__ import annotations

from importlib.metadata import entry_points

import click

from tui_chat import extensions
from tui_chat.cli import output
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.options import json_option
from tui_chat.cli.output import write_json, write_line
from tui_chat.models.sanitize import one_line


@click.command()
@json_option()
@click.pass_obj
def plugins(common: CommonOptions, as_json: bool) -> None:
    """List the built-in plugins, and the installed ones of other people.

    A plugin of other people is loaded if `[plugins] enabled` in config.toml has its name.

    \b
    Example:
      tui-chat plugins
    """
    common.config()
    faults = {fault.plugin: fault.error for fault in extensions.faults()}
    built_in = extensions.built_in_plugins()
    rows = [(plugin.name, "built in", plugin.summary) for plugin in built_in]
    for plugin in extensions.plugins()[len(built_in) :]:
        rows.append((plugin.name, "enabled", faults.pop(plugin.name, plugin.summary)))
    rows += [(name, "fault", error) for name, error in faults.items()]
    listed = {name for name, _, _ in rows}
    for entry in entry_points(group=extensions.ENTRY_POINTS):
        if entry.name not in listed:
            advice = f"Add “{entry.name}” to `[plugins] enabled` to load {entry.value}."
            rows.append((entry.name, "not enabled", advice))
    if as_json:
        write_json([dict(zip(("name", "status", "summary"), row, strict=True)) for row in rows])
    else:
        head = ("NAME", "STATUS", "SUMMARY")
        write_line(output.table([head, *(tuple(map(one_line, row)) for row in rows)], (2, 20)))
