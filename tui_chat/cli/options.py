"""Options and arguments that several commands have, each declared once for click."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field, fields
from functools import partial, wraps
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import click

from tui_chat.cli.common_options import enable_plugins
from tui_chat.models.endpoint import Protocol

_Declared = TypeVar("_Declared", bound=Callable[..., Any])
Declaration: TypeAlias = Callable[[_Declared], _Declared]
"""A decorator that adds a parameter to a command."""

PROTOCOLS = tuple(protocol.value for protocol in Protocol)
"""The ids alone: importing the protocols themselves takes longer than printing help."""
FILE = click.Path(path_type=Path)
INPUT = click.Path(path_type=Path, allow_dash=True)
"""A file, or - for the standard input."""


class _Utf8Text(click.types.StringParamType):
    """Text that can be sent and stored: no surrogates, which Python makes of other bytes."""

    name = "text"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            value.encode()
        except UnicodeEncodeError:
            self.fail("It is not UTF-8 text. Convert it, or use a UTF-8 locale.", param, ctx)
        return value


TEXT = _Utf8Text()


def _named(name: str) -> Callable[..., Declaration[Any]]:
    """Return a function that declares an option: its help, other names and attributes are
    arguments.
    """

    def declare(text: str, *names: str, **attributes: Any) -> Declaration[Any]:
        return click.option(name, *names, help=text, **attributes)

    return declare


def refuse_empty(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """Return the value; an empty one, as of a shell's unset variable, must not begin a session."""
    if value == "" and context.get_parameter_source(parameter.name or "") != _DEFAULT:
        raise click.BadParameter("it is empty; name a session by its id or title.")
    return value


_DEFAULT = click.core.ParameterSource.DEFAULT

session_option = partial(_named("--session"), callback=refuse_empty)
role_option = _named("--role")
profile_option = _named("--profile")
model_option = _named("--model")
endpoint_option = _named("--endpoint")


def json_option(text: str = "Print JSON.") -> Declaration[Any]:
    """Declare `--json`."""
    return click.option("--json", "as_json", is_flag=True, help=text)


class PluginChoice(click.Choice[str]):
    """A choice of names, some of which plugins add. Other people's plugins are enabled before the
    names are looked up.
    """

    def __init__(self, names: Callable[[], Iterable[str]]) -> None:
        super().__init__([*names()])
        self._names = names

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        self._look_up(ctx)
        return super().convert(value, param, ctx)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:
        self._look_up(ctx)
        return super().get_metavar(param, ctx)

    def _look_up(self, context: click.Context | None) -> None:
        if context is not None:
            enable_plugins(context)
        self.choices = (*self._names(),)


def option(*names: str, **attributes: Any) -> Any:
    """Declare a field of a command's options as `click.option`, by default as `--NAME`."""
    return field(metadata={"declare": (click.option, names, attributes)})


def argument(**attributes: Any) -> Any:
    """Declare a field of a command's options as `click.argument`."""
    return field(metadata={"declare": (click.argument, (), attributes)})


def takes(kind: type) -> Declaration[Any]:
    """Declare the fields of a dataclass as parameters of a command, which gets it as `options`."""

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def call(*args: Any, **values: Any) -> Any:
            given = {each.name: values.pop(each.name) for each in fields(kind)}
            return function(*args, options=kind(**given), **values)

        for each in reversed(fields(kind)):
            declaration, names, attributes = each.metadata["declare"]
            is_option = declaration is click.option
            own = (f"--{each.name.replace('_', '-')}",) if is_option and not names else names
            call = declaration(each.name, *own, **attributes)(call)
        return call

    return declare


endpoint_argument = click.argument("name", metavar="ENDPOINT")
file_argument = click.argument("file", type=INPUT)
last_or_session = click.argument("name", required=False, metavar="[SESSION]")
