"""`tui-chat endpoints`: list the endpoints, and print facts about their models."""

from __future__ import annotations

import json
import os
import re
from typing import Any, cast

import click

from tui_chat.cli import completion
from tui_chat.cli.app import open_http_client, synchronous
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.lazy_group import LazyGroup
from tui_chat.cli.options import endpoint_argument, json_option
from tui_chat.cli.output import document_json, write_json, write_line, write_list
from tui_chat.config import LOOPBACK_URL, standard_endpoint
from tui_chat.errors import InputError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.boundary import write
from tui_chat.models.endpoint import Endpoint
from tui_chat.models.sanitize import one_line
from tui_chat.protocols.registry import detect_protocol
from tui_chat.providers.discovery import discover_endpoints, merge_discovered
from tui_chat.providers.keys import describe_key_reference


@dataclass(frozen=True, slots=True)
class EndpointDocument:
    """An endpoint; `key` says where its key is, `running` that a server answers there."""

    name: str
    protocol: str
    base_url: str
    key: str
    models: tuple[str, ...]
    facts: dict[str, Any]
    running: bool


@click.group(cls=LazyGroup, place=("endpoints",))
def endpoints() -> None:
    """List and test the configured endpoints; print facts about models."""


@endpoints.command("list")
@json_option()
@click.option("--discover", "look", is_flag=True, help="Also look for servers on this machine.")
@click.pass_obj
@synchronous
async def list_endpoints(common: CommonOptions, as_json: bool, look: bool) -> None:
    """List the built-in endpoints and those of config.toml.

    \b
    Example:
      tui-chat endpoints list --discover
    """
    endpoints = common.config().endpoints
    running: set[str] = set()
    if look:
        async with open_http_client() as client:
            discovered = await discover_endpoints(endpoints, client)
        running = {endpoint.base_url for endpoint in discovered}
        endpoints = merge_discovered(endpoints, discovered)
    write_list(
        endpoints,
        as_json,
        lambda endpoint: document_json(_document(endpoint, endpoint.base_url in running)),
        ("NAME", "PROTOCOL", "KEY", "MODELS", "BASE URL"),
        lambda endpoint: _cells(endpoint, endpoint.base_url in running),
        nothing="No endpoints.",
    )
    if look and not running and not as_json:
        write_line("\nNo server on this machine answers at the addresses above.")


def _cells(endpoint: Endpoint, is_running: bool) -> tuple[str, ...]:
    models = ", ".join(endpoint.models[:2]) + (" …" if len(endpoint.models) > 2 else "")
    url = endpoint.base_url + ("  (running)" if is_running else "")
    if endpoint.base_url.startswith(LOOPBACK_URL):
        url = "built in"
    return endpoint.name, endpoint.protocol, _key(endpoint), models or "-", url


def _document(endpoint: Endpoint, running: bool) -> EndpointDocument:
    known = (*endpoint.server_facts, *endpoint.facts_anywhere, *endpoint.facts)
    of_models = ((model, endpoint.facts_of(model)) for model in endpoint.models)
    return EndpointDocument(
        endpoint.name,
        endpoint.protocol.value,
        endpoint.base_url,
        _key(endpoint),
        endpoint.models,
        {name: write(facts) for name, facts in (*known, *of_models)},
        running,
    )


@endpoints.command("facts")
@endpoint_argument
@click.argument("models", metavar="[MODEL]...", nargs=-1, shell_complete=completion.complete_model)
@json_option()
@click.pass_obj
def facts(common: CommonOptions, name: str, models: tuple[str, ...], as_json: bool) -> None:
    """Print what is known of models at an endpoint, in the form of config.toml, and from where:
    limits, efforts, sampling. Without MODEL, of the endpoint's own models.

    \b
    Example:
      tui-chat endpoints facts openai gpt-5
    """
    config = common.config()
    offering = [endpoint.name for endpoint in config.endpoints if name in endpoint.models]
    is_endpoint = name in [endpoint.name for endpoint in config.endpoints]
    if not is_endpoint and not offering and (protocol := detect_protocol(name)) is not None:
        both = f"{standard_endpoint(protocol)} {one_line(name, 80)}"
        raise InputError(
            f"There is no endpoint “{one_line(name, 80)}”.",
            advice=f"If it is a model, name both: `tui-chat endpoints facts {both}`.",
        )
    if offering and not is_endpoint:
        raise InputError(
            f"“{one_line(name, 80)}” is a model, not an endpoint.",
            advice=f"Name both: `tui-chat endpoints facts {offering[0]} {one_line(name, 80)}`.",
        )
    endpoint = config.endpoint_named(name)
    models = models or endpoint.models
    if as_json:
        write_json({model: write(endpoint.facts_of(model)) for model in models})
        return
    if not models:
        write_line(f"“{name}” has no models of its own; name one.")
    for number, model in enumerate(models):
        if number:
            write_line("")
        write_line(one_line(f"[endpoints.{_toml_key(name)}.facts.{_toml_key(model)}]"))
        written = write(endpoint.facts_of(model))
        sources = tuple(endpoint.facts_by_source(model))
        if not written:
            write_line("# Nothing is known of it.")
        for key, value in written.items():
            text = f"{key} = {_toml(value)}"
            source = next(name for name, facts in sources if getattr(facts, key) is not None)
            write_line(f"{text:<50}  # {source}")


def _toml_key(name: str) -> str:
    is_bare = re.fullmatch(r"[A-Za-z0-9_-]+", name) is not None
    return name if is_bare else json.dumps(name, ensure_ascii=False)


def _toml(value: Any) -> str:
    """Return a fact's value as TOML."""
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value).items()
        inner = (
            f"{key} = {item if key in ('from', 'until') else _toml(item)}" for key, item in items
        )
        return f"{{ {', '.join(inner)} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, cast('list[Any]', value)))}]"
    return json.dumps(value)


def _key(endpoint: Endpoint) -> str:
    """Describe where the key is, without the key. Only the environment is checked: a keyring may
    ask for a password, and a command may do anything.
    """
    if endpoint.key_header(("", "")) is None:
        return "none needed"
    kind, _, name = endpoint.key.partition(":")
    missing = kind == "env" and not os.environ.get(name, "").strip()
    return describe_key_reference(endpoint.key) + (" (not set)" if missing else "")
