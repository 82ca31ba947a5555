"""`tui-chat tools`: which tools may run without asking, and the end of that."""

from __future__ import annotations

import click

from tui_chat.cli.app import open_store, synchronous
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.options import TEXT, json_option
from tui_chat.cli.output import write_line, write_list
from tui_chat.errors import InputError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.tool import origin_text
from tui_chat.workspace.tool_grants import ToolGrant, read_grants, revoke_grants


@dataclass(frozen=True, slots=True)
class GrantDocument:
    """A lasting permission; `server` is empty for a command, `sha256` is of the definition."""

    name: str
    server: str
    sha256: str
    granted: str


@click.group()
def tools() -> None:
    """List and revoke lasting permissions to run tools.

    A permission is given where a call waits, in the app or with `tui-chat ask`. It ends by itself
    when the command, the server or the definition of the tool changes.
    """


@tools.command()
@json_option()
@click.pass_obj
def grants(common: CommonOptions, as_json: bool) -> None:
    """List the tools that run without asking in all sessions.

    \b
    Example:
      tui-chat tools grants
    """
    granted = _granted(common)
    if not granted and not as_json:
        write_line("No tool runs without asking.")
        return
    write_list(
        [
            GrantDocument(name, _server(grant), grant.digest, grant.granted)
            for name, grant in granted.items()
        ],
        as_json,
        None,
        ("NAME", "GRANTED", "DEFINITION"),
        lambda each: _row(each.name, granted[each.name]),
        (2, 20),
        nothing="",
    )


def _server(grant: ToolGrant) -> str:
    """Return the name of the server of a permission's tool; empty for a command."""
    return grant.definition.source.server if grant.definition.source else ""


def _row(name: str, grant: ToolGrant) -> tuple[str, ...]:
    source = grant.definition.source
    where = "command of config.toml" if source is None else origin_text(source)
    return name, grant.granted[:16].replace("T", " "), where


@tools.command()
@click.argument("names", metavar="[NAME]...", nargs=-1, type=TEXT)
@click.option("--all", "is_all", is_flag=True, help="All of them.")
@click.pass_obj
def revoke(common: CommonOptions, names: tuple[str, ...], is_all: bool) -> None:
    """Ask again before each run of these tools, or of all tools of a server. Running copies of the
    app obey at once.

    \b
    Examples:
      tui-chat tools revoke time__get_current_time
      tui-chat tools revoke time
      tui-chat tools revoke --all
    """
    granted = _granted(common)
    if is_all == bool(names):
        raise InputError("Name tools, or give --all.", advice="`tui-chat tools grants` lists them.")
    chosen: set[str] = set(granted) if is_all else set()
    for name in names:
        of_name = {tool for tool in granted if name in (tool, _server(granted[tool]) or tool)}
        if not of_name:
            there = f"There is one for {', '.join(granted)}." if granted else ""
            raise InputError(f"There is no permission for “{name}”.", advice=there)
        chosen |= of_name
    _revoke(common, tuple(chosen))
    count = len(chosen)
    write_line(f"Revoked {count:,} permission{'s' * (count != 1)}.")


@synchronous
async def _granted(common: CommonOptions) -> dict[str, ToolGrant]:
    if not common.database.exists():
        return {}
    async with open_store(common, only_reads=True) as store:
        return await read_grants(store)


@synchronous
async def _revoke(common: CommonOptions, names: tuple[str, ...]) -> None:
    if names:
        async with open_store(common, only_reads=True) as store:
            await revoke_grants(store, names)
