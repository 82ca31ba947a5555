"""The interface for other people's plugins: the manifest, and the values that its parts get.

A plugin is a package with one value, `PLUGIN = Plugin(...)`, of names and import paths
(`"package.module:NAME"`). A path is imported when its part is first used, so that a start pays for
the names alone. Nothing else of tui-chat is promised to stay as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from importlib import import_module
from typing import Any, Literal

from tui_chat.errors import InputError as InputError
from tui_chat.lazy_dataclass import dataclass

API = 2
"""The number of the interface. It grows when a plugin that was written for the number before would
fail."""


@dataclass(frozen=True, slots=True)
class OfflineProvider:
    """A provider inside the process, which needs no key."""

    endpoints: tuple[Any, ...]
    """Its endpoints (`models.endpoint:Endpoint`), which exist without any configuration."""
    models: Mapping[str, str]
    """A sentence about each of its models."""
    transport: Callable[[], Any]
    """Returns an httpx transport that answers requests to the endpoints."""
    serve: Callable[..., Any]
    """Returns a server of the same on a loopback address, an async context manager with a
    `base_url`. It takes an `alias` for unknown models and the path of a `script`."""


Point = Literal[
    "builder",
    "card reader",
    "editing mode",
    "folder reader",
    "library kind",
    "listener",
    "lorebook reader",
    "macro",
    "Markdown rule",
    "offline provider",
    "origin",
    "preset reader",
    "request form",
    "rescue",
    "tool source",
]
"""The use of a `Part`."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command of the command line."""

    name: str
    """As it is typed; in a group of the core with the group's name, such as `presets test`."""
    path: str
    """A click command or group."""
    summary: str
    """The line that `--help` prints; the first sentence of the command's own help."""
    group: str = ""
    """The heading in `--help`: Chat, Requests, Data or Setup; empty: Other. Only of the commands
    that stand in no group."""


@dataclass(frozen=True, slots=True)
class Action:
    """An action of the app, which palette, help and `[keys]` list, and a `/` command runs."""

    name: str
    """Its name in `[keys]`, and that of the `/` command."""
    path: str
    """A coroutine function of the app (`tui_chat.ui.app.TuiChat`) and what was typed after the `/`
    command. It runs as a worker, so it may wait for dialogs.
    """
    label: str
    """A word or two, for the footer."""
    title: str
    """Its effect, for help and palette."""
    keys: str = ""
    """Keys in Textual's notation, separated by commas."""
    aliases: tuple[str, ...] = ()
    """Other words that people search for in the palette, in lower case."""
    argument: str = ""
    """The argument of the `/` command, such as "PATH"; empty if it has none."""
    other_names: tuple[str, ...] = ()
    """Other names of the `/` command."""
    kind: str = "normal"
    """The kind of request that the `/` command sends; the inspector shows it while it is typed."""
    writes: bool = False
    """True if it changes or sends something: a read-only app does not have it."""
    place: Literal["", "message", "preset"] = ""
    """Where its keys work: anywhere, on a message of the conversation, or in the preset editor."""


@dataclass(frozen=True, slots=True)
class View:
    """A view of the request in the inspector."""

    name: str
    label: str
    """The text of its switch."""
    short: str
    """The same in a narrow pane."""
    path: str
    """Its widget, a `RowsView` of the inspector."""
    needs: Literal["", "lorebooks", "recording", "opened"] = ""
    """The condition for its switch: lorebooks that the request searches, a session that another
    program's calls were recorded in, or that the view was opened.
    """
    load: str = ""
    """The import path of an async function of a `Workspace`, which returns what the view shows
    beside the request; empty for nothing.
    """
    title: str = ""
    """Its content, for help and palette, which lists it then."""
    aliases: tuple[str, ...] = ()
    """Other words that people search for in the palette, in lower case."""


