"""`tui-chat prices`: show and update the prices of models; `tui-chat usage`: what replies cost."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from tui_chat.cli.app import open_http_client, open_store
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.output import write_json, write_line
from tui_chat.errors import InputError
from tui_chat.files import make_private_folder, read_file, write_text
from tui_chat.library.prices import FILE, load_prices
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.price_file import MOST_BYTES, load_numbers, price_table_text, read_price_table
from tui_chat.models.prices import Prices, prices_json
from tui_chat.models.sanitize import one_line
from tui_chat.providers.discovery import get_request
from tui_chat.workspace.usage import UsageGroup, UsageSum, group_name, known_cost

SOURCE = (
    "https://raw.githubusercontent.com/pydantic/genai-prices/refs/heads/main/"
    "prices/new_data/v2/data_slim.json"
)


def run_show(common: CommonOptions, model: str, name: str, *, as_json: bool) -> bool:
    """Print the prices of a model at all endpoints or at one; return False if none are known."""
    config, known = common.config(), load_prices(common.data_folder)
    endpoints = (config.endpoint_named(name),) if name else config.endpoints
    now = datetime.now(UTC)
    found = {
        endpoint.name: prices
        for endpoint in endpoints
        if (prices := known.prices_of(endpoint, model, now)) is not None
    }
    if as_json:
        shown = {key: {**prices_json(each), "source": each.source} for key, each in found.items()}
        write_json({"prices": shown, "tables": [each.label for each in known.tables]})
        return bool(found)
    for endpoint, prices in found.items():
        write_line(f"{one_line(model)} at {endpoint}: {prices.source}")
        _write_prices(prices)
    if not found:
        write_line(f"{one_line(model)}: — (no prices are known)")
    write_line(f"Tables: {'; '.join(each.label for each in known.tables)}")
    if known.fault:
        write_line(f"Not used: {known.fault}")
    return bool(found)


def _write_prices(prices: Prices) -> None:
    for key, value in prices_json(prices).items():
        if key == "tiers":
            for tier in cast("list[dict[str, Any]]", value):
                rest = ", ".join(f"{k} ${v:g}" for k, v in tier.items() if k != "above")
                write_line(f"  above {tier['above']:,} tokens of input: {rest}")
        elif isinstance(value, float):
            unit = "" if key == "per_request" else " per million tokens"
            write_line(f"  {key:<15} ${value:g}{unit}")
        else:
            write_line(f"  {key:<15} {value}")
    for medium in sorted(prices.apart):
        write_line(f"  {medium:<15} has its own price; such a request has no known cost")


def run_update(common: CommonOptions, place: str) -> None:
    """Fetch prices from `place`, check them, and put them into the data folder.

    Raises InputError and what the HTTP client does; the old file is kept then.
    """
    place = place or SOURCE
    if "://" in place:
        if not place.startswith("https://"):
            raise InputError(f"{place}: only https is fetched.")
        raw = asyncio.run(download(place, MOST_BYTES))
    else:
        raw = read_file(Path(place), MOST_BYTES)
    today = datetime.now(UTC).date().isoformat()
    text = price_table_text(load_numbers(raw, place), today, "genai-prices", place)
    folder = common.data_folder
    try:
        make_private_folder(folder)
    except OSError as error:
        raise InputError(f"{folder} cannot be created: {error.strerror}.") from error
    write_text(text, folder / FILE)
    table = read_price_table(text.encode(), place)
    count = sum(len(models) for models in table.providers.values())
    write_line(f"{folder / FILE}: {count:,} models of {len(table.providers)} providers, {today}.")


async def download(url: str, limit: int) -> bytes:
    """Return what an https URL serves, of at most `limit` bytes.

    Raises InputError and what the HTTP client does.
    """
    endpoint = Endpoint("published file", Protocol.OPENAI_CHAT, "https://e")
    request = replace(get_request(endpoint, ""), url=url)
    async with open_http_client() as client, client.open(request) as response:
        if response.status != 200:
            raise InputError(f"{url}: the server answers with status {response.status}")
        return await response.read_body(limit)


def run_usage(common: CommonOptions, group: UsageGroup, *, as_json: bool) -> None:
    """Print tokens and costs of all replies. Raises StoreError and ConfigError."""
    sums = asyncio.run(_usage(common, group))
    if as_json:
        write_json([{group: name, **each.as_json()} for name, each in sums.items()])
        return
    if not sums:
        write_line("No replies with tokens.", err=True)
        return
    total = UsageSum()
    for each in sums.values():
        total.replies, total.input = total.replies + each.replies, total.input + each.input
        total.cached, total.output = total.cached + each.cached, total.output + each.output
        total.cost, total.unknown = total.cost + each.cost, total.unknown + each.unknown
    rows: list[tuple[str, ...]] = [
        (group.upper(), "REPLIES", "INPUT", "CACHED", "OUTPUT", "COST", "WITHOUT COST")
    ]
    for name, each in [*sums.items(), ("all", total)]:
        counts = (each.replies, each.input, each.cached, each.output)
        cells = (f"{count:,}" for count in counts)
        rows.append((one_line(name, 60), *cells, each.dollars, f"{each.unknown:,}"))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
        write_line("  ".join((row[0].ljust(widths[0]), *cells)))


async def _usage(common: CommonOptions, group: UsageGroup) -> dict[str, UsageSum]:
    config, known = common.config(), load_prices(common.data_folder)
    sums: dict[str, UsageSum] = {}
    async with open_store(common) as store:
        async for reply in store.usage.requests():
            name, cost = group_name(reply, group), known_cost(reply, config, known)
            sums.setdefault(name, UsageSum()).add(reply, cost)
    return dict(sorted(sums.items()))
