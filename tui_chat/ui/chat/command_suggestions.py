"""Suggestions for `/` commands and `@` while they are typed, and the errors of commands."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from tui_chat.analysis.settings_report import report_settings
from tui_chat.config import LOOPBACK_URL
from tui_chat.errors import InputError
from tui_chat.models.settings import (
    SETTINGS,
    SettingError,
    parse_setting,
    reset_words,
    split_setting,
    typed_setting_name,
)
from tui_chat.ui.chat.completion import CompletionQuery, Suggestion
from tui_chat.ui.commands import (
    CommandCall,
    UnknownCommand,
    complete_command,
    nearest_names,
)
from tui_chat.ui.themes import sorted_theme_names

if TYPE_CHECKING:
    from tui_chat.workspace.workspace import Workspace

PATH_COMMANDS = ("attach", "import", "view")
"""Commands whose argument is the path of a file."""
MAX_SUGGESTIONS = 50


def command_error(line: CommandCall | UnknownCommand) -> InputError | None:
    """Return what is wrong with a command; None if it can be run."""
    if isinstance(line, UnknownCommand) and not line.name:
        return InputError("A command has a name.", advice="// sends / as a message.")
    if isinstance(line, UnknownCommand):
        near = [f"/{name}" for name in nearest_names(line.name)]
        meant = f"Did you mean {' or '.join(near)}?" if near else "Type / to list the commands."
        advice = f"{meant} To send the text as a message, begin with //."
        return InputError(f"There is no command /{line.name}.", advice=advice)
    command, argument = line.command, line.argument
    name = command.names[0]
    if argument and not command.argument:
        sentence = f"/{name} takes no arguments."
        return InputError(sentence, advice=f"//{name} starts a message with /{name}.")
    return _setting_error(argument) if name == "set" and argument else None


def _setting_error(argument: str) -> InputError | None:
    name, value = split_setting(argument)
    if name.casefold() in ("model", "endpoint"):
        return None  # as /model
    try:
        name = typed_setting_name(name)
        if value and value.casefold() not in reset_words(name):
            parse_setting(name, value)
    except SettingError as error:
        return InputError(f"{error}.")
    return None


def is_about_paths(query: CompletionQuery) -> bool:
    """Return True if a path is being typed: then `suggest_paths` answers."""
    return query.kind == "path" or query.command in PATH_COMMANDS


def suggest_paths(query: CompletionQuery) -> tuple[Suggestion, ...]:
    """Return the paths that begin with what is typed. Reads folders."""
    from tui_chat.paths import path_completions

    is_mention = query.kind == "path"
    mark = "@" if is_mention else ""
    is_folder = not is_mention and query.words.endswith("/")
    return tuple(
        Suggestion(mark + path, path, is_complete=False, typed_is_complete=is_folder)
        if path.endswith("/")
        else Suggestion(path, path, typed_is_complete=is_folder)
        for path in path_completions(query.words, Path.cwd(), MAX_SUGGESTIONS)
    )


def suggest(
    query: CompletionQuery, workspace: Workspace | None, themes: Iterable[str]
) -> tuple[Suggestion, ...]:
    """Return commands, or names that may follow a command, the likeliest first."""
    if query.kind == "command":
        return tuple(
            Suggestion(
                f"/{verb.names[0]}" + " " * bool(verb.argument),
                f"/{verb.names[0]} {verb.argument}".rstrip(),
                verb.title.removesuffix("…"),
            )
            for verb in complete_command(query.words)[:MAX_SUGGESTIONS]
        )
    if query.command == "set":
        return _suggest_settings(query.words, workspace)
    names = rank_names(_arguments(query.command, workspace, themes), query.words)
    return tuple(Suggestion(name, name, detail) for name, detail in names[:MAX_SUGGESTIONS])


def _suggest_settings(words: str, workspace: Workspace | None) -> tuple[Suggestion, ...]:
    """Return the names of settings, or the words that may follow a name."""
    name, separator, value = words.partition(" ")
    if separator:
        if name not in SETTINGS:
            return ()
        details = dict.fromkeys(SETTINGS[name].words, "")
        details |= dict.fromkeys(reset_words(name), "from preset, role or endpoint")
        ranked = rank_names(details.items(), value)
        return tuple(Suggestion(f"{name} {word}", word, detail) for word, detail in ranked)
    details = {setting: kind.accepts for setting, kind in SETTINGS.items()}
    live = workspace.state.request.live if workspace is not None else None
    for report in report_settings(live) if live is not None else ():
        if report.name in details:
            details[report.name] = f"{report.value} · {report.source}"
    names = rank_names(details.items(), name)
    return tuple(
        Suggestion(f"{key} ", key, detail, is_complete=False, typed_is_complete=key == name)
        for key, detail in names
    )


def _arguments(
    command: str, workspace: Workspace | None, themes: Iterable[str]
) -> list[tuple[str, str]]:
    """Return the names that may follow a command, each with a detail."""
    if command == "export":
        from tui_chat.workspace.exports import export_formats

        return [(name, form.summary) for name, form in export_formats().items()]
    if command == "theme":
        return [(name, "") for name in sorted_theme_names(themes)]
    if workspace is None:
        return []
    state, library = workspace.state, workspace.library
    match command:
        case "snippet":
            return [(name, "") for name in library.names("snippets")]
        case "preset":
            return [(name, "") for name in library.names("presets")]
        case "profile":
            return [(name, "") for name in library.names("profiles")]
        case "role":
            return [(role.name, role.model) for role in state.roles if role.status == "enabled"]
        case "lorebooks":
            names, in_use = library.names("lorebooks"), state.lorebook_names
            return [(name, "in use" if name in in_use else "") for name in names]
        case "model":
            here = state.endpoint.name
            likely = sorted(
                state.config.endpoints,
                key=lambda at: (at.name != here, at.base_url.startswith(LOOPBACK_URL)),
            )
            return [
                (f"{at.name}/{model}", at.protocol.label) for at in likely for model in at.models
            ]
        case _:
            return []


def rank_names(names: Iterable[tuple[str, str]], typed: str) -> list[tuple[str, str]]:
    """Return the names (each with a detail) that contain all typed words, the likeliest first.

    Not Textual's fuzzy matcher: an exact endpoint or model name must come first.
    """
    typed = typed.casefold().strip()
    matches = [
        named for named in names if all(word in named[0].casefold() for word in typed.split())
    ]
    return sorted(matches, key=lambda named: name_distance(named[0].casefold(), typed))


def name_distance(name: str, typed: str) -> int:
    """Return the rank of a name: -1 for a whole endpoint or full name, 0 for a whole model name,
    then beginnings of the model name, of the full name, of any word, and the rest.
    """
    own = name.rpartition("/")[2]
    endpoint, _, rest = name.partition("/")
    if typed == name or (rest and endpoint in typed.split()):
        return -1
    if typed == own:
        return 0
    begins = (own.startswith(typed), name.startswith(typed), f" {typed}" in _in_words(name))
    return 1 + (begins.index(True) if any(begins) else len(begins))


def _in_words(text: str) -> str:
    """Return a text with a blank before each word."""
    return re.sub(r"(?<![^\W_])(?=[^\W_])", " ", text)
