"""The `/` commands: one declaration each; what they do is in `ui.acting.commanding`.

A first line that begins with `/` and a word is a command, unless it begins with `//`: then the
message begins with one `/`. A path such as `/etc/hosts` is not a command.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Command:
    """A command typed after `/` in the composer."""

    name: str
    title: str
    """What it does."""
    argument: str = ""
    """What may follow it: `MODEL`; empty if nothing may."""
    run: str = ""
    """The app's action without an argument; empty if the argument is required."""
    aliases: tuple[str, ...] = ()
    """Other names that work."""


COMMANDS = (
    Command("model", "Switch model", "MODEL", run="choose_model"),
    Command("preset", "Choose preset", "NAME", run="choose_preset"),
    Command("edit-preset", "Open the preset editor", run="presets"),
    Command("role", "Choose role", "NAME", run="choose_role"),
    Command("roles", "Edit roles", run="edit_roles"),
    Command("profile", "Choose profile", "NAME", run="choose_profile", aliases=("persona",)),
    Command("lorebook", "Choose lorebooks", "NAME", run="choose_lorebooks"),
    Command("new", "New session", run="new", aliases=("clear",)),
    Command("rename", "Rename session", "TITLE", run="rename", aliases=("title",)),
    Command("attach", "Attach a file", "PATH", run="attach"),
    Command("detach", "Remove attachments", run="detach"),
    Command("system", "Add system message", "TEXT", run="add_system"),
    Command("branches", "Compare branches", run="branches"),
    Command("import", "Import conversations", "PATH", run="import_file"),
    Command("view", "View a file of conversations, read-only", "PATH", run="view_file"),
    Command("export", "Export conversation", "PATH", run="export"),
    Command("regenerate", "Regenerate reply", run="again", aliases=("again", "retry", "redo")),
    Command("search", "Search all conversations", "WORDS", run="search"),
    Command("find", "Filter sessions", "WORDS", run="find", aliases=("filter",)),
    Command("undo", "Undo delete or archive", run="bring_back"),
    Command("edit", "Edit the draft in $EDITOR", run="edit_outside"),
    Command("theme", "Theme", "NAME", run="choose_theme"),
    Command("inspector", "Inspector", run="panes.toggle_pane('inspector')", aliases=("request",)),
    Command("sessions", "Sessions", run="panes.toggle_pane('sessions')"),
    Command("help", "Help: keys and commands", run="keys"),
    Command("quit", "Quit (the draft is kept)", run="quit", aliases=("exit",)),
)
"""In the order in which they are offered."""

BY_NAME = {name: each for each in COMMANDS for name in (each.name, *each.aliases)}
"""Commands by name and alias."""


@dataclass(frozen=True, slots=True)
class CommandCall:
    """A command with its argument."""

    command: Command
    argument: str


@dataclass(frozen=True, slots=True)
class UnknownCommand:
    """Text in the form of a command that does not exist."""

    name: str


ParsedDraft: TypeAlias = CommandCall | UnknownCommand | str
"""A draft: a command, an unknown command, or the text to send."""

_COMMAND = re.compile(r"/([A-Za-z][A-Za-z-]*)(?:\s+(.*))?\s*\Z", re.DOTALL)


def parse_command(text: str) -> ParsedDraft:
    """Parse a draft as a command, else return the text to send."""
    if text.startswith("//"):
        return text[1:]
    match = _COMMAND.match(text)
    if match is None:
        return text
    name = match[1].lower()
    command = BY_NAME.get(name)
    return (
        UnknownCommand(name) if command is None else CommandCall(command, (match[2] or "").strip())
    )


def message_text(draft: str) -> str:
    """Return the text that sending the draft would send; empty for a command."""
    parsed = parse_command(draft)
    return parsed if isinstance(parsed, str) else ""


def escape_command(message: str) -> str:
    """Return the draft that sends a message: one that looks like a command gets another `/`."""
    return message if parse_command(message) == message else f"/{message}"


def complete_command(typed: str) -> list[Command]:
    """Return the commands whose name or alias contains `typed`, the likeliest first."""
    exact = BY_NAME.get(typed)
    first = [command for command in COMMANDS if command.name.startswith(typed)]
    second = [each for each in COMMANDS if any(name.startswith(typed) for name in each.aliases)]
    rest = [command for command in COMMANDS if typed in command.name]
    found = dict.fromkeys((*((exact,) if exact else ()), *first, *second, *rest))
    return list(found)


def rank_names(names: Iterable[tuple[str, str]], typed: str) -> list[tuple[str, str]]:
    """Return the names (each with a detail) that contain all typed words, the likeliest first.

    Not Textual's fuzzy matcher: an exact endpoint or model name must come first.
    """
    typed = typed.casefold().strip()
    found = [each for each in names if all(word in each[0].casefold() for word in typed.split())]
    return sorted(found, key=lambda each: _distance(each[0].casefold(), typed))


def _distance(name: str, typed: str) -> int:
    """Return the rank of a name: -1 for a whole endpoint or full name, 0 for a whole model name,
    then beginnings of the model name, of the full name, of any word, and the rest.
    """
    own = name.rpartition("/")[2]
    endpoint, _, rest = name.partition("/")
    if typed == name or (rest and endpoint in typed.split()):
        return -1
    if typed == own:
        return 0
    begins = (own.startswith(typed), name.startswith(typed), _begins_a_word(typed, name))
    return 1 + (begins.index(True) if any(begins) else len(begins))


def _begins_a_word(typed: str, name: str) -> bool:
    at = name.find(typed)
    while at > 0 and name[at - 1].isalnum():
        at = name.find(typed, at + 1)
    return at >= 0
