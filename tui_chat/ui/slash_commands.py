"""The `/` commands: one declaration each. A command runs an action; see `ui.actions`.

A first line that begins with `/` and a word is a command, unless it begins with `//`: then the
message begins with one `/`. A path such as `/etc/hosts` is not a command. A setting's name works
as a command: `/temperature 0.7` is `/set temperature 0.7`. So does the prompt of a server:
`/SERVER:PROMPT` is `/snippet SERVER:PROMPT`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from difflib import get_close_matches
from typing import TypeAlias

from tui_chat import hooks
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.setting_types import SETTINGS, SettingError, setting_name
from tui_chat.ui.actions import ACTIONS, plugin_action, searched_words


@dataclass(frozen=True, slots=True)
class Command:
    """A command typed after `/` in the composer."""

    name: str
    title: str
    """Its description."""
    argument: str = ""
    """The name of its argument: `MODEL`; empty if it takes none."""
    run: str = ""
    """The action that it runs, with the argument if there is one."""
    aliases: tuple[str, ...] = ()
    """Other names that work."""
    kind: str = "normal"
    """The kind of request that it sends; the inspector shows it while the command is typed."""


_ACTIONS = {action.id: action for action in ACTIONS}


def _of(
    action_id: str,
    argument: str = "",
    *,
    name: str = "",
    aliases: tuple[str, ...] = (),
    kind: str = "normal",
) -> Command:
    """Return the command that runs an action of the app; its name is the action's id by default."""
    action = _ACTIONS[action_id]
    title = action.title.removesuffix("…")
    return Command(name or action_id, title, argument, action.run, aliases, kind)