@dataclass(frozen=True, slots=True)
class Format:
    """A format of conversations, which is read or, if it has an ending, written."""

    name: str
    """Its name in errors and lists, such as "Codex's rollouts"; as it is chosen for an export."""
    path: str
    """A tuple of `interop.formats.Format`, which are detected by content. For an export a function
    that yields the text of a file: of a `SessionTranscript` and the time zone of the times in it.
    """
    program: str = ""
    """The name of the program that writes it; empty for none in particular."""
    ending: str = ""
    """The ending of the names of exported files; empty for a format that is read."""
    summary: str = ""
    """The use of an export, in a list of formats."""
    unwritten: str = ""
    """The import path of a function that counts the messages of other branches in a
    `SessionTranscript` that an export leaves out, where its users would not expect that.
    """


@dataclass(frozen=True, slots=True)
class RequestKind:
    """What a request asks a model for."""

    name: str
    """As `--kind` and the triggers of presets have it."""
    title: str
    """Its name in lists of requests."""
    summary: str
    """The text that the model writes, in such a list."""
    takes_prompt: bool = False
    """True if the draft, or what follows its `/` command, is an instruction at its end."""
    writes_for_user: bool = False
    """True if the text is the user's; his name is removed from its beginning."""
    builder: str = ""
    """The context builder of its requests for presets that name none; empty for the core's."""


@dataclass(frozen=True, slots=True)
class Part:
    """Anything else that a plugin adds, by its point.

    - builder: a function like `context.builder:build_context`, which presets choose by its name;
      about: `rules` and `policies`, import paths of a function that returns the `BuilderRules` of a
      preset and of its `BuilderPolicies`; `preset_keys`, the keys of files that only it reads;
      `kinds`, its `RequestKind`s; `prepare`, the path of a function that returns `Inputs` with what
      follows from their history; `adds_texts`, true if it builds all requests with texts
      that the core does not send: cards, lore, notes and scripts
    - editing mode: a class like `ui.chat.editing_mode:EditingMode`, chosen by its name
    - listener: a coroutine function of the `Workspace` and an event, whose class is the name
    - macro: a tuple of `context.macros.expansion:Declaration`, which all presets have
    - Markdown rule: a function that adds rules to the `MarkdownIt` which parses messages; tokens
      of its own are of the type `added` within a line, and `added_block`
    - offline provider: an `OfflineProvider`, which answers in place of the core's
    - origin: a coroutine function of the app and an `Origin`, which goes to where a text of the
      plugin is kept and returns True, or returns False for another's
    - library kind: a `LibraryKind` of `cli/library`, for the command `library`
    - request form: a function of a `Composed`, whose result `build --show NAME` prints as JSON
    - rescue: a function like `plugins.maintenance.upkeep:rescue`; what it returns is printed
    - tool source: a `workspace.tool_sources:OpenSources`
    - preset, card, lorebook reader: `PresetFiles`, `CardFiles`, `LoreForm` of
      `library.foreign_files`; folder reader: an `interop.formats:FolderFormat`
    """

    point: Point
    path: str
    name: str = ""
    about: Mapping[str, Any] = field(default_factory=dict[str, Any], compare=False)
    """What must be known before it is imported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """A capability beside the core."""

    name: str
    """The name of its folder, or of its entry point."""
    summary: str
    """The capability that it adds, as a sentence."""
    api: int = 0
    """The number of the interface that it was written for. Other people's must have it."""
    config: str = ""
    """The type of its table in `config.toml`, which has the plugin's name. The value is in
    `Config.sections`."""
    commands: tuple[Command, ...] = ()
    actions: tuple[Action, ...] = ()
    views: tuple[View, ...] = ()
    formats: tuple[Format, ...] = ()
    parts: tuple[Part, ...] = ()
    tables: tuple[str, ...] = ()
    """Tables of its own in the database, which it creates when it needs them. They refer to no
    other table, so that the database is whole without the plugin."""


_VALUES = {
    "FoundConversation": "interop.formats",
    "ImportSource": "interop.formats",
    "LinesFormat": "interop.formats",
    "Message": "models.message",
    "ObjectFormat": "interop.formats",
    "TextFormat": "interop.formats",
    "ToolDefinition": "models.envelope",
    "TranscriptBuilder": "interop.transcript_builder",
}
"""The values of parts, and the modules that have them. They are imported when they are used: a
manifest must cost nothing."""


def __getattr__(name: str) -> Any:
    if name in _VALUES:
        return getattr(import_module(f"tui_chat.{_VALUES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
