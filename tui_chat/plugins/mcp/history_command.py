"""`tui-chat mcp serve`: our own history as a server on the standard input and output."""

from __future__ import annotations

import click

from tui_chat.cli.app import asynchronous, open_store
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.names import named_session
from tui_chat.cli.options import session_option
from tui_chat.errors import InputError
from tui_chat.plugins.mcp.server import import_package


@click.command("serve")
@session_option("Offer this session; repeatable.", "sessions", multiple=True)
@click.option("--folder", "folders", multiple=True, help="Offer the sessions of this folder.")
@click.option("--tag", "tags", multiple=True, help="Offer the sessions with this tag.")
@click.option("--all", "everything", is_flag=True, help="Offer all sessions.")
@asynchronous
async def serve(
    common: CommonOptions,
    sessions: tuple[str, ...],
    folders: tuple[str, ...],
    tags: tuple[str, ...],
    everything: bool,
) -> None:
    """Offer your sessions to another program, as an MCP server on standard input and output.

    It can search and read them, and changes nothing. Only what you name is
    offered. The other program starts this command; it ends with its input.

    \b
    Example:
      claude mcp add history -- tui-chat mcp serve --folder work
    """
    if not (sessions or folders or tags or everything):
        raise InputError(
            "Nothing is named that may be read.",
            advice="Name it with --session, --folder or --tag, or all with --all.",
        )
    history = import_package("tui_chat.plugins.mcp.history_server")
    async with open_store(common) as store:
        ids = [(await named_session(store, name)).session_id for name in sessions]
        scope = history.Scope(frozenset(ids), frozenset(folders), frozenset(tags), everything)
        await history.history_server(store, scope).run_stdio_async()
