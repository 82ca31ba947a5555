"""`tui-chat loopback`: the offline provider as a server on this machine."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import click

from tui_chat.cli.app import synchronous
from tui_chat.cli.options import FILE
from tui_chat.cli.output import write_line
from tui_chat.config import LOOPBACK_URL, OFFLINE
from tui_chat.errors import InputError
from tui_chat.files import LARGEST_REQUEST, read_file
from tui_chat.offline.models import find_model
from tui_chat.offline.script import NAME, read_script


@click.command()
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True)
@click.option("--host", default="127.0.0.1", show_default=True, help="A loopback address.")
@click.option("--alias", default="", metavar="MODEL", help="Answers for unknown model names.")
@click.option("--script", type=FILE, help="A JSON file that the model “script” plays.")
def loopback(port: int, host: str, alias: str, script: Path | None) -> None:
    """Serve the offline provider on a loopback address.

    \b
    Example:
      tui-chat loopback --port 8765
    """
    options = offline_options(alias, script)
    try:
        _serve(host, port, options)
    except KeyboardInterrupt:
        write_line("Stopped.", err=True)
    except (OSError, ValueError) as error:
        raise InputError(f"{host}:{port} cannot be served: {error}") from error


def offline_options(alias: str, script: Path | None) -> dict[str, Any]:
    """Return the arguments of `serve` for an alias and a script. Raises InputError."""
    if alias and find_model(alias) is None and not (alias == NAME and script):
        raise InputError(f"--alias: “{alias}” is no model of the offline provider.")
    if script is None:
        return {"alias": alias}
    try:
        return {"alias": alias, "script": read_script(read_file(script, LARGEST_REQUEST))}
    except ValueError as error:
        raise InputError(f"{script}: {error}") from error


@synchronous
async def _serve(host: str, port: int, options: dict[str, Any]) -> None:
    from tui_chat.offline.server import serve  # h11 is needed only to serve

    async with serve(host=host, port=port, **options) as server:
        base = server.base_url
        write_line(f"The offline provider answers at {base}, with any key, in these protocols:")
        for endpoint in OFFLINE:
            url = endpoint.base_url.replace(LOOPBACK_URL, base)
            write_line(f"  {endpoint.protocol.label:<17} base URL {url}")
        write_line("Ctrl+C stops it.")
        await asyncio.Event().wait()
