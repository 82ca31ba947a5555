"""Refresh `models/prices.json` from the data of genai-prices (MIT, Pydantic Services Inc.).

    python docs/dev/refresh_prices.py --date 2026-11-23

It reads the installed package `genai-prices`, which the development group has. Nothing calls this
but whoever maintains the program; it needs no network. `models.prices` says what is taken.
"""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from datetime import date, time
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import click

from tui_chat.cli.output import write_line
from tui_chat.files import write_text
from tui_chat.models import prices
from tui_chat.models.prices import PROVIDERS

OUTPUT = Path(prices.__file__).with_name("prices.json")
MOST_OUTPUT = 160_000
"""Maximum bytes of the file that is written."""


def package_data() -> list[dict[str, Any]]:
    """Return the data of the installed package in the form of its JSON. Raises ImportError."""
    return [_plain(provider) for provider in import_module("genai_prices.data").providers]


def _plain(value: object) -> Any:
    """Return what genai-prices' classes say as JSON values; prices stay `Decimal`."""
    if isinstance(value, list):
        return [_plain(each) for each in cast("list[Any]", value)]
    if type(value).__name__ == "ModelPrice":
        prices: dict[str, object] = vars(value)
        return {key: _plain(each) for key, each in prices.items() if each is not None}
    if is_dataclass(value) and not isinstance(value, type):
        return {
            field.name.removesuffix("_"): _plain(each)
            for field in fields(value)
            if (each := getattr(value, field.name)) is not None
        }
    return value.isoformat() if isinstance(value, date | time) else value


def table_text(data: list[dict[str, Any]], day: str, source: str) -> str:
    """Return the file of a table, without what is not read, one model a line."""
    known = [
        {
            **{key: each[key] for key in ("id", "fallback_model_providers") if key in each},
            "models": [_model(model) for model in each["models"]],
        }
        for each in data
        if each["id"] in PROVIDERS
    ]
    table = {"date": day, "source": source, "providers": known}
    text = json.dumps(table, separators=(",", ":"), ensure_ascii=False, default=float)
    return text.replace('{"id":', '\n{"id":') + "\n"


def _model(model: dict[str, Any]) -> dict[str, Any]:
    """Return a model with its prices as a list of those of periods."""
    prices = model.get("prices") or []
    periods = [{"prices": prices}] if isinstance(prices, dict) else prices
    kept: list[dict[str, Any]] = []
    for period in periods:
        kept.append({"prices": period["prices"]})
        if limit := period.get("constraint"):  # that of an hour is left empty
            kept[-1]["constraint"] = {k: v for k, v in limit.items() if k == "start_date"}
    return {"id": model["id"], "match": model["match"], **({"prices": kept} if kept else {})}


@click.command()
@click.option("--date", "day", required=True, metavar="YYYY-MM-DD", help="The day of the data.")
@click.option("--output", type=click.Path(path_type=Path), default=OUTPUT, show_default=True)
def main(day: str, output: Path) -> None:
    """Write the prices that ship with the program."""
    try:
        text = table_text(package_data(), day, f"genai-prices {version('genai-prices')}")
    except ImportError as error:
        raise click.ClickException("The package genai-prices is not installed.") from error
    if len(text) > MOST_OUTPUT:
        raise click.ClickException(f"{len(text):,} bytes; at most {MOST_OUTPUT:,} are kept.")
    write_text(text, output, "shared")
    write_line(f"{output}: {len(text):,} bytes.")


if __name__ == "__main__":
    main()
