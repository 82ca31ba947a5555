"""The commands about providers: endpoints, models, keys, prices and usage, declared for click."""

from __future__ import annotations

import sys
from typing import Any

import click

from tui_chat.cli import completion
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.options import endpoint_argument, endpoint_option, json_option, model_option


@click.group()
def endpoints() -> None:
    """List and test the configured endpoints; print facts about models."""


@endpoints.command("list")
@json_option()
@click.option("--discover", "look", is_flag=True, help="Also look for servers on this machine.")
@click.pass_obj
def endpoints_list(common: CommonOptions, as_json: bool, look: bool) -> None:
    """List the built-in endpoints and those of config.toml.

    \b
    Example:
      tui-chat endpoints list --discover
    """
    from tui_chat.cli.endpoints import run_list

    run_list(common, as_json=as_json, look=look)


@endpoints.command("facts")
@endpoint_argument
@click.argument("models", metavar="[MODEL]...", nargs=-1, shell_complete=completion.complete_model)
@json_option()
@click.pass_obj
def endpoints_facts(
    common: CommonOptions, name: str, models: tuple[str, ...], as_json: bool
) -> None:
    """Print what is known of models at an endpoint, in the form of config.toml, and from where:
    limits, efforts, sampling. Without MODEL, of the endpoint's own models.

    \b
    Example:
      tui-chat endpoints facts openai gpt-5
    """
    from tui_chat.cli.endpoints import run_facts

    run_facts(common, name, models, as_json=as_json)


@endpoints.command("test")
@endpoint_argument
@model_option("The model; default: the endpoint's first.", default="")
@json_option()
@click.pass_obj
def endpoints_test(common: CommonOptions, name: str, model: str, as_json: bool) -> None:
    """Test an endpoint: its key, server and models, and a tiny real chat.

    Exits with 1 if a check fails.

    \b
    Example:
      tui-chat endpoints test openai --model gpt-5
    """
    from tui_chat.cli.endpoints import run_test

    if not run_test(common, name, model, as_json=as_json):
        sys.exit(1)


@click.group()
def prices() -> None:
    """Show and update the prices of models."""


@prices.command("show")
@click.argument("model", shell_complete=completion.complete_model)
@endpoint_option("Only at this endpoint.", "name", default="")
@json_option()
@click.pass_obj
def prices_show(common: CommonOptions, model: str, name: str, as_json: bool) -> None:
    """Print what a model costs today, and whose prices those are. Exits with 1 if unknown.

    \b
    Example:
      tui-chat prices show gpt-5 --json
    """
    from tui_chat.cli.prices import run_show

    if not run_show(common, model, name, as_json=as_json):
        sys.exit(1)


@prices.command("update")
@click.option("--from", "place", default="", metavar="FILE|URL", help="Instead of genai-prices'.")
@click.pass_obj
def prices_update(common: CommonOptions, place: str) -> None:
    """Fetch the data of genai-prices from GitHub and use it. If it cannot be read, the prices
    stay as they are.

    \b
    Example:
      tui-chat prices update
    """
    from tui_chat.cli.prices import run_update

    run_update(common, place)


@click.command()
@click.option(
    "--by",
    "group",
    type=click.Choice(["day", "month", "model", "session", "kind"]),
    default="day",
    show_default=True,
)
@json_option()
@click.pass_obj
def usage(common: CommonOptions, group: Any, as_json: bool) -> None:
    """Print tokens and costs of all replies.

    Requests that wrote titles, summaries, your messages (impersonate) and answers to quiet prompts
    are included. A fork's copies are counted once;
    deleted sessions that are still in the trash count too.

    \b
    Examples:
      tui-chat usage --by model
      tui-chat usage --by month --json
    """
    from tui_chat.cli.prices import run_usage

    run_usage(common, group, as_json=as_json)


@click.command("models")
@click.argument("text", required=False, default="", shell_complete=completion.complete_model)
@endpoint_option("Only of this endpoint.", "name", default="")
@click.option("--online", is_flag=True, help="Ask the servers, instead of what is configured.")
@json_option()
@click.pass_obj
def models(common: CommonOptions, text: str, name: str, online: bool, as_json: bool) -> None:
    """List the models of the endpoints, with limits in tokens and prices in US dollars.

    With TEXT, those whose name contains it. Exits with 1 if a server could not be asked.

    \b
    Examples:
      tui-chat models claude
      tui-chat models --endpoint ollama --online
      tui-chat models --json
    """
    from tui_chat.cli.models import run_models

    if not run_models(common, text, name, online=online, as_json=as_json):
        sys.exit(1)
