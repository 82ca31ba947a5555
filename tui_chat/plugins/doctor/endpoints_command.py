"""`tui-chat endpoints test`: the checks of one endpoint."""

from __future__ import annotations

import sys
from dataclasses import asdict

import click

from tui_chat.cli.app import asynchronous, open_http_client
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.options import endpoint_argument, json_option, model_option
from tui_chat.cli.output import write_json, write_line
from tui_chat.plugins.doctor.endpoint_checks import Check, check_endpoint, show_check, tiny_chat


@click.command("test")
@endpoint_argument
@model_option("The model; default: the endpoint's first.", default="")
@json_option()
@asynchronous
async def test_endpoint(common: CommonOptions, name: str, model: str, as_json: bool) -> None:
    """Test an endpoint: its key, server and models, and a tiny real chat.

    Exits with 1 if a check fails.

    \b
    Example:
      tui-chat endpoints test openai --model gpt-5
    """
    endpoint = common.config().endpoint_named(name)
    url = tiny_chat(endpoint, model or ("" if endpoint.models else "MODEL"), stream=True).shown_url
    if not as_json:
        write_line(f"{endpoint.name}: {endpoint.protocol.label} at {endpoint.base_url}")
        write_line(f"Requests go to {url}\n")
    checks: list[Check] = []
    async with open_http_client() as client:
        async for check in check_endpoint(endpoint, model, client):
            checks.append(check)
            if not as_json:
                show_check(check)
    failed = [check.name for check in checks if check.result == "failed"]
    if as_json:
        body = {"endpoint": name, "url": url, "works": not failed}
        write_json({**body, "checks": [asdict(check) for check in checks]})
    elif failed:
        write_line(f"\n“{name}” does not work: {', '.join(failed)}.")
    else:
        write_line(f"\n“{name}” works.")
    if failed:
        sys.exit(1)
