"""`tui-chat endpoints`: list and test endpoints; `tui-chat loopback`: serve the offline one."""

from __future__ import annotations

import asyncio
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tui_chat import paths
from tui_chat.cli.app import open_http_client
from tui_chat.cli.output import Styled, write_json, write_line
from tui_chat.config import LOOPBACK_URL, Config, load_config
from tui_chat.errors import InputError
from tui_chat.models.endpoint import Endpoint
from tui_chat.models.sanitize import one_line

if TYPE_CHECKING:
    from tui_chat.cli.endpoint_checks import Check


_SIGNS = {"ok": "ok", "warning": "!!", "failed": "NO", "skipped": "--"}
_COLOURS = {"ok": "green", "warning": "yellow", "failed": "red", "skipped": "bright_black"}


def run_list(settings: dict[str, object], *, as_json: bool, look: bool) -> None:
    """Print all endpoints; with `look` also what runs on this machine. Raises ConfigError."""
    endpoints = _config(settings).endpoints
    found: tuple[Endpoint, ...] = ()
    if look:
        from tui_chat.providers import merge_discovered

        found = asyncio.run(_discover(endpoints))
        endpoints = merge_discovered(endpoints, found)
    running = {endpoint.base_url for endpoint in found}
    if as_json:
        rows = [_endpoint_json(endpoint, endpoint.base_url in running) for endpoint in endpoints]
        write_json(rows)
        return
    table = [("NAME", "PROTOCOL", "KEY", "MODELS", "BASE URL")]
    for endpoint in endpoints:
        url = endpoint.base_url
        models = ", ".join(endpoint.models[:2]) + (" …" if len(endpoint.models) > 2 else "")
        here = "  (running)" if url in running else ""
        where = "built in" if url.startswith(LOOPBACK_URL) else url + here
        table.append((endpoint.name, endpoint.protocol, _key(endpoint), models or "-", where))
    widths = [max(len(one_line(row[column])) for row in table) for column in range(4)]
    for row in table:
        cells = [one_line(cell).ljust(width) for cell, width in zip(row, widths, strict=False)]
        write_line("  ".join((*cells, row[4])))
    if look and not found:
        write_line("\nNo server runs on this machine at the addresses above.")


async def _discover(endpoints: tuple[Endpoint, ...]) -> tuple[Endpoint, ...]:
    from tui_chat.providers import discover_endpoints

    client = open_http_client()
    try:
        return await discover_endpoints(endpoints, client)
    finally:
        await client.aclose()


def _endpoint_json(endpoint: Endpoint, running: bool) -> dict[str, Any]:
    return {
        "name": endpoint.name,
        "protocol": endpoint.protocol.value,
        "base_url": endpoint.base_url,
        "key": _key(endpoint),
        "models": list(endpoint.models),
        "facts": {
            name: {key: value for key, value in asdict(facts).items() if value is not None}
            for name, facts in (
                *endpoint.facts,
                *((model, endpoint.facts_of(model)) for model in endpoint.models),
            )
        },
        "running": running,
    }


def _key(endpoint: Endpoint) -> str:
    """Return where the key is, never the key. Only the environment is looked into: a keyring may
    ask for a password, and a command may do anything.
    """
    from tui_chat.providers.keys import describe_key_reference

    if endpoint.key_header(("", "")) is None:
        return "none needed"
    kind, _, name = endpoint.key.partition(":")
    missing = kind == "env" and not os.environ.get(name, "").strip()
    return describe_key_reference(endpoint.key) + (" (not set)" if missing else "")


def run_test(settings: dict[str, object], name: str, model: str, *, as_json: bool) -> bool:
    """Print what works and what does not; True where nothing failed. Raises ConfigError."""
    endpoint = _config(settings).endpoint_named(name)
    checks = asyncio.run(_test(endpoint, model, show=not as_json))
    failed = [check.name for check in checks if check.result == "failed"]
    if as_json:
        body = {
            "endpoint": name,
            "url": _chat_url(endpoint, model),
            "works": not failed,
            "checks": [asdict(c) for c in checks],
        }
        write_json(body)
    elif failed:
        write_line(f"\n“{name}” does not work: {', '.join(failed)}.")
    else:
        write_line(f"\n“{name}” works.")
    return not failed


async def _test(endpoint: Endpoint, model: str, *, show: bool) -> list[Check]:
    from tui_chat.cli.endpoint_checks import check_endpoint

    client = open_http_client()
    checks: list[Check] = []
    if show:
        write_line(f"{endpoint.name}: {endpoint.protocol.label} at {endpoint.base_url}")
        write_line(f"Requests go to {_chat_url(endpoint, model)}\n")
    try:
        async for check in check_endpoint(endpoint, model, client):
            checks.append(check)
            if show:
                _show(check)
    finally:
        await client.aclose()
    return checks


def _chat_url(endpoint: Endpoint, model: str) -> str:
    """Return where a chat goes: the base URL as it was read, and the protocol's path."""
    from tui_chat.cli.endpoint_checks import tiny_chat

    model = model or ("" if endpoint.models else "MODEL")
    return tiny_chat(endpoint, model, stream=True).url


def _show(check: Check) -> None:
    sign = Styled(_SIGNS[check.result], _COLOURS[check.result])
    took = f"  ({check.seconds:.2f} s)" if check.seconds is not None else ""
    write_line("  ", sign, f"  {check.name:<7} {check.sentence}{took}")
    if check.advice:
        write_line(f"{'':14}{check.advice}")


def _config(settings: dict[str, object]) -> Config:
    config_dir = cast("Path | None", settings["config_dir"]) or paths.config_dir()
    return load_config(config_dir, Path(), os.environ, {})


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
