"""`tui-chat prices`: show and update the prices of models."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import click

from tui_chat.cli import completion
from tui_chat.cli.app import download, synchronous
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.options import endpoint_option, json_option
from tui_chat.cli.output import write_json, write_line
from tui_chat.errors import InputError
from tui_chat.files import make_private_folder, read_file, write_text
from tui_chat.library.prices import FILE, load_prices
from tui_chat.models.boundary import write
from tui_chat.models.json_text import parse_json
from tui_chat.models.price_table import MOST_BYTES, price_table_text, read_price_table
from tui_chat.models.prices import Prices
from tui_chat.models.sanitize import one_line

SOURCE = (
    "https://raw.githubusercontent.com/pydantic/genai-prices/refs/heads/main/"
    "prices/new_data/v2/data_slim.json"
)


@click.group()
def prices() -> None:
    """Show and update the prices of models."""


@prices.command()
@click.argument("model", shell_complete=completion.complete_model)
@endpoint_option("Only at this endpoint.", "name", default="")
@json_option()
@click.pass_obj
def show(common: CommonOptions, model: str, name: str, as_json: bool) -> None:
    """Print what a model costs today, and whose prices those are. Exits with 1 if unknown.

    \b
    Example:
      tui-chat prices show gpt-5 --json
    """
    config, tables = common.config(), load_prices(common.data_folder)
    endpoints = (config.endpoint_named(name),) if name else config.endpoints
    now = datetime.now(UTC)
    by_endpoint = {
        endpoint.name: model_prices
        for endpoint in endpoints
        if (model_prices := tables.prices_of(endpoint, model, now)) is not None
    }
    if as_json:
        shown = {key: {**write(own), "source": own.source} for key, own in by_endpoint.items()}
        write_json({"prices": shown, "tables": [table.label for table in tables.tables]})
    else:
        for endpoint, model_prices in by_endpoint.items():
            write_line(f"{one_line(model)} at {endpoint}: {model_prices.source}")
            _write_prices(model_prices)
        if not by_endpoint:
            write_line(f"{one_line(model)}: — (no prices are known)")
        write_line(f"Tables: {'; '.join(each.label for each in tables.tables)}")
        if tables.fault:
            write_line(f"Not used: {tables.fault}")
    if not by_endpoint:
        sys.exit(1)


def _write_prices(prices: Prices) -> None:
    for key, value in write(prices).items():
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


@prices.command()
@click.option("--from", "place", default="", metavar="FILE|URL", help="Instead of genai-prices'.")
@click.pass_obj
@synchronous
async def update(common: CommonOptions, place: str) -> None:
    """Fetch the data of genai-prices from GitHub and use it. If it cannot be read, the prices
    stay as they are.

    \b
    Example:
      tui-chat prices update
    """
    place = place or SOURCE
    if "://" in place:
        if not place.startswith("https://"):
            raise InputError(f"{place}: only https is fetched.")
        raw = await download(place, MOST_BYTES)
    else:
        raw = read_file(Path(place), MOST_BYTES)
    today = datetime.now(UTC).date().isoformat()
    data = parse_json(raw.decode(errors="replace"), place)
    text = price_table_text(data, today, "genai-prices", place)
    folder = common.data_folder
    try:
        make_private_folder(folder)
    except OSError as error:
        raise InputError(f"{folder} cannot be created: {error.strerror}.") from error
    write_text(text, folder / FILE)
    table = read_price_table(text.encode(), place)
    count = sum(len(each.models) for each in table.providers)
    write_line(f"{folder / FILE}: {count:,} models of {len(table.providers)} providers, {today}.")
