"""`tui-chat mcp`: list, add, remove and test servers, and offer our own history as one."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from tui_chat.cli.app import asynchronous
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.names import find
from tui_chat.cli.options import FILE, TEXT, json_option
from tui_chat.cli.output import Styled, counted, is_terminal, write_json, write_line, write_list
from tui_chat.config import Config
from tui_chat.config.file import change_config
from tui_chat.errors import InputError, TuiChatError
from tui_chat.models.boundary import InvalidValue, read, write
from tui_chat.models.sanitize import one_line
from tui_chat.plugins.mcp.foreign_files import read_servers
from tui_chat.plugins.mcp.history_command import serve
from tui_chat.plugins.mcp.server import Server, import_package
from tui_chat.plugins.mcp.settings import (
    ServerSettings,
    complete,
    configured_servers,
    server_name,
)
from tui_chat.providers.client import HttpClient
from tui_chat.workspace.tool_runner import argument_fault
from tui_chat.workspace.tool_sources import key_variables


@click.group()
def mcp() -> None:
    """List, add and test MCP servers; serve your history as one."""


mcp.add_command(serve)


_LOGIN_SECONDS = 300.0
_name_argument = click.argument("name", metavar="SERVER")


@mcp.command("list")
@json_option()
@click.pass_obj
def list_servers(common: CommonOptions, as_json: bool) -> None:
    """List the configured servers. None is started.

    \b
    Example:
      tui-chat mcp list
    """
    write_list(
        configured_servers(common.config()),
        as_json,
        lambda settings: {"name": settings.name, "runs": settings.command_line},
        ("NAME", "COMMAND OR URL"),
        lambda settings: (settings.name, settings.command_line),
        (1, 20),
        nothing="No servers. `tui-chat mcp add NAME -- COMMAND` adds one.",
    )


@mcp.command("add")
@_name_argument
@click.argument("command", nargs=-1, required=True, metavar="COMMAND... | URL", type=TEXT)
@click.option("--env", multiple=True, metavar="NAME=VALUE", help="A variable for it; repeatable.")
@click.option("--header", multiple=True, metavar="NAME=VALUE", help="A header; repeatable.")
@click.option("--tool", "tools", multiple=True, help="Offer only this tool; repeatable.")
@click.option("--cwd", default="", help="The folder that it starts in.")
@click.option("--timeout", default=60.0, show_default=True, help="Seconds for a call.")
@click.option("--force", is_flag=True, help="Replace a server with this name.")
@click.pass_obj
def add(
    common: CommonOptions,
    name: str,
    command: tuple[str, ...],
    env: tuple[str, ...],
    header: tuple[str, ...],
    tools: tuple[str, ...],
    cwd: str,
    timeout: float,
    force: bool,
) -> None:
    """Add a server to config.toml: a command after `--`, or a URL. It is not started.

    Write keys as variables, which are looked up when it starts: ${NAME}.

    \b
    Examples:
      tui-chat mcp add time -- mcp-server-time
      tui-chat mcp add docs https://mcp.example.org/mcp --header 'Authorization=Bearer ${TOKEN}'
    """
    is_url = len(command) == 1 and command[0].startswith(("http://", "https://"))
    values = {
        "command": "" if is_url else command[0],
        "args": list(command[1:]),
        "url": command[0] if is_url else "",
        "env": dict(map(_pair, env)),
        "headers": dict(map(_pair, header)),
        "tools": list(tools),
        "cwd": cwd,
        "timeout": timeout,
    }
    try:
        server_name(name)
        settings = complete(read(ServerSettings, values))
    except InvalidValue as error:
        fault = error.faults[0]
        raise InputError(f"{'.'.join(map(str, fault.path))} {fault.sentence}.") from None
    except ValueError as error:
        raise InputError(f"The server {error}.") from None
    if not force and name in {one.name for one in configured_servers(common.config())}:
        advice = "Choose another name, or replace it with --force."
        raise InputError(f"A server “{name}” already exists.", advice=advice)
    _write(common, [replace(settings, name=name)])
    write_line(f"Added “{name}”. `tui-chat mcp test {name}` starts it and lists its tools.")


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise InputError(f"“{one_line(text, 60)}” is not NAME=VALUE.")
    return key, value


def _write(common: CommonOptions, servers: Sequence[ServerSettings]) -> None:
    """Write servers into config.toml, in place of their namesakes. Raises InputError."""
    changes: dict[Sequence[str], object] = {}
    for settings in servers:
        changes[("mcp", settings.name)] = None
        changes |= {("mcp", settings.name, key): value for key, value in _table(settings).items()}
    change_config(common.config_file, changes, Config())


def _table(settings: ServerSettings) -> dict[str, Any]:
    """Return settings as a table of TOML, without the name and what is as it is by default."""
    pairs = {"env": dict(settings.env), "headers": dict(settings.headers)}
    values = {**write(replace(settings, name="")), **pairs}
    return {key: value for key, value in values.items() if value}


@mcp.command("remove")
@_name_argument
@click.pass_obj
def remove(common: CommonOptions, name: str) -> None:
    """Remove a server from config.toml.

    \b
    Example:
      tui-chat mcp remove time
    """
    name = find("server", name, [one.name for one in configured_servers(common.config())])
    change_config(common.config_file, {("mcp", name): None}, Config())
    write_line(f"Removed “{name}”.")


@mcp.command("import")
@click.argument("file", type=FILE)
@click.option("--yes", "sure", is_flag=True, help="Write without a question.")
@click.option("--force", is_flag=True, help="Replace servers with the same names.")
@click.pass_obj
def import_servers(common: CommonOptions, file: Path, sure: bool, force: bool) -> None:
    """Copy servers of another program's file to config.toml, after showing their command lines.

    Reads the files of Claude Desktop, Claude Code (.mcp.json), Cursor, Gemini CLI, VS Code and
    crush. Keys in them are not copied: variables take their place.

    \b
    Example:
      tui-chat mcp import ~/.cursor/mcp.json
    """
    servers, faults = read_servers(file)
    present = {settings.name: settings for settings in configured_servers(common.config())}
    added: list[ServerSettings] = []
    for settings, notes in ((server.settings, server.notes) for server in servers):
        if present.get(settings.name) == settings:
            write_line(f"{settings.name} is in config.toml already.")
        elif settings.name in present and not force:
            faults += (f"there is another server “{settings.name}”, which --force replaces.",)
        else:
            added.append(settings)
            line = one_line(settings.command_line)
            write_line(Styled(settings.name, bold=True), f"  {line}")
            for note in notes:
                write_line(f"  {note}")
    for fault in faults:
        write_line(f"Left out: {fault}", err=True)
    if faults and not added:
        raise InputError(f"{file}: no server of it can be added.")
    if added:
        _confirm(sure, f"Write {counted(len(added), 'server')} to {common.config_file}?")
        _write(common, added)


def _confirm(sure: bool, question: str) -> None:
    """Ask, unless the user is sure. Raises InputError without a terminal."""
    if sure:
        return
    if not (sys.stdin.isatty() and is_terminal()):
        raise InputError("There is no terminal to ask on.", advice="`--yes` answers with yes.")
    click.confirm(question, abort=True)


@mcp.command("login")
@_name_argument
@asynchronous
async def log_in(common: CommonOptions, name: str) -> None:
    """Log in at a server with a URL, in your browser. The tokens are kept in a private file.

    \b
    Example:
      tui-chat mcp login docs
    """
    config = common.config()
    servers = {one.name: one for one in configured_servers(config) if one.url}
    settings = servers[find("server with a URL", name, list(servers))]
    login = import_package("tui_chat.plugins.mcp.login")
    hidden, client = key_variables(config), HttpClient(environ=os.environ)
    url = settings.expanded(os.environ, hidden).url

    def show(address: str) -> None:
        write_line("Open this address in your browser, within five minutes:")
        write_line(f"  {one_line(address, 4_000)}")

    logins = login.LoginStore(config.data_dir, url)
    waiting = replace(settings, timeout=_LOGIN_SECONDS)
    async with login.new_login(logins, url, show) as new:
        server = Server(waiting, client, hidden=hidden, login=new)
        try:
            tools = await server.tools()
        finally:
            await server.close()
            await client.aclose()
    if not logins.is_known:
        raise InputError(f"“{name}” needs no login.")
    write_line(f"Logged in. “{name}” has {counted(len(tools), 'tool')}.")


@mcp.command("test")
@_name_argument
@click.option("--call", "tool", default="", metavar="TOOL", help="Also call a tool of it.")
@click.option("--arguments", default="{}", type=TEXT, help="Its arguments, a JSON object.")
@json_option()
@asynchronous
async def test(common: CommonOptions, name: str, tool: str, arguments: str, as_json: bool) -> None:
    """Start a server, and list its tools. Exits with 1 if that fails.

    \b
    Example:
      tui-chat mcp test time --call get_current_time --arguments '{"timezone": "UTC"}'
    """
    config = common.config()
    servers = {settings.name: settings for settings in configured_servers(config)}
    settings = servers[find("server", name, list(servers))]
    if fault := argument_fault(arguments):
        raise InputError(fault)
    check = await _check(config, settings, tool, json.loads(arguments.strip() or "{}"))
    if as_json:
        write_json(check)
    else:
        _show(check)
    if check["error"] or check.get("failed"):
        sys.exit(1)


async def _check(
    config: Config, settings: ServerSettings, tool: str = "", arguments: Mapping[str, Any] = {}
) -> dict[str, Any]:
    """Return what a server has, and the result of a call, as JSON."""
    client = HttpClient(environ=os.environ)
    server = Server(settings, client, hidden=key_variables(config), data_dir=config.data_dir)
    begun = time.monotonic()
    check: dict[str, Any] = {"name": settings.name, "tools": []}
    error = ""
    try:
        tools = await server.tools()
        check["milliseconds"] = round((time.monotonic() - begun) * 1000)
        check["tools"] = [
            {"name": one.name, "model_name": one.definition.name, "sha256": one.sha256}
            | {"description": one.definition.description}
            for one in tools
        ]
        if tool:
            result = await server.call(tool, arguments)
            check |= {"result": result.text, "failed": result.failed}
            check["parts"] = [
                {"kind": part.media, "type": part.mime, "bytes": len(part.data) * 3 // 4}
                for part in result.parts
            ]
    except TuiChatError as fault:
        error = f"{fault} {fault.advice}".strip()
    info = server.info
    check |= {"state": server.state, "error": error, "protocol": info.protocol}
    check.setdefault("milliseconds", round((time.monotonic() - begun) * 1000))
    check |= {"server": f"{info.name} {info.version}".strip(), "skipped_lines": server.noise}
    check |= {"faults": list(server.tool_faults), "stderr": list(server.stderr_lines)}
    server.leave()
    await client.aclose()
    return check


def _show(check: Mapping[str, Any]) -> None:
    write_line(
        Styled(check["name"], bold=True),
        f"  {check['server']}  {check['protocol']}  {check['milliseconds']:,} ms",
    )
    for tool in check["tools"]:
        words = one_line(tool["description"], 100)
        write_line("  ", Styled(one_line(tool["model_name"]), "cyan"), f"  {words}")
    for fault in check["faults"]:
        write_line(f"  {fault}", err=True)
    if check["skipped_lines"]:
        lines = counted(check["skipped_lines"], "line")
        write_line(f"  {lines} of its output skipped, which were no messages.", err=True)
    if "result" in check:
        write_line(f"\n{check['result']}")
        for part in check["parts"]:
            write_line(f"  And {part['kind']}: {part['type']}, {part['bytes']:,} bytes.")
    if check["error"]:
        write_line(Styled(check["error"], "red"), err=True)
        for line in check["stderr"][-20:]:
            write_line(f"  {one_line(line)}", err=True)