COMMANDS = (
    _of("model", "MODEL"),
    _of("use-preset", "NAME", name="preset"),
    Command("edit-preset", "Open the preset editor", run="presets.toggle_editor"),
    _of("role", "NAME"),
    _of("roles"),
    _of("profile", "NAME", aliases=("persona",)),
    Command(
        "set",
        "Session settings",
        "NAME VALUE",
        run="sessions.set_parameter",
        aliases=("settings", "limit", "budget", "max-tokens", "max_tokens", "context-window"),
    ),
    _of("new", aliases=("clear", "new-chat")),
    _of("go-to-session", "TITLE", name="go", aliases=("chats", "conversations", "jump")),
    _of("search", "WORDS"),
    _of("next-session", name="next", aliases=("next-chat",)),
    _of("previous-session", name="previous", aliases=("previous-chat",)),
    _of("temporary", aliases=("incognito", "private")),
    _of("keep-temporary", name="keep"),
    _of("rename", "TITLE", aliases=("title", "rename-chat")),
    _of("suggest-title", aliases=("auto-title",), kind="title"),
    _of("attach", "PATH"),
    _of("detach", "FILE"),
    _of("view-part", name="picture", aliases=("preview",)),
    _of("system", "TEXT"),
    _of("contents", aliases=("toc", "outline")),
    _of("export", "PATH"),
    _of("regenerate", aliases=("again", "retry", "redo"), kind="regenerate"),
    Command(
        "swipe",
        "Regenerate reply, with the presets' triggers for swipes",
        run="chat.regenerate('swipe')",
        kind="swipe",
    ),
    Command(
        "continue",
        "Continue the last reply",
        run="conversation.act_on_message('conversation.continue')",
        aliases=("extend", "go-on"),
        kind="continue",
    ),
    Command("copy", "Copy the last message", run="conversation.act_on_message('copy')"),
    Command(
        "copy-code",
        "Copy the last message's code; again for the next block",
        run="conversation.act_on_message('copy_code')",
    ),
    Command(
        "save",
        "Save the last message's picture or file",
        run="conversation.act_on_message('conversation.save')",
    ),
    Command("fork", "Fork session from here", "TITLE", run="conversation.fork_branch"),
    Command(
        "delete",
        "Delete the last message",
        run="conversation.act_on_message('conversation.delete')",
        aliases=("rewind",),
    ),
    Command(
        "mute",
        "Mute the last message (not sent), or unmute it",
        run="conversation.act_on_message('conversation.mute_message')",
        aliases=("hide", "exclude", "leave-out", "omit", "skip"),
    ),
    _of("mute-part", aliases=("mute-range", "mute-reasoning")),
    _of("mute-tool-results", "TURNS", aliases=("hide-tool-results",)),
    _of("unmute-all", aliases=("unmute", "unhide")),
    _of("delete-session", aliases=("delete-chat", "delete-conversation")),
    _of("pin-session", aliases=("pin-chat",)),
    _of("archive-session", name="archive", aliases=("archive-chat", "hide-chat")),
    _of("tag", "TAGS", aliases=("label",)),
    _of("folder", "NAME"),
    _of("snippet", "NAME"),
    _of("queue"),
    _of("prompts", aliases=("history",)),
    _of("paste-picture", aliases=("paste-image",)),
    _of("clear-queue"),
    _of("compact", aliases=("summarize", "summary"), kind="summary"),
    Command("stop", "Stop the reply", run="chat.back"),
    Command("find", "Find in this conversation", "WORDS", run="conversation.find"),
    _of("find", "WORDS", name="filter"),
    _of("undo"),
    _of("edit"),
    _of("theme", "NAME"),
    Command("dark", "Dark theme", run="show_dark(True)"),
    Command("light", "Light theme", run="show_dark(False)"),
    _of("configuration", name="config", aliases=("configuration",)),
    _of("api-key", "ENDPOINT", name="key", aliases=("login",)),
    _of("endpoints", "NAME", aliases=("endpoint", "provider")),
    _of("tools", "NAME", aliases=("tool",)),
    _of("title-model", "ENDPOINT/MODEL"),
    _of("session-tools", aliases=("mcp",)),
    _of("plugins"),
    _of("inspector", aliases=("request",)),
    _of("context"),
    _of("diff", aliases=("base",)),
    _of("budget"),
    _of("what-if", aliases=("dry-run",)),
    _of("edit-request", aliases=("edit-payload", "edit-body", "override", "patch", "breakpoint")),
    _of("list-edits", aliases=("edits", "overrides")),
    _of("remove-edits"),
    _of("sessions"),
    _of("usage", aliases=("cost",)),
    _of("cache"),
    Command("notifications", "Notifications", run="show_notifications", aliases=("log",)),
    *(
        Command(
            added.name,
            added.title.removesuffix("…"),
            added.argument,
            plugin_action(added.name),
            added.other_names,
            added.kind,
        )
        for _, added in hooks.parts("actions")
    ),
    _of("help", aliases=("keys", "commands")),
    _of("quit", aliases=("exit",)),
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

_COMMAND = re.compile(r"/([A-Za-z][A-Za-z0-9-]*)(?:\s+(.*))?\s*\Z", re.DOTALL)


_PROMPT = re.compile(r"/([A-Za-z][\w-]*:(?!/)\S+(?:\s.*)?)\Z", re.DOTALL)


def parse_command(text: str) -> ParsedDraft:
    """Parse a draft as a command, else return the text to send."""
    if text.startswith("//"):
        return text[1:]
    if prompt := _PROMPT.match(text):
        return CommandCall(BY_NAME["snippet"], prompt[1].strip())
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


def complete_command(typed: str) -> list[Command]:
    """Return the commands whose name or alias contains `typed`, the likeliest first; if there are
    none, those whose actions are found by it in the palette.
    """
    exact = BY_NAME.get(typed)
    first = [command for command in COMMANDS if command.name.startswith(typed)]
    second = [each for each in COMMANDS if any(name.startswith(typed) for name in each.aliases)]
    rest = [each for each in COMMANDS if any(typed in name for name in (each.name, *each.aliases))]
    suggestions = dict.fromkeys((*((exact,) if exact else ()), *first, *second, *rest))
    if not suggestions and len(typed) > 1:
        words = f" {typed.replace('-', ' ')}"
        aliases = {run: " ".join(("", *each)) for run, each in searched_words().items()}
        return [command for command in COMMANDS if words in aliases.get(command.run, "")]
    return list(suggestions)


def nearest_names(name: str) -> list[str]:
    """Return the commands and settings that a wrong name may mean, the likeliest first."""
    names = {setting.replace("_", "-"): setting.replace("_", "-") for setting in SETTINGS}
    names |= {typed: command.name for typed, command in BY_NAME.items()}
    close = [names[each] for each in get_close_matches(name, names, n=3, cutoff=0.7)]
    return list(dict.fromkeys(close or [each.name for each in complete_command(name[:3])]))[:3]


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
    begins = (own.startswith(typed), name.startswith(typed), _begins_a_word(typed, name))
    return 1 + (begins.index(True) if any(begins) else len(begins))


def _begins_a_word(typed: str, name: str) -> bool:
    index = name.find(typed)
    while index > 0 and name[index - 1].isalnum():
        index = name.find(typed, index + 1)
    return index >= 0
