"""The commands about providers: endpoints, models, keys, prices and usage, declared for click."""

from __future__ import annotations

import sys
from typing import Any

import click

from tui_chat.cli import completion


@click.group()
def endpoints() -> None:
    """List and test the configured endpoints; print facts about models."""


@endpoints.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--discover", "look", is_flag=True, help="Also look for servers on this machine.")
@click.pass_obj
def endpoints_list(settings: dict[str, object], as_json: bool, look: bool) -> None:
    """List the built-in endpoints and those of config.toml.

    \b
    Example:
      tui-chat endpoints list --discover
    """  # noqa: D301 -- click wants the character itself
    from tui_chat.cli.endpoints import run_list

    run_list(settings, as_json=as_json, look=look)


@endpoints.command("facts")
@click.argument("name", shell_complete=completion.complete_endpoint)
@click.argument("models", metavar="[MODEL]...", nargs=-1, shell_complete=completion.complete_model)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def endpoints_facts(
    settings: dict[str, object], name: str, models: tuple[str, ...], as_json: bool
) -> None:
    """Print what is known of models at an endpoint, in the form of config.toml, and from where:
    limits, efforts, sampling. Without MODEL, of the endpoint's own models.

    \b
    Example:
      tui-chat endpoints facts openai gpt-5
    """  # noqa: D301 -- click wants the character itself
    from tui_chat.cli.endpoints import run_facts

    run_facts(settings, name, models, as_json=as_json)


@endpoints.command("test")
@click.argument("name", shell_complete=completion.complete_endpoint)
@click.option(
    "--model",
    shell_complete=completion.complete_model,
    default="",
    help="The model; default: the endpoint's first.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def endpoints_test(settings: dict[str, object], name: str, model: str, as_json: bool) -> None:
    """Test an endpoint: its key, server and models, and a tiny real chat.

    Exits with 1 if a check fails.

    \b
    Example:
      tui-chat endpoints test openai --model gpt-5
    """  # noqa: D301 -- click wants the character itself
    from tui_chat.cli.endpoints import run_test

    if not run_test(settings, name, model, as_json=as_json):
        sys.exit(1)


@click.group()
def prices() -> None:
    """Show and update the prices of models."""


@prices.command("show")
@click.argument("model", shell_complete=completion.complete_model)
@click.option(
    "--endpoint",
    "name",
    shell_complete=completion.complete_endpoint,
    default="",
    help="Only at this endpoint.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def prices_show(settings: dict[str, object], model: str, name: str, as_json: bool) -> None:
    """Print what a model costs today, and whose prices those are. Exits with 1 if unknown.

    \b
    Example:
      tui-chat prices show gpt-5 --json
    """  # noqa: D301 -- click wants the character itself
    from tui_chat.cli.prices import run_show

    if not run_show(settings, model, name, as_json=as_json):
        sys.exit(1)


@prices.command("update")
@click.option("--from", "place", default="", metavar="FILE|URL", help="Instead of genai-prices'.")
@click.pass_obj
def prices_update(settings: dict[str, object], place: str) -> None:
    """Fetch the data of genai-prices from GitHub and use it. If it cannot be read, the prices
    stay as they are.

    \b
    Example:
      tui-chat prices update
    """  # noqa: D301 -- click wants the character itself
    from tui_chat.cli.prices import run_update

    run_update(settings, place)


@click.command()
@click.option(
    "--by",
    "group",
    type=click.Choice(["day", "month", "model", "session", "kind"]),
    default="day",
    show_default=True,
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def usage(settings: dict[str, object], group: Any, as_json: bool) -> None:
    """Print tokens and costs of all replies.

    Requests that wrote titles and summaries are included. A fork's copies are counted once;
    deleted sessions that are still in the trash count too.

    \b
    Examples:
      tui-chat usage --by model
      tui-chat usage --by month --json
    """  # noqa: D301 -- click wants the character itself
    from tui_chat.cli.prices import run_usage

    run_usage(settings, group, as_json=as_json)


@click.command("models")
@click.argument("text", required=False, default="", shell_complete=completion.complete_model)
@click.option(
    "--endpoint",
    "name",
    default="",
    shell_complete=completion.complete_endpoint,
    help="Only of this endpoint.",
)
@click.option("--online", is_flag=True, help="Ask the servers, instead of what is configured.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def models(settings: dict[str, object], text: str, name: str, online: bool, as_json: bool) -> None:
    """List the models of the endpoints, with limits in tokens and prices in US dollars.

    With TEXT, those whose name contains it. Exits with 1 if a server could not be asked.

    \b
    Examples:
      tui-chat models claude
      tui-chat models --endpoint ollama --online
      tui-chat models --json
    """  # noqa: D301 -- click wants the character itself
    from tui_chat.cli.models import run_models

    if not run_models(settings, text, name, online=online, as_json=as_json):
        sys.exit(1)


ENDPOINT_COMMANDS: tuple[click.Command, ...] = (endpoints, models, prices, usage)
