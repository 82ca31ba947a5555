"""Options and arguments that several commands have, each declared once for click."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import click
from click.shell_completion import CompletionItem

from tui_chat.cli import completion
from tui_chat.cli.common_options import enable_plugins
from tui_chat.models.endpoint import Protocol
from tui_chat.models.generation import generation_kinds

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
profile_option = _completed("--profile", completion.complete_profile)
model_option = _completed("--model", completion.complete_model)
endpoint_option = _completed("--endpoint", completion.complete_endpoint)


class RequestCommand(click.Command):
    """A command with the options of a request."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read `-o NAME VALUE` as `--set NAME=VALUE`. Raises UsageError with advice."""
        end = args.index("--") if "--" in args else len(args)
        words, joined = iter(args[:end]), list[str]()
        for word in words:
            joined.append(word)
            if word == "-o" and (name := next(words, None)) is not None:
                value = None if "=" in name else next(words, None)
                joined.append(name if value is None else f"{name}={value}")
        try:
            return super().parse_args(ctx, [*joined, *args[end:]])
        except click.NoSuchOption as error:
            from tui_chat.models.setting_types import SettingError, typed_setting_name

            with suppress(SettingError):
                name = typed_setting_name(error.option_name.lstrip("-"))
                hint = f"No such option '{error.option_name}'. `--set {name}=VALUE` sets it."
                raise click.UsageError(hint, ctx) from None
            raise


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

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        self._look_up(ctx)
        return super().shell_complete(ctx, param, incomplete)

    def _look_up(self, context: click.Context | None) -> None:
        if context is not None:
            enable_plugins(context)
        self.choices = (*self._names(),)


def request_options(*, with_files: bool) -> Declaration[Any]:
    """Declare what `ask` and `build` have in common, by the names of `question.Question`;
    `with_files`: role, preset and profile may be files.
    """
    role = completion.complete_role_or_file if with_files else completion.complete_role
    preset = completion.complete_preset_or_file if with_files else completion.complete_preset
    metavar = "FILE|NAME" if with_files else "NAME"
    declarations: tuple[Declaration[Any], ...] = (
        click.argument("words", metavar="[TEXT]...", nargs=-1, type=TEXT),
        click.option("-c", "--continue", "last", is_flag=True, help="Continue the last session."),
        session_option("Continue a session: its id, start of it, or title.", "-s", default=""),
        click.option(
            *("-a", "-f", "--attach", "attachments"),
            type=INPUT,
            multiple=True,
            help="A file; repeatable.",
        ),
        click.option(
            "--system",
            default="",
            metavar="TEXT",
            type=TEXT,
            help="A system message before it, instead of a role.",
        ),
        click.option(
            "--role",
            shell_complete=role,
            metavar=metavar,
            help='The role of a new session; "" for none, also in a session that lost its own.',
        ),
        click.option(
            *("-t", "--preset"),
            shell_complete=preset,
            metavar=metavar,
            help='A preset; "" for none.',
        ),
        profile_option('A profile; "" for none.', metavar=metavar),
        click.option(
            "--bare",
            is_flag=True,
            help="Send only the conversation: no role, preset, profile or tools.",
        ),
        model_option(
            "The model, or ENDPOINT/MODEL; without an endpoint at one that lists it. With `ask` "
            "repeatable: each one replies.",
            *("-m", "models"),
            multiple=True,
        ),
        endpoint_option("A configured endpoint.", default=""),
        click.option(
            *("-o", "--set", "settings"),
            shell_complete=completion.complete_setting,
            multiple=True,
            metavar="NAME=VALUE",
            help="A setting, such as temperature=0.7 or effort=high; repeatable.",
        ),
        click.option(
            "--kind",
            type=PluginChoice(generation_kinds),
            default="normal",
            help="What to generate. TEXT is the instruction of a kind that takes one.",
        ),
        click.option("--schema", type=INPUT, metavar="FILE", help="The JSON Schema of the reply."),
        click.option("--no-stream", "stream", flag_value=False, default=True, help="Don't stream."),
    )

    def declare(function: _Declared) -> _Declared:
        for declaration in reversed(declarations):
            function = declaration(function)
        return function

    return declare


endpoint_argument = click.argument(
    "name", metavar="ENDPOINT", shell_complete=completion.complete_endpoint
)
file_argument = click.argument("file", type=INPUT)
last_or_session = click.argument(
    "name", required=False, metavar="[SESSION]", shell_complete=completion.complete_session
)
