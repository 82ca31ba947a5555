"""The command `serve` and its flags."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import click

from tui_chat.cli.common_options import CommonOptions
from tui_chat.errors import InputError, install_advice


@click.command()
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True)
@click.pass_obj
def serve(common: CommonOptions, port: int) -> None:
    """Serve the app to a browser.

    Prints a secret address; only people who have it can use the app, on this machine or through an
    SSH tunnel. Needs the extra “serve”. See docs/configuration.md.

    \b
    Example:
      tui-chat serve --port 8000
    """
    common.config()  # its errors belong here, and not on the page
    try:
        from tui_chat.plugins.web.server import serve_until_stopped
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("tui_chat"):
            raise
        raise InputError(
            "`tui-chat serve` needs the package textual-serve.",
            advice=install_advice("textual-serve"),
        ) from error
    with suppress(KeyboardInterrupt):  # Windows, where the loop handles no signals
        asyncio.run(serve_until_stopped(common, port))
