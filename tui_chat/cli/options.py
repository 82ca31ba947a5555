"""Options and arguments that several commands have, each declared once for click."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import click

from tui_chat.cli import completion
from tui_chat.models.endpoint import Protocol
from tui_chat.models.generation import GENERATION_KINDS

_Declared = TypeVar("_Declared", bound=Callable[..., Any])
Declaration: TypeAlias = Callable[[_Declared], _Declared]
"""A decorator that adds a parameter to a command."""

PROTOCOLS = tuple(protocol.value for protocol in Protocol)
"""The ids alone: importing the protocols themselves takes longer than printing help."""
FILE = click.Path(path_type=Path)
INPUT = click.Path(path_type=Path, allow_dash=True)
"""A file, or - for the standard input."""


class _Utf8Text(click.types.StringParamType):
    """Text that can be sent and stored. Python makes surrogates of other bytes, which would be
    replaced later.
    """

    name = "text"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            value.encode()
        except UnicodeEncodeError:
            self.fail("It is not UTF-8 text. Convert it, or use a UTF-8 locale.", param, ctx)
        return value


TEXT = _Utf8Text()


def _completed(name: str, complete: completion.Complete) -> Callable[..., Declaration[Any]]:
    """Return a function that declares an option whose values the shell completes: its help, other
    names and attributes are arguments.
    """

    def declare(text: str, *names: str, **attributes: Any) -> Declaration[Any]:
        return click.option(name, *names, shell_complete=complete, help=text, **attributes)

    return declare


def _refuse_empty(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """Return the value; an empty one, as of a shell's unset variable, must not begin a session."""
    if value == "" and context.get_parameter_source(parameter.name or "") != _DEFAULT:
        raise click.BadParameter("it is empty; name a session by its id or title.")
    return value


_DEFAULT = click.core.ParameterSource.DEFAULT

session_option = partial(
    _completed("--session", completion.complete_session), callback=_refuse_empty
)
role_option = _completed("--role", completion.complete_role)
preset_option = _completed("--preset", completion.complete_preset)
profile_option = _completed("--profile", completion.complete_profile)
model_option = _completed("--model", completion.complete_model)
endpoint_option = _completed("--endpoint", completion.complete_endpoint)

request_model = model_option(
    "The model; without --endpoint at an endpoint that lists it.", "-m", default=""
)
request_endpoint = endpoint_option("A configured endpoint.", default="")
request_settings = click.option(
    "--set",
    "parameters",
    shell_complete=completion.complete_setting,
    multiple=True,
    metavar="NAME=VALUE",
    help="A setting, such as temperature=0.7 or effort=high; repeatable.",
)


def json_option(text: str = "Print JSON.") -> Declaration[Any]:
    """Declare `--json`."""
    return click.option("--json", "as_json", is_flag=True, help=text)


def kind_option(text: str) -> Declaration[Any]:
    """Declare `--kind`."""
    return click.option("--kind", type=click.Choice(GENERATION_KINDS), default="normal", help=text)


endpoint_argument = click.argument(
    "name", metavar="ENDPOINT", shell_complete=completion.complete_endpoint
)
file_argument = click.argument("file", type=INPUT)
last_or_session = click.argument(
    "name", required=False, metavar="[SESSION]", shell_complete=completion.complete_session
)
