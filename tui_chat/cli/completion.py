"""Shell completion: the names of sessions, presets, roles, profiles, models and endpoints.

A shell's script runs the program with `_TUI_CHAT_COMPLETE` set, and click answers. Nothing is
created or sent for that, and whatever fails gives no names: an error would be printed into the
command line that somebody types.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    add_completion_class,
    get_completion_class,
)

from tui_chat import paths
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
_Named: TypeAlias = "tuple[str, str]"
"""A name, and words that explain it."""


@add_completion_class
class _QuotingBashComplete(BashComplete):
    """Completion for Bash of names with spaces and other special characters. Explanations, such as
    the titles of sessions, are shown behind the names as long as several names fit.
    """

    source_template = (
        BashComplete.source_template.replace(
            "COMPREPLY+=($value)",
            "IFS=$'\\t' read value about <<< \"$value\"; "
            "if [[ ${COMP_WORDS[COMP_CWORD]} != [\\\"\\']* ]]; then "
            'printf -v value "%%q" "$value"; fi; names+=("$value"); '
            'COMPREPLY+=("$value${about:+  ($about)}")',
        )
        .replace(
            "    return 0\n",
            # Keys that put in a whole name (menu-complete, insert-completions) are 37 and 42.
            "    if (( ${#names[@]} == 1 )) || [[ $COMP_TYPE == 37 || $COMP_TYPE == 42 ]]; then\n"
            '        (( ${#names[@]} )) && COMPREPLY=("${names[@]}")\n    fi\n\n    return 0\n',
        )
        .replace("    local response\n", "    local response about names=()\n")
    )

    def format_completion(self, item: Item) -> str:
        """Return type and name, and behind a tab the explanation of a session's id."""
        about = item.help if len(item.value) == 32 and item.help else ""
        return f"{item.type},{item.value}" + (f"\t{about}" if about else "")


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
    completer = kind(context.find_root().command, {}, PROGRAM, VARIABLE)
    write_text(completer.source_template % completer.source_vars())


def _completing(
    find: Callable[[click.Context], Iterable[_Named]], *, files: bool = False, titles: bool = False
) -> Complete:
    """Return a callback that completes names of `find`; `titles`: also by what explains them."""

    def complete(context: click.Context, _: click.Parameter, incomplete: str) -> list[Item]:
        items: list[Item] = []
        if files:  # first: Bash forgets what came before it
            items.append(CompletionItem(incomplete, type="file"))
        try:
            items += islice(_matching(find(context), incomplete, titles=titles), MOST)
        except Exception:  # an error has no place in a command line
            return items
        return items

    return complete


def _matching(names: Iterable[_Named], incomplete: str, *, titles: bool) -> Iterator[Item]:
    begun = incomplete.casefold()
    for name, about in names:
        fits = name.casefold().startswith(begun) or (titles and begun and begun in about.casefold())
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

    folder = _config(context).data_dir
    if not paths.database_file(folder).exists():
        return ()

    @synchronous
    async def run() -> Sequence[_T]:
        async with open_store(CommonOptions(folder), only_reads=True) as store:
            return await read(store)

    return run()


def _sessions(context: click.Context) -> Iterator[_Named]:
    for session in _from_store(context, lambda store: store.sessions.list()):
        yield session.session_id, session.title


def _roles(context: click.Context) -> Iterator[_Named]:
    for role in _from_store(context, lambda store: store.roles.list()):
        yield role.name, role.model


def _library(kind: Kind, context: click.Context) -> Iterator[_Named]:
    from tui_chat.cli.app import open_library

    return ((name, "") for name in open_library(_config(context)).names(kind))


def _endpoints(context: click.Context) -> Iterator[_Named]:
    for endpoint in _config(context).endpoints:
        yield endpoint.name, endpoint.protocol.label


def _models(context: click.Context) -> Iterator[_Named]:
    """Yield the models of the endpoint that the command line names, or of all."""
    only = context.params.get("endpoint") or context.params.get("name")
    seen: set[str] = set()
    for endpoint in _config(context).endpoints:
        for model in endpoint.models if only in (None, "", endpoint.name) else ():
            if model not in seen:
                seen.add(model)
                yield model, f"at {endpoint.name}"


def _settings(_: click.Context) -> Iterator[_Named]:
    from tui_chat.models.setting_types import SETTINGS

    for name, setting in SETTINGS.items():
        yield f"{name}=", setting.accepts
        for word in setting.words:
            yield f"{name}={word}", ""


complete_session = _completing(_sessions, titles=True)
complete_role = _completing(_roles)
complete_role_or_file = _completing(_roles, files=True)
complete_preset = _completing(partial(_library, "presets"))
complete_preset_or_file = _completing(partial(_library, "presets"), files=True)
complete_lorebook = _completing(partial(_library, "lorebooks"), files=True)
complete_profile = _completing(partial(_library, "profiles"))
complete_profile_or_file = _completing(partial(_library, "profiles"), files=True)
complete_endpoint = _completing(_endpoints)
complete_model = _completing(_models)
complete_setting = _completing(_settings)
