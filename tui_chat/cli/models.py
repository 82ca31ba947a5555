"""`tui-chat models` and `endpoints`: what there is, and what is known of it."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import click

from tui_chat.cli.app import asynchronous, open_http_client
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.lazy_group import LazyGroup
from tui_chat.cli.options import endpoint_option, json_option
from tui_chat.cli.output import write_line, write_list
from tui_chat.config import (
    LOOPBACK_URL,
)
from tui_chat.errors import TuiChatError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.prices import KnownPrices, load_prices
from tui_chat.models.boundary import write
from tui_chat.models.endpoint import Endpoint
from tui_chat.providers.discovery import list_models
from tui_chat.providers.keys import describe_key_reference

# Models


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
@click.argument("text", required=False, default="")
@endpoint_option("Only of this endpoint.", "name", default="")
@click.option("--online", is_flag=True, help="Ask the servers, instead of what is configured.")
@json_option()
@asynchronous
async def models(common: CommonOptions, text: str, name: str, online: bool, as_json: bool) -> None:
    """List the models of the endpoints, with their limits and prices.

    Limits are in tokens, prices in US dollars per million tokens.

    With TEXT, those whose name contains it. Exits with 1 if a server could not be asked.

    \b
    Examples:
      tui-chat models claude
      tui-chat models --endpoint ollama --online
      tui-chat models --json
    """
    config = common.config()
    endpoints = (config.endpoint_named(name),) if name else config.endpoints
    failures: list[str] = []
    listed = {endpoint.name: endpoint.models for endpoint in endpoints}
    if online:
        listed, failures = await _ask_servers(endpoints)
    tables = load_prices()
    found = [
        _document(endpoint, model, tables)
        for endpoint in endpoints
        for model in listed.get(endpoint.name, ())
        if text.casefold() in model.casefold()
    ]
    head = ("MODEL", "ENDPOINT", "CONTEXT", "OUTPUT", "$/M IN", "$/M OUT")
    narrowed = ((0, 20), (1, 10))
    write_list(found, as_json, None, head, _model_cells, *narrowed, nothing="No models.")
    if name and not endpoints[0].models and not online and not as_json:
        write_line(f"None are configured for {name}; --online asks its server.", err=True)
    for sentence in failures:
        write_line(f"warning: {sentence}", err=True)
    if failures:
        sys.exit(1)


async def _ask_servers(
    endpoints: Sequence[Endpoint],
) -> tuple[dict[str, tuple[str, ...]], list[str]]:
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
    return listed, failures


def _document(endpoint: Endpoint, model: str, tables: KnownPrices) -> ModelDocument:
    facts = endpoint.facts_of(model)
    known = tables.prices_of(endpoint, model, datetime.now(UTC))
    prices = [
        None if price is None else float(price)
        for price in ((known.input, known.output) if known else (None, None))
    ]
    limits = facts.context_limit, facts.max_output
    return ModelDocument(endpoint.name, model, *limits, *prices)


def _model_cells(model: ModelDocument) -> tuple[str, ...]:
    numbers = (model.context_limit, model.max_output, model.input_price, model.output_price)
    cells = ("—" if value is None else f"{value:,.12g}" for value in numbers)
    return model.model, model.endpoint, *cells


# Endpoints


@dataclass(frozen=True, slots=True)
class EndpointDocument:
    """An endpoint; `key` says where its key is."""

    name: str
    protocol: str
    base_url: str
    key: str
    models: tuple[str, ...]
    facts: dict[str, Any]


@click.group(cls=LazyGroup, place=("endpoints",))
def endpoints() -> None:
    """List and test the configured endpoints."""


@endpoints.command("list")
@json_option()
@click.pass_obj
def list_endpoints(common: CommonOptions, as_json: bool) -> None:
    """List the built-in endpoints and those of config.toml.

    \b
    Example:
      tui-chat endpoints list
    """
    write_list(
        common.config().endpoints,
        as_json,
        _endpoint_document,
        ("NAME", "PROTOCOL", "KEY", "MODELS", "BASE URL"),
        _endpoint_cells,
        nothing="No endpoints.",
    )


def _endpoint_cells(endpoint: Endpoint) -> tuple[str, ...]:
    models = ", ".join(endpoint.models[:2]) + (" …" if len(endpoint.models) > 2 else "")
    url = "built in" if endpoint.base_url.startswith(LOOPBACK_URL) else endpoint.base_url
    return endpoint.name, endpoint.protocol, _key(endpoint), models or "-", url


def _endpoint_document(endpoint: Endpoint) -> EndpointDocument:
    known = (*endpoint.server_facts, *endpoint.facts_anywhere, *endpoint.facts)
    of_models = ((model, endpoint.facts_of(model)) for model in endpoint.models)
    return EndpointDocument(
        endpoint.name,
        endpoint.protocol.value,
        endpoint.base_url,
        _key(endpoint),
        endpoint.models,
        {name: write(facts) for name, facts in (*known, *of_models)},
    )


def _key(endpoint: Endpoint) -> str:
    """Describe where the key is, without the key. Only the environment is checked: a keyring may
    ask for a password, and a command may do anything.
    """
    if endpoint.key_header(("", "")) is None:
        return "none needed"
    kind, _, name = endpoint.key.partition(":")
    missing = kind == "env" and not os.environ.get(name, "").strip()
    return describe_key_reference(endpoint.key) + (" (not set)" if missing else "")
