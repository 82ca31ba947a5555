"""Shell completion: the names of sessions, presets, roles, profiles, models and endpoints.

Click's scripts for the shells run the program with `_TUI_CHAT_COMPLETE` set, and click answers.
Nothing is created or sent for that, and whatever fails gives no names: an error would be printed
into the command line that somebody types.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import click
from click.shell_completion import CompletionItem, get_completion_class

from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.output import write_text
from tui_chat.models.sanitize import one_line

if TYPE_CHECKING:
    from tui_chat.config import Config
    from tui_chat.library.library import Kind
    from tui_chat.store import Store

_T = TypeVar("_T")

VARIABLE = "_TUI_CHAT_COMPLETE"
"""The environment variable with which a shell asks for completions."""
PROGRAM = "tui-chat"
SHELLS = ("bash", "zsh", "fish", "powershell")
MOST = 200
"""Most names that are offered."""

Item: TypeAlias = "CompletionItem[str]"
Complete: TypeAlias = Callable[[click.Context, click.Parameter, str], list[Item]]
_Names: TypeAlias = "Iterable[tuple[str, str]]"
"""Names, and words that explain each."""


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion_command(context: click.Context, shell: str) -> None:
    """Print the script for completion in a shell.

    It completes commands, options, files, and the names of sessions, presets, roles, profiles,
    models and endpoints.

    \b
    Examples, each for the file that the shell reads at its start:
      bash (~/.bashrc)    eval "$(tui-chat completion bash)"
      zsh (~/.zshrc)      eval "$(tui-chat completion zsh)"   (after compinit)
      fish (~/.config/fish/config.fish)    tui-chat completion fish | source
      powershell ($PROFILE)    tui-chat completion powershell | Out-String | Invoke-Expression
    """
    kind = get_completion_class(shell)
    assert kind is not None  # SHELLS has only known ones
    write_text(kind(context.find_root().command, {}, PROGRAM, VARIABLE).source())


def _completing(find: Callable[[click.Context], _Names], *, files: bool = False) -> Complete:
    """Return a callback that completes names of `find` by their beginning, or a part of what
    explains them; `files`: those too.
    """

    def complete(context: click.Context, _: click.Parameter, incomplete: str) -> list[Item]:
        items = [CompletionItem(incomplete, type="file")] if files else []
        with suppress(Exception):  # an error has no place in a command line
            items += islice(_matching(find(context), incomplete.casefold()), MOST)
        return items

    return complete


def _matching(names: _Names, begun: str) -> Iterator[Item]:
    for name, about in names:
        fits = name.casefold().startswith(begun) or (begun and begun in about.casefold())
        if fits and name.isprintable():
            yield CompletionItem(name, help=one_line(about, 80) or None)


def _config(context: click.Context) -> Config:
    folders = context.find_root().params
    return CommonOptions(folders.get("data_dir"), folders.get("config_dir")).config()


def _from_store(
    context: click.Context, read: Callable[[Store], Awaitable[Sequence[_T]]]
) -> Sequence[_T]:
    """Return what `read` awaits of the database; nothing if there is none."""
    from tui_chat.cli.app import open_store, synchronous

    options = CommonOptions(_config(context).data_dir)

    @synchronous
    async def run() -> Sequence[_T]:
        async with open_store(options, only_reads=True) as store:
            return await read(store)

    return run() if options.database.exists() else ()


def _sessions(context: click.Context) -> _Names:
    sessions = _from_store(context, lambda store: store.sessions.list())
    return ((session.session_id, session.title) for session in sessions)


def _roles(context: click.Context) -> _Names:
    return ((role.name, "") for role in _from_store(context, lambda store: store.roles.list()))


def _library(kind: Kind) -> Callable[[click.Context], _Names]:
    def find(context: click.Context) -> _Names:
        from tui_chat.cli.app import open_library

        return ((name, "") for name in open_library(_config(context)).names(kind))

    return find


def _endpoints(context: click.Context) -> _Names:
    return ((endpoint.name, "") for endpoint in _config(context).endpoints)


def _models(context: click.Context) -> _Names:
    """Return the models of the endpoint that the command line names, or of all."""
    only = context.params.get("endpoint") or context.params.get("name")
    endpoints = [each for each in _config(context).endpoints if only in (None, "", each.name)]
    return dict.fromkeys((name, "") for each in endpoints for name in each.models)


def _settings(_: click.Context) -> _Names:
    from tui_chat.models.setting_types import SETTINGS

    for name, setting in SETTINGS.items():
        yield from ((f"{name}={word}", "") for word in ("", *setting.words))


complete_session = _completing(_sessions)
complete_role = _completing(_roles)
complete_role_or_file = _completing(_roles, files=True)
complete_preset = _completing(_library("presets"))
complete_preset_or_file = _completing(_library("presets"), files=True)
complete_profile = _completing(_library("profiles"))
complete_endpoint = _completing(_endpoints)
complete_model = _completing(_models)
complete_setting = _completing(_settings)
