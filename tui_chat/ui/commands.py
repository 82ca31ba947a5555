"""The `/` commands: verbs that are typed.

A first line that begins with `/` and a word is a command, unless it begins with `//`: then the
message begins with one `/`. A path such as `/etc/hosts` is not a command. A setting's name works
as a command: `/temperature 0.7` is `/set temperature 0.7`.
"""

from __future__ import annotations

import re
from contextlib import suppress
from difflib import get_close_matches
from typing import TypeAlias

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.settings import SETTINGS, SettingError, setting_name
from tui_chat.ui.verbs import VERBS, Verb

COMMANDS = tuple(verb for verb in VERBS if verb.slash)
"""The verbs that have a `/` command, in the order in which they are offered."""

BY_NAME = {name: verb for verb in COMMANDS for name in verb.names}
"""The verbs by the names of their commands."""


@dataclass(frozen=True, slots=True)
class CommandCall:
    """A command with its argument."""

    command: Verb
    argument: str


@dataclass(frozen=True, slots=True)
class UnknownCommand:
    """Text in the form of a command that does not exist."""

    name: str


ParsedDraft: TypeAlias = CommandCall | UnknownCommand | str
"""A draft: a command, an unknown command, or the text to send."""

_COMMAND = re.compile(r"/([A-Za-z][A-Za-z0-9-]*)(?:\s+(.*))?\s*\Z", re.DOTALL)


def parse_command(text: str) -> ParsedDraft:
    """Parse a draft as a command, else return the text to send."""
    if text.startswith("//"):
        return text[1:]
    match = _COMMAND.match(text)
    if match is None:
        return UnknownCommand("") if text.strip() == "/" else text
    name, argument = match[1].lower(), (match[2] or "").strip()
    if (command := BY_NAME.get(name)) is not None:
        return CommandCall(command, argument)
    with suppress(SettingError):
        return CommandCall(BY_NAME["set"], f"{setting_name(name)} {argument}".strip())
    return UnknownCommand(name)


def message_text(draft: str) -> str:
    """Return the text that sending the draft would send; empty for a command."""
    parsed = parse_command(draft)
    return parsed if isinstance(parsed, str) else ""


def escape_command(message: str) -> str:
    """Return the draft that sends a message: one that looks like a command gets another `/`."""
    return message if parse_command(message) == message else f"/{message}"


def complete_command(typed: str) -> list[Verb]:
    """Return the commands one of whose names contains `typed`, the likeliest first; if there are
    none, those that are found by it in the palette.
    """
    exact = [BY_NAME[typed]] if typed in BY_NAME else []
    first = [verb for verb in COMMANDS if verb.names[0].startswith(typed)]
    second = [verb for verb in COMMANDS if any(name.startswith(typed) for name in verb.names)]
    rest = [verb for verb in COMMANDS if any(typed in name for name in verb.names)]
    if not rest and len(typed) > 1:
        words = f" {typed.replace('-', ' ').replace('_', ' ')}"
        return [verb for verb in COMMANDS if words in f" {verb.words}".replace(",", "")]
    return list(dict.fromkeys((*exact, *first, *second, *rest)))


def nearest_names(name: str) -> list[str]:
    """Return the commands and settings that a wrong name may mean, the likeliest first."""
    names = {setting.replace("_", "-"): setting.replace("_", "-") for setting in SETTINGS}
    names |= {typed: verb.names[0] for typed, verb in BY_NAME.items()}
    close = [names[each] for each in get_close_matches(name, names, n=3, cutoff=0.7)]
    return list(dict.fromkeys(close or [each.names[0] for each in complete_command(name[:3])]))[:3]
