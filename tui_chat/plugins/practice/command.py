"""`tui-chat practice`: the offline provider as a server on this machine."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from tui_chat.cli.app import synchronous
from tui_chat.cli.options import FILE
from tui_chat.cli.output import write_line
from tui_chat.config import LOOPBACK_URL
from tui_chat.errors import InputError
from tui_chat.files import LARGEST_REQUEST, read_file
from tui_chat.plugins.practice.endpoints import ENDPOINTS
from tui_chat.providers.server import LoopbackServer


@click.command()
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True)
@click.option("--host", default="127.0.0.1", show_default=True, help="A loopback address.")
@click.option("--alias", default="", metavar="MODEL", help="Answers for unknown model names.")
@click.option("--script", type=FILE, help="A JSON file that the model “script” plays.")
def practice(port: int, host: str, alias: str, script: Path | None) -> None:
    """Serve the offline provider on a loopback address.

    \b
    Example:
      tui-chat practice --port 8765
    """
    try:
        _serve(serve(port, host, alias, script))
    except KeyboardInterrupt:
        write_line("Stopped.", err=True)
    except (OSError, ValueError) as error:
        raise InputError(f"{host}:{port} cannot be served: {error}") from error


def serve(
    port: int = 0, host: str = "127.0.0.1", alias: str = "", script: Path | None = None
) -> LoopbackServer:
    """Return a server; see `api.OfflineProvider`. Raises InputError."""
    from tui_chat.plugins.practice.models import find_model
    from tui_chat.plugins.practice.provider import PracticeTransport
    from tui_chat.plugins.practice.script import NAME, read_script

    if alias and find_model(alias, 1) is None and not (alias == NAME and script):
        raise InputError(f"--alias: “{alias}” is no model of the offline provider.")
    try:
        played = read_script(read_file(script, LARGEST_REQUEST)) if script else None
    except ValueError as error:
        raise InputError(f"{script}: {error}") from error
    return LoopbackServer(PracticeTransport(alias=alias, script=played), port, host)


@synchronous
async def _serve(server: LoopbackServer) -> None:
    async with server:
        base = server.base_url
        write_line(f"The offline provider answers at {base}, with any key, in these protocols:")
        for endpoint in ENDPOINTS:
            url = endpoint.base_url.replace(LOOPBACK_URL, base)
            write_line(f"  {endpoint.protocol.label:<17} base URL {url}")
        write_line("Ctrl+C stops it.")
        await asyncio.Event().wait()
