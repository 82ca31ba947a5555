"""`tui-chat plugins`: the plugins, what they add, and what cannot be loaded of them."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import entry_points

import click

from tui_chat import __version__, hooks
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.config import change_file
from tui_chat.cli.names import find
from tui_chat.cli.options import TEXT, json_option
from tui_chat.cli.output import document_json, write_line, write_list
from tui_chat.errors import InputError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.sanitize import one_line


@dataclass(frozen=True, slots=True)
class PluginDocument:
    """A plugin; keys that have nothing are left out."""

    name: str
    status: str
    summary: str
    """The capability that it adds, or what is wrong with it."""
    version: str = ""


@click.group(invoke_without_command=True)
@json_option()
@click.pass_context
def plugins(context: click.Context, as_json: bool) -> None:
    """List the built-in plugins, and the installed ones of other people.

    A plugin of other people is loaded if `[plugins] enabled` in config.toml has its name.

    \b
    Example:
      tui-chat plugins
    """
    if context.invoked_subcommand is None:
        context.invoke(list_command, as_json=as_json)


@plugins.command("list")
@json_option()
@click.pass_obj
def list_command(common: CommonOptions, as_json: bool) -> None:
    """List plugins with their version and status.

    \b
    Example:
      tui-chat plugins list
    """
    write_list(
        list(_documents(common)),
        as_json,
        lambda row: {key: value for key, value in document_json(row).items() if value},
        ("NAME", "VERSION", "STATUS", "SUMMARY"),
        lambda row: (row.name, row.version or "—", row.status, row.summary),
        (3, 20),
        nothing="No plugins.",
    )


def _documents(common: CommonOptions) -> Iterator[PluginDocument]:
    common.config()
    faults = {fault.plugin: fault.error for fault in hooks.faults()}
    entries = {entry.name: entry for entry in entry_points(group=hooks.ENTRY_POINTS)}
    versions = {name: entry.dist.version for name, entry in entries.items() if entry.dist}
    built_in = hooks.built_in_plugins()
    for plugin in built_in:
        yield PluginDocument(plugin.name, "built in", plugin.summary, __version__)
    listed: set[str] = set()
    for plugin in hooks.plugins()[len(built_in) :]:
        listed.add(plugin.name)
        summary = faults.pop(plugin.name, plugin.summary)
        yield PluginDocument(plugin.name, "enabled", summary, versions.get(plugin.name, ""))
    for name, error in faults.items():
        yield PluginDocument(name, "fault", error, versions.get(name, ""))
    for name in entries.keys() - listed - faults.keys() - {each.name for each in built_in}:
        advice = f"`tui-chat plugins enable {name}` loads {entries[name].value}."
        yield PluginDocument(name, "not enabled", advice, versions.get(name, ""))


@plugins.command()
@click.argument("name", type=TEXT)
@click.pass_obj
def enable(common: CommonOptions, name: str) -> None:
    """Enable an installed plugin of other people: add it to `[plugins] enabled` in config.toml.

    \b
    Example:
      tui-chat plugins enable servers
    """
    installed = sorted(entry.name for entry in entry_points(group=hooks.ENTRY_POINTS))
    name = find("installed plugin", name, installed)
    enabled = common.config().plugins
    if name in enabled:
        write_line(f"The plugin “{one_line(name)}” is enabled already.")
    else:
        change_file(common, ("plugins", "enabled"), [*enabled, name])


@plugins.command()
@click.argument("names", metavar="[NAME]...", nargs=-1, type=TEXT)
@click.pass_obj
def check(common: CommonOptions, names: tuple[str, ...]) -> None:
    """Import every part of the plugins, and name what fails.

    Without names, all that are built in or enabled. The exit code is 1 if something fails.

    \b
    Example:
      tui-chat plugins check
    """
    common.config()
    found = {plugin.name: plugin for plugin in hooks.plugins()}
    for point in hooks.NAMED_POINTS:
        for _ in hooks.parts(point):  # two of one name are a fault
            pass
    faults = [str(fault) for fault in hooks.faults() if not names or fault.plugin in names]
    failed = {fault.plugin for fault in hooks.faults()}
    if unknown := [name for name in names if name not in found and name not in failed]:
        raise InputError(
            f"No plugin “{unknown[0]}” is enabled.", advice="`tui-chat plugins` lists all plugins."
        )
    for name in names or found:
        if name not in found:
            continue
        count = 0
        for _, path in hooks.import_paths(found[name]):
            count += 1
            try:
                hooks.load(path)
            except (Exception, SystemExit) as error:  # other people's code may raise anything
                faults.append(f"{name}: {path}: {type(error).__name__}: {error}")
            except KeyboardInterrupt:
                raise hooks.interrupted(name) from None
        write_line(f"{one_line(name)}  {count} parts")
    for fault in faults:
        write_line(one_line(fault, 1000), err=True)
    if faults:
        raise SystemExit(1)
