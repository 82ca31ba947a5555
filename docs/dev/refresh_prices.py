"""Refresh `models/prices.json` from the data of genai-prices (MIT, Pydantic Services Inc.).

    python docs/dev/refresh_prices.py --date 2026-11-23
    python docs/dev/refresh_prices.py --date 2026-11-23 --source NAME data_slim.json

Without a source it reads the installed package `genai-prices`, which the development group has.
Nothing calls this but whoever maintains the program; it needs no network. `models.prices` says what
is taken; `tui-chat prices update` writes the same form.
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
from tui_chat.errors import TuiChatError
from tui_chat.files import read_file, write_text
from tui_chat.models import prices
from tui_chat.models.price_table import MOST_BYTES, price_table_text
from tui_chat.models.sanitize import one_line

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


@click.command()
@click.option("--source", nargs=2, metavar="NAME FILE", help="Data of genai-prices, and its name.")
@click.option("--date", "day", required=True, metavar="YYYY-MM-DD", help="The day of the data.")
@click.option("--output", type=click.Path(path_type=Path), default=OUTPUT, show_default=True)
def main(source: tuple[str, str] | None, day: str, output: Path) -> None:
    """Write the prices that ship with the program."""
    try:
        if source is None:
            name, data = f"genai-prices {version('genai-prices')}", cast("object", package_data())
        else:
            name, place = source
            data = json.loads(read_file(Path(place), MOST_BYTES))
        text = price_table_text(data, day, name)
        if len(text) > MOST_OUTPUT:
            raise click.ClickException(f"{len(text):,} bytes; at most {MOST_OUTPUT:,} are kept.")
        write_text(text, output, "shared")
    except ImportError as error:
        raise click.ClickException("The package genai-prices is not installed.") from error
    except TuiChatError as error:
        raise click.ClickException(one_line(str(error))) from error
    write_line(f"{output}: {len(text):,} bytes.")


if __name__ == "__main__":
    main()
