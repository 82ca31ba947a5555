"""`tui-chat loopback`: the offline provider on a socket."""

from __future__ import annotations

import asyncio

from tui_chat.cli.output import write_line
from tui_chat.errors import InputError


def run_loopback(host: str, port: int) -> None:
    """Serve until interrupted. Raises InputError where the address cannot be had."""
    try:
        asyncio.run(_serve(host, port))
    except KeyboardInterrupt:
        write_line("Stopped.", err=True)
    except (OSError, ValueError) as error:
        raise InputError(f"{host}:{port} cannot be served: {error}") from error


async def _serve(host: str, port: int) -> None:
    from tui_chat.offline import serve

    async with serve(host=host, port=port) as server:
        base = server.base_url
        write_line(f"The offline provider answers at {base}, with any key, in four protocols:")
        for name, url in (
            ("OpenAI Chat", f"{base}/v1"),
            ("OpenAI Responses", f"{base}/v1"),
            ("Anthropic", base),
            ("Gemini", base),
        ):
            write_line(f"  {name:<17} base URL {url}")
        write_line("Ctrl+C stops it.")
        await asyncio.Event().wait()
