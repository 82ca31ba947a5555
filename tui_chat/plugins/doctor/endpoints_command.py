"""`tui-chat endpoints test`: the checks of one endpoint."""

from __future__ import annotations

import sys

import click

from tui_chat.cli.app import asynchronous, open_http_client
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.options import endpoint_argument, model_option
from tui_chat.cli.output import write_line
from tui_chat.plugins.doctor.endpoint_checks import check_endpoint, show_check, tiny_chat


@click.command("test")
@endpoint_argument
@model_option("The model; default: the endpoint's first.", default="")
@asynchronous
async def test_endpoint(common: CommonOptions, name: str, model: str) -> None:
    """Test an endpoint: its key, server and models, and a tiny real chat.

    Exits with 1 if a check fails.

    \b
    Example:
      tui-chat endpoints test openai --model gpt-5
    """
    endpoint = common.config().endpoint_named(name)
    url = tiny_chat(endpoint, model or ("" if endpoint.models else "MODEL")).shown_url
    write_line(f"{endpoint.name}: {endpoint.protocol.label} at {endpoint.base_url}")
    write_line(f"Requests go to {url}\n")
    failed: list[str] = []
    async with open_http_client() as client:
        async for check in check_endpoint(endpoint, model, client):
            show_check(check)
            if check.result == "failed":
                failed.append(check.name)
    works = f"does not work: {', '.join(failed)}" if failed else "works"
    write_line(f"\n“{name}” {works}.")
    if failed:
        sys.exit(1)
