"""`tui-chat mcp serve`: our own history as a server on the standard input and output."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import AsyncIterator

import click

from tui_chat.cli.app import open_store, synchronous
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.names import named_session
from tui_chat.cli.options import session_option
from tui_chat.errors import InputError
from tui_chat.plugins.mcp.history_server import HistoryServer, Scope
from tui_chat.plugins.mcp.messages import Request, error_message, line_of, messages_in

_LINE_SIZE = 1_000_000
"""Maximum bytes of a request."""


@click.command("serve")
@session_option("Offer this session; repeatable.", "sessions", multiple=True)
@click.option("--folder", "folders", multiple=True, help="Offer the sessions of this folder.")
@click.option("--tag", "tags", multiple=True, help="Offer the sessions with this tag.")
@click.option("--all", "everything", is_flag=True, help="Offer all sessions.")
@click.pass_obj
@synchronous
async def serve(
    common: CommonOptions,
    sessions: tuple[str, ...],
    folders: tuple[str, ...],
    tags: tuple[str, ...],
    everything: bool,
) -> None:
    """Offer your sessions to another program, as an MCP server on standard input and output.

    It can search and read them and their requests, and changes nothing. Only what you name is
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
    async with open_store(common, only_reads=True) as store:
        ids = [(await named_session(store, name)).session_id for name in sessions]
        scope = Scope(frozenset(ids), frozenset(folders), frozenset(tags), everything)
        server = HistoryServer(store, scope)
        async for line in _lines():
            try:
                messages = tuple(messages_in(line))
            except ValueError:
                _write(line_of(error_message(None, -32700, "Not a message")))
                continue
            for message in messages:
                if isinstance(message, Request):
                    _write(line_of(await server.answer(message)))


async def _lines() -> AsyncIterator[bytes]:
    """Yield the lines of the standard input. It is read in a thread, which nobody waits for."""
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[bytes] = asyncio.Queue()
    may_read = threading.Semaphore(1)

    def read() -> None:
        while True:
            may_read.acquire()
            line = sys.stdin.buffer.readline(_LINE_SIZE)
            try:
                loop.call_soon_threadsafe(lines.put_nowait, line)
            except RuntimeError:  # the loop is closed
                return
            if not line:
                return

    threading.Thread(target=read, daemon=True).start()
    while line := await lines.get():
        if line.strip():
            yield line
        may_read.release()


def _write(line: bytes) -> None:
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
