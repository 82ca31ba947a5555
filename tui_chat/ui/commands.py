"""The `/` commands: one declaration each; what they do is in `ui.acting.commanding`.

A first line that begins with `/` and a word is a command, unless it begins with `//`: then what
is sent begins with one `/`. A path such as `/etc/hosts` is no command.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Command:
    """Something that can be asked for where one types."""

    name: str
    words: str
    """What it does, as a sentence."""
    takes: str = ""
    """What may stand after it: `MODEL`."""
    run: str = ""
    """The app's action when nothing stands after it; empty where something must."""


COMMANDS = (
    Command("model", "Ask another model", "MODEL", run="choose_model"),
    Command("preset", "Choose the preset", "NAME", run="choose_preset"),
    Command("edit-preset", "Go to the preset editor", run="presets"),
    Command("role", "Choose the role", "NAME", run="choose_role"),
    Command("roles", "Write or change roles", run="edit_roles"),
    Command("profile", "Choose who you are", "NAME", run="choose_profile"),
    Command("lorebook", "Choose the lorebooks", "NAME", run="choose_lorebooks"),
    Command("new", "Begin a new session", run="new"),
    Command("rename", "Give the session another title", "TITLE", run="rename"),
    Command("attach", "Attach a file to the message", "PATH", run="attach"),
    Command("detach", "Take the files off the message", run="detach"),
    Command("system", "Add a system message to the conversation", "TEXT", run="add_system"),
    Command("branches", "Compare the session's branches", run="branches"),
    Command("import", "Take the conversations of a file in", "PATH", run="import_file"),
    Command("view", "Look at the conversations of a file", "PATH", run="view_file"),
    Command("export", "Write the conversation into a file", "PATH", run="export"),
    Command("again", "Ask again for the last reply", run="again"),
    Command("search", "Search everything that was said", "WORDS", run="search"),
    Command("find", "Find a session by its title or #tag", "WORDS", run="find"),
    Command("undo", "Bring back what was deleted or archived last", run="bring_back"),
    Command("edit", "Edit the message in $EDITOR", run="edit_outside"),
    Command("theme", "Choose the colours", "NAME", run="choose_theme"),
    Command("request", "Go to the request", run="pane('inspector')"),
    Command("sessions", "Go to the sessions", run="pane('sessions')"),
    Command("help", "Show all keys and commands", run="keys"),
    Command("quit", "Quit; the draft is kept", run="quit"),
)
"""In the order in which they are offered."""

BY_NAME = {command.name: command for command in COMMANDS}


@dataclass(frozen=True, slots=True)
class Order:
    """A command that was given."""

    command: Command
    argument: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """Something like a command that is none."""

    name: str


Line: TypeAlias = Order | Unknown | str
"""What a text is: a command, none that we know, or what is to be sent."""

_ORDER = re.compile(r"/([A-Za-z][A-Za-z-]*)(?:\s+(.*))?\s*\Z", re.DOTALL)


def understood(text: str) -> Line:
    """Tell commands from what is to be sent."""
    if text.startswith("//"):
        return text[1:]
    match = _ORDER.match(text)
    if match is None:
        return text
    name = match[1].lower()
    command = BY_NAME.get(name)
    return Unknown(name) if command is None else Order(command, (match[2] or "").strip())


def to_send(text: str) -> str:
    """Return what of a draft a message would say: nothing of a command."""
    line = understood(text)
    return line if isinstance(line, str) else ""


def as_typed(message: str) -> str:
    """Return what has to be typed to send a message: one that looks like a command gets a `/`
    in front.
    """
    return message if understood(message) == message else f"/{message}"


def beginning(typed: str) -> list[Command]:
    """Return the commands that `typed` may become, the likeliest first."""
    first = [command for command in COMMANDS if command.name.startswith(typed)]
    first.sort(key=lambda command: command.name != typed)
    rest = [command for command in COMMANDS if typed in command.name and command not in first]
    return first + rest


def fitting(names: Iterable[tuple[str, str]], typed: str) -> list[tuple[str, str]]:
    """Return those of some names, each with a word about it, that have all the words that are
    typed; the likeliest first.
    """
    typed = typed.casefold().strip()
    found = [each for each in names if all(word in each[0].casefold() for word in typed.split())]
    return sorted(found, key=lambda each: _distance(each[0].casefold(), typed))


def _distance(name: str, typed: str) -> int:
    """Return how far a name is from what was typed: an endpoint's or a model's whole name goes
    first, a model's own name counts before that of its endpoint, and the beginning of a word
    before its middle.
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
