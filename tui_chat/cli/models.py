"""`tui-chat models`: the models of the endpoints, with what is known of them."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal

import click

from tui_chat.cli import completion
from tui_chat.cli.app import open_http_client, synchronous
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.options import endpoint_option, json_option
from tui_chat.cli.output import document_json, write_line, write_list
from tui_chat.config import OFFLINE_ENDPOINT, repeats_offline_models
from tui_chat.errors import TuiChatError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.prices import load_prices
from tui_chat.models.endpoint import Endpoint
from tui_chat.providers.discovery import list_models


@dataclass(frozen=True, slots=True)
class ModelDocument:
    """A model of an endpoint; prices are US dollars per million tokens."""

    endpoint: str
    model: str
    context_limit: int | None
    max_output: int | None
    input_price: float | None
    output_price: float | None


@click.command()
@click.argument("text", required=False, default="", shell_complete=completion.complete_model)
@endpoint_option("Only of this endpoint.", "name", default="")
@click.option("--online", is_flag=True, help="Ask the servers, instead of what is configured.")
@json_option()
@click.pass_obj
@synchronous
async def models(common: CommonOptions, text: str, name: str, online: bool, as_json: bool) -> None:
    """List the models of the endpoints, with limits in tokens and prices in US dollars.

    With TEXT, those whose name contains it. Exits with 1 if a server could not be asked.

    \b
    Examples:
      tui-chat models claude
      tui-chat models --endpoint ollama --online
      tui-chat models --json
    """
    config = common.config()
    endpoints = (config.endpoint_named(name),) if name else config.endpoints
    failures: tuple[str, ...] = ()
    listed = {endpoint.name: endpoint.models for endpoint in endpoints}
    if online:
        listed, failures = await _ask_servers(endpoints)
    tables, now = load_prices(), datetime.now(UTC)
    listed_models: list[ModelDocument] = []
    repeating = () if name else tuple(filter(repeats_offline_models, endpoints))
    for endpoint in endpoints:
        if endpoint in repeating and not as_json:
            continue
        for model in listed.get(endpoint.name, ()):
            if text.casefold() in model.casefold():
                facts, prices = endpoint.facts_of(model), tables.prices_of(endpoint, model, now)
                own = map(_number, (prices.input, prices.output) if prices else (None, None))
                limits = facts.context_limit, facts.max_output
                listed_models.append(ModelDocument(endpoint.name, model, *limits, *own))
    write_list(
        listed_models,
        as_json,
        document_json,
        ("MODEL", "ENDPOINT", "CONTEXT", "OUTPUT", "$/M IN", "$/M OUT"),
        _cells,
        (0, 20),
        (1, 10),
        nothing="No models.",
    )
    unlisted = [endpoint.name for endpoint in endpoints if not endpoint.models]
    if name and unlisted and not online and not as_json:
        write_line(f"None are configured for {name}; --online asks its server.", err=True)
    is_offline = any(model.endpoint == OFFLINE_ENDPOINT for model in listed_models)
    if repeating and is_offline and not as_json:
        others = ", ".join(endpoint.name for endpoint in repeating)
        write_line(f"The models of {OFFLINE_ENDPOINT} are also at {others}.", err=True)
    for sentence in failures:
        write_line(f"warning: {sentence}", err=True)
    if failures:
        sys.exit(1)


async def _ask_servers(
    endpoints: Sequence[Endpoint],
) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]]:
    """Return the models that servers list by endpoint, and why others could not be asked."""
    async with open_http_client() as client:
        answers = await asyncio.gather(
            *(list_models(endpoint, client) for endpoint in endpoints), return_exceptions=True
        )
    listed: dict[str, tuple[str, ...]] = {}
    failures: list[str] = []
    for endpoint, answer in zip(endpoints, answers, strict=True):
        if isinstance(answer, TuiChatError):
            failures.append(f"{endpoint.name}: {answer}")
        elif isinstance(answer, BaseException):
            raise answer
        else:
            listed[endpoint.name] = answer
    return listed, tuple(failures)


def _number(price: Decimal | None) -> float | None:
    return None if price is None else float(price)


def _cells(model: ModelDocument) -> tuple[str, ...]:
    numbers = (model.context_limit, model.max_output, model.input_price, model.output_price)
    cells = ("—" if value is None else f"{value:,}" for value in numbers)
    return model.model, model.endpoint, *cells
