"""The command `tap` and its flags, declared for click."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.options import FILE, PROTOCOLS, json_option
from tui_chat.models.endpoint import Protocol

_UNITS = {"": 1, "k": 1_000, "m": 1_000_000, "g": 1_000_000_000}


class _Size(click.ParamType[int]):
    """A number of bytes, with k, M or G."""

    name = "SIZE"

    def convert(self, value: Any, param: Any, ctx: Any) -> int:
        """Return the number of bytes."""
        text = str(value).strip().lower().removesuffix("b")
        number, unit = (text[:-1], text[-1:]) if text[-1:] in "kmg" else (text, "")
        if not (number.isascii() and number.isdigit() and 0 < len(number) < 13):
            self.fail(f"{value!r} is not a size such as 500k or 32M", param, ctx)
        return int(number) * _UNITS[unit]


@click.command(context_settings={"ignore_unknown_options": False})
@click.option(
    "--listen", default="", metavar="[HOST:]PORT", help="Default: 127.0.0.1:8788, or a free port."
)
@click.option(
    "--upstream",
    default="",
    metavar="URL|ENDPOINT|offline",
    help="Where requests go; default: each protocol's own provider.",
)
@click.option(
    "--protocol",
    type=click.Choice(PROTOCOLS),
    help="The protocol of requests whose path does not tell it; default: detected.",
)
@click.option(
    "--only",
    multiple=True,
    metavar="PATTERN",
    help="Record only calls whose protocol, model or path fits, such as 'claude-*'; repeatable.",
)
@click.option("--max-body", type=_Size(), default=0, help="Record no larger bodies; default: 64M.")
@json_option("Print each call as a line of JSON.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Append the JSON lines to a file instead.",
)
@click.option(
    "--to",
    "targets",
    multiple=True,
    type=click.Choice(PROTOCOLS),
    help="Also print each request in another protocol; repeatable.",
)
@click.option("--no-store", is_flag=True, help="Do not store the conversations as sessions.")
@click.option("--allow-remote", is_flag=True, help="Also listen for other machines.")
@click.option(
    "--alias",
    default="",
    metavar="MODEL",
    help="With --upstream offline: the model that answers for unknown names.",
)
@click.option(
    "--script",
    type=FILE,
    help="With --upstream offline: a JSON file that the model “script” plays.",
)
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND...]")
@click.pass_obj
def tap(common: CommonOptions, **flags: Any) -> None:
    """Record what another program sends to a model.

    Runs a proxy on this machine: give its address to the program as its base URL, or name the
    program's command after --, and it is started with the right environment variables; in its
    arguments, {OPENAI_BASE_URL} and the like stand for their values. Requests
    and replies pass unchanged and unbuffered. Each conversation becomes a session, which a running
    app shows live. Keys pass, and are never stored or shown. Ends with the exit code of COMMAND.

    \b
    Example:
      tui-chat tap -- claude -p "Hi"
    """
    from tui_chat.cli.tap import TapOptions, run_tap

    protocol = flags.pop("protocol")
    targets = flags.pop("targets")
    options = TapOptions(
        protocol=Protocol(protocol) if protocol else None,
        targets=tuple(map(Protocol, targets)),
        is_stored=not flags.pop("no_store"),
        **flags,
    )
    run_tap(common, options)
