"""Plugins: what a plugin declares, which plugins there are, and how their parts are imported.

A plugin is a package with one value, `PLUGIN = Plugin(...)`, of names and import paths
(`"package.module:attribute"`). A path is imported when its part is first used, so that a start
pays for the names alone. Each field of `Plugin` is an extension point: the core reads the field of
all plugins through `plugins()` and resolves its paths with `load`.

Built-in plugins are the packages in `tui_chat.plugins`. There is no list of them to keep: a deleted
folder is a plugin less. Other people's plugins are found by the entry point group
`tui_chat.plugins`, and only those are imported that the configuration names in `[plugins] enabled`.
A plugin of theirs that cannot be imported becomes a fault in `faults()`; the program goes on.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from time import perf_counter
from typing import Any, ClassVar, Literal, cast

from tui_chat.errors import InputError
from tui_chat.hooks import (
    PluginFailed,
    PluginFault,
    add_fault,
    error_sentence,
    failed,
    forget_faults,
    guarded,
    report,
)
from tui_chat.hooks import faults as faults
from tui_chat.lazy_dataclass import dataclass

ENTRY_POINTS = "tui_chat.plugins"
"""The entry point group of other people's plugins."""
API = 1
"""The number of the interface: the fields of `Plugin`, and what their docstrings say of the parts.
It grows when a plugin that was written for the number before would fail."""

BUILT_IN: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "sillytavern": {
        "builders": ("sillytavern",),
        "kinds": ("impersonate", "quiet"),
        "actions": ("impersonate", "quiet"),
        "commands": ("sillytavern",),
        "formats": ("SillyTavern's chats",),
        "exports": ("sillytavern",),
        "preset_files": ("prompts",),
        "card_files": ("character cards",),
        "lore_forms": ("uid", "keysecondary", "selectiveLogic"),
    },
    "configuration": {"actions": ("endpoints", "tools", "title-model")},
    "doctor": {"commands": ("doctor", "endpoints test")},
    "formulas": {"markdown": ("LaTeX",)},
    "html": {"exports": ("html",)},
    "library_commands": {"commands": ("lorebooks", "profiles", "roles")},
    "maintenance": {"commands": ("db",), "rescues": ("damaged databases",)},
    "mcp": {"commands": ("mcp",), "config": ("mcp",), "tool_sources": ("servers",)},
    "prices": {"commands": ("prices",)},
    "probabilities": {"actions": ("probabilities", "tokens")},
    "prompt_lab": {
        "commands": ("eval", "presets states", "presets test"),
        "actions": ("preset-states", "try-cases", "case", "case-with-history", "preset-state"),
        "views": ("cases",),
        "tables": (
            *("lab_version", "lab_values", "lab_runs", "lab_cells", "lab_preferences"),
            "lab_preset_states",
        ),
    },
    "redact": {"commands": ("redact",), "actions": ("redact",)},
    "search": {"commands": ("search",), "actions": ("search",)},
    "side_by_side": {"actions": ("compare",)},
    "tap": {
        "commands": ("tap",),
        "formats": ("HAR files with calls of a provider",),
        "recordings": ("HAR files",),
        "views": ("calls",),
        "actions": ("held",),
        "tables": ("tap_held",),
    },
    "transcripts": {
        "commands": ("view",),
        "actions": ("view",),
        "formats": (
            "ChatGPT's conversations.json",
            "Claude's conversations.json",
            "Claude Code's sessions",
            "Codex's rollouts",
            "Gemini CLI's sessions",
            "Open WebUI's exports",
            "LibreChat's exports",
            "the database of llm",
            "gptme's logs",
            "opencode's database and exports",
            "pi's sessions",
            "Google Takeout's activity",
            "aichat's sessions",
        ),
    },
    "tree": {"actions": ("branches", "tree")},
    "vim": {"actions": ("vim",), "editing_modes": ("vim",)},
    "web": {"commands": ("serve",)},
}
"""The names that each built-in plugin adds, by extension point, for the error where the plugin is
missing. Of files these are keys by which another program's are recognized.
"""
FIRST_BUILDER = "sillytavern"
"""The context builder of presets with policies that name none: files are older than other builders.
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
class BuilderPath:
    """A context builder that presets choose by its name."""

    name: str
    path: str
    """The import path of a function like `tui_chat.context.builder:build_context`."""
    rules: str = ""
    """The import path of a function that returns the `context.rules.BuilderRules` of a preset."""
    policies: str = ""
    """The import path of its `library.policies.BuilderPolicies`."""
    preset_keys: tuple[str, ...] = ()
    """The keys of preset files that only it reads."""
    adds_texts: bool = False
    """True if it builds requests with character cards, lorebooks, author's notes, injected texts
    and scripts also for presets that name no builder."""


@dataclass(frozen=True, slots=True)
class CommandPath:
    """A command of the command line that is imported when it runs."""

    name: str
    """As it is typed; in a group of the core with the group's name, such as `presets test`."""
    path: str
    """The import path of a click command or group."""
    summary: str
    """The line that `--help` prints; the first sentence of the command's own help."""
    group: str = ""
    """The heading in `--help`: Chat, Requests, Data or Setup; empty: Other. Only of the commands
    that stand in no group."""


@dataclass(frozen=True, slots=True)
class FormatPath:
    """A format of conversations, which is detected by content."""

    name: str
    """Its name in errors and lists, such as "Codex's rollouts"."""
    path: str
    """The import path of a tuple of `tui_chat.interop.formats.Format`."""
    program: str = ""
    """The name of the program that writes it; empty for none in particular."""


@dataclass(frozen=True, slots=True)
class ExportPath:
    """A format that a conversation is exported in."""

    name: str
    """As it is chosen, such as "markdown"."""
    path: str
    """The import path of a function that yields the text of a file: of a `SessionTranscript` and
    the time zone of the times in it.
    """
    ending: str
    """The ending of its files' names."""
    summary: str
    """Its use, in a list of formats."""
    unwritten: str = ""
    """The import path of a function that counts the messages of other branches in a
    `SessionTranscript` that are left out, for a format whose users would not expect that.
    """


@dataclass(frozen=True, slots=True)
class ViewPath:
    """A view of the request in the inspector."""

    name: str
    key: str
    """The key that shows it, a letter of its label if possible."""
    label: str
    """The text of its tab."""
    short: str
    """The same in a narrow pane."""
    path: str
    """The import path of its widget, a `RowsView` of the inspector."""
    needs: Literal["", "lorebooks", "recording", "opened"] = ""
    """The condition for its tab: lorebooks that the request searches, a session that another
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
class RecordingPath:
    """A kind of file with several recorded calls, of which `inspect` opens one."""

    name: str
    """Its name in errors, such as "HAR files"."""
    detect: str
    """The import path of `(text: str) -> bool`, which detects a file by its content."""
    choose: str
    """The import path of `(text: str, number: int | None, *, as_json: bool) -> str | None`: returns
    the request of a call, or prints what is asked for and returns None.
    """


@dataclass(frozen=True, slots=True)
class ActionPath:
    """An action of the app, which palette, help and `[keys]` list, and a `/` command runs."""

    name: str
    """Its name in `[keys]`, and that of the `/` command."""
    path: str
    """The import path of a coroutine function of the app (`tui_chat.ui.app.TuiChat`) and what was
    typed after the `/` command. It runs as a worker, so it may wait for dialogs.
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
class ListenerPath:
    """What a plugin does after an event of the workspace."""

    event: str
    """The name of a class in `tui_chat.workspace.events`."""
    path: str
    """The import path of a coroutine function of the `Workspace` and the event."""


@dataclass(frozen=True, slots=True)
class EditingModePath:
    """A way of editing text in the composer, which the configuration chooses by its name."""

    name: str
    path: str
    """The import path of a class like `tui_chat.ui.areas.chat.editing_mode.EditingMode`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """A capability beside the core. Paths are import paths such as `"package.module:NAME"`."""

    name: str
    """The name of its folder, or of its entry point."""
    summary: str
    """The capability that it adds, as a sentence."""
    api: int = 0
    """The number of the interface that it was written for; see `API`. Other people's must have it.
    """
    config: str = ""
    """The import path of the type of its table in `config.toml`, which has the plugin's name. The
    value is in `Config.sections`."""
    commands: tuple[CommandPath, ...] = ()
    builders: tuple[BuilderPath, ...] = ()
    kinds: tuple[RequestKind, ...] = ()
    """Kinds of generation whose texts are no messages of the conversation."""
    formats: tuple[FormatPath, ...] = ()
    exports: tuple[ExportPath, ...] = ()
    recordings: tuple[RecordingPath, ...] = ()
    views: tuple[ViewPath, ...] = ()
    preset_files: tuple[str, ...] = ()
    """Each a `library.foreign_files.PresetFiles`: presets as another program writes them."""
    card_files: tuple[str, ...] = ()
    """Each a `library.foreign_files.CardFiles`: roles as character cards."""
    lore_forms: tuple[str, ...] = ()
    """Each a `library.foreign_files.LoreForm`: lorebooks as another program writes them."""
    import_folders: tuple[str, ...] = ()
    """Each a `workspace.library_import.FolderFormat`: a folder of another program's user."""
    macros: tuple[str, ...] = ()
    """Each a tuple of `context.macros.expansion.Declaration`, which all presets have."""
    actions: tuple[ActionPath, ...] = ()
    listeners: tuple[ListenerPath, ...] = ()
    editing_modes: tuple[EditingModePath, ...] = ()
    markdown: tuple[str, ...] = ()
    """Each a function that adds rules to the `MarkdownIt` which parses messages. Tokens of its own
    are of the type `added` within a line, and `added_block`; their content is what is drawn.
    """
    tool_sources: tuple[str, ...] = ()
    """Each a `workspace.tool_sources.OpenSources`: the sources of tools that it has configured."""
    rescues: tuple[str, ...] = ()
    """Each a function like `tui_chat.plugins.maintenance.salvage.rescue`: it puts what can be read
    of a damaged database in its place; what it returns is printed.
    """
    tables: tuple[str, ...] = ()
    """Tables of its own in the database, which it creates when it needs them. They refer to no
    other table, so that the database is whole without the plugin."""


_NOUNS = {
    "commands": "command",
    "builders": "builder",
    "formats": "format",
    "exports": "export",
    "recordings": "reader of recordings",
    "views": "view",
    "preset_files": "reader of presets",
    "card_files": "reader of cards",
    "lore_forms": "reader of lorebooks",
    "import_folders": "reader of folders",
    "macros": "macro",
    "actions": "action",
    "listeners": "listener to",
    "editing_modes": "editing mode",
    "markdown": "Markdown rule",
    "tool_sources": "tool source",
    "rescues": "rescue",
}
"""What a part of each extension point with import paths is called in a sentence."""
_POINT_TYPES: dict[str, type] = {
    "commands": CommandPath,
    "builders": BuilderPath,
    "kinds": RequestKind,
    "formats": FormatPath,
    "exports": ExportPath,
    "recordings": RecordingPath,
    "views": ViewPath,
    "actions": ActionPath,
    "listeners": ListenerPath,
    "editing_modes": EditingModePath,
}
"""The types of the parts; the others are import paths."""
NAMED_POINTS = ("commands", "exports", "views", "actions", "editing_modes", "builders")
"""The extension points at which a name can be taken."""


class _Enabled:
    """The plugins of other people that the configuration enables."""

    names: tuple[str, ...] = ()
    plugins: tuple[Plugin, ...] = ()
    seconds: ClassVar[dict[str, float]] = {}


@cache
def built_in_plugins() -> tuple[Plugin, ...]:
    """Return the plugins in `tui_chat.plugins`, by name."""
    folder = import_module("tui_chat.plugins")
    names = sorted(module.name for module in iter_modules(folder.__path__) if module.ispkg)
    return tuple(import_module(f"{folder.__name__}.{name}").PLUGIN for name in names)


def enable(names: Iterable[str]) -> None:
    """Import the manifests of the installed plugins with these names, in place of those enabled
    before. What fails is in `faults()` then. Raises InputError if the user interrupts an import.
    """
    names = tuple(dict.fromkeys(names))
    if names == _Enabled.names:
        return
    forget_faults()
    plugins: list[Plugin] = []
    for name in names:
        begun = perf_counter()
        try:
            plugins.append(_installed(name))
            _Enabled.seconds[name] = perf_counter() - begun
        except (Exception, SystemExit) as error:  # other people's code may raise anything
            add_fault(_import_fault(name, error))
        except KeyboardInterrupt:
            raise interrupted(name) from None
    _Enabled.names, _Enabled.plugins = names, tuple(plugins)


def _installed(name: str) -> Plugin:
    from importlib.metadata import entry_points  # takes 10 ms

    if any(plugin.name == name for plugin in built_in_plugins()):
        raise InputError("a built-in plugin has this name.")
    entry = next(iter(entry_points(group=ENTRY_POINTS, name=name)), None)
    if entry is None:
        raise InputError("no installed package brings it.")
    plugin = entry.load()
    if not isinstance(plugin, Plugin):
        raise InputError(f"{entry.value} is no Plugin.")
    if fault := _manifest_fault(plugin):
        raise InputError(f"{entry.value}: {fault}")
    if plugin.api != API:
        made_for = f"was made for api {plugin.api}" if plugin.api else "does not say its `api`"
        raise InputError(f"{entry.value} {made_for}; this version of tui-chat has api {API}.")
    return plugin


def _manifest_fault(plugin: Plugin) -> str:
    """Return what is wrong with the types in a manifest; empty for nothing."""
    for field in fields(plugin):
        value = getattr(plugin, field.name)
        if not isinstance(value, type(field.default) if field.default is not MISSING else str):
            wanted = (
                "a tuple" if field.default == () else f"of the type {type(field.default).__name__}"
            )
            return f"`{field.name}` is not {wanted}; it is {type(value).__name__}."
        expected = _POINT_TYPES.get(field.name, str)
        for part in cast("tuple[Any, ...]", value) if isinstance(value, tuple) else ():
            if not isinstance(part, expected):
                return f"`{field.name}` has a {type(part).__name__}, not a {expected.__name__}."
            texts = fields(part) if is_dataclass(part) else ()
            for text in texts:
                if text.type == "str" and not isinstance(getattr(part, text.name), str):
                    return f"`{text.name}` of a {expected.__name__} is not a text."
    return ""


def interrupted(name: str) -> InputError:
    """Return the error for an import that the user has interrupted: it may have hung."""
    return InputError(
        f"The import of the plugin “{name}” was interrupted.",
        advice="If it hangs, remove its name from `[plugins] enabled` in config.toml.",
    )


def _import_fault(name: str, error: BaseException, path: str = "") -> PluginFault:
    from traceback import format_exception  # takes 5 ms

    sentence = f"{path}: {error_sentence(error)}" if path else error_sentence(error)
    trace = "" if isinstance(error, InputError) else "".join(format_exception(error))
    return PluginFault(name, sentence, trace=trace)


def plugins() -> tuple[Plugin, ...]:
    """Return all plugins: the built-in ones by name, then the enabled ones as configured."""
    return built_in_plugins() + _Enabled.plugins


def import_seconds(name: str) -> float | None:
    """Return the seconds that the import of an enabled plugin's manifest took."""
    return _Enabled.seconds.get(name)


def parts(point: str, taken: Container[str] = ()) -> Iterator[tuple[Plugin, Any]]:
    """Yield the named parts that plugins add at an extension point, with their plugins. A part
    whose name the core has (`taken`), or a plugin before, is left out and becomes a fault.
    """
    owners: dict[str, str] = {}
    for plugin in plugins():
        for part in getattr(plugin, point):
            owner = "tui-chat" if part.name in taken else owners.get(part.name, "")
            if owner:
                what = (
                    f"the {_NOUNS[point]} “{part.name}” is left out: {owner} has one of this name."
                )
                add_fault(PluginFault(plugin.name, what))
            else:
                owners[part.name] = f"the plugin “{plugin.name}”"
                yield plugin, part


def load(path: str) -> Any:
    """Return what an import path names. Raises what the import raises, and AttributeError."""
    module, _, attribute = path.partition(":")
    return getattr(import_module(module), attribute)


def load_part(plugin: Plugin, path: str) -> Any:
    """Return a part of a plugin, whose functions are guarded (`hooks.guarded`). Raises InputError
    if it cannot be imported.
    """
    try:
        value = load(path)
    except (Exception, SystemExit) as error:
        if isinstance(error, InputError) and plugin in built_in_plugins():
            raise  # an optional package is missing
        fault = _import_fault(plugin.name, error, path)
        add_fault(fault)
        raise PluginFailed(fault) from error
    known = _guarded.get((plugin.name, path))
    if known is None or known[0] is not value:
        known = _guarded[plugin.name, path] = (
            value,
            guarded(plugin.name, part_of(plugin, path), value),
        )
    return known[1]


_guarded: dict[tuple[str, str], tuple[Any, Any]] = {}
"""The values of parts, and these guarded, by plugin and path."""


def part_of(plugin: Plugin, path: str) -> str:
    """Return what a path of a manifest is, such as `view words`."""
    for point, noun in _NOUNS.items():
        for part in getattr(plugin, point):
            if part == path:
                return noun
            if is_dataclass(part) and path in (getattr(part, each.name) for each in fields(part)):
                return f"{noun} {getattr(part, 'name', '') or getattr(part, 'event', '')}"
    return "configuration" if path == plugin.config else path


def plugin_in(error: BaseException) -> Plugin | None:
    """Return the plugin whose code an exception came through last, if it did."""
    from traceback import walk_tb

    modules = [frame.f_globals.get("__name__", "") for frame, _ in walk_tb(error.__traceback__)]
    for module in reversed(modules):
        for plugin in plugins():
            if any(module == each or module.startswith(f"{each}.") for each in _packages(plugin)):
                return plugin
    return None


def _packages(plugin: Plugin) -> Iterator[str]:
    """Yield the packages of a plugin's parts."""
    if plugin in built_in_plugins():
        yield f"tui_chat.plugins.{plugin.name}"
        return
    paths = (
        getattr(part, each.name)
        for point in _NOUNS
        for part in getattr(plugin, point)
        if is_dataclass(part)
        for each in fields(part)
    )
    for path in {*paths, *(path for point in _NOUNS for path in getattr(plugin, point))}:
        if isinstance(path, str) and path.count(":") == 1:
            yield path.partition(":")[0]


def load_named(point: str, name: str, attribute: str = "path") -> Any:
    """Return a plugin's part of this name at an extension point, or None; `attribute` has its path
    in the manifest. Raises InputError.
    """
    for plugin, part in parts(point):
        if part.name == name:
            return load_part(plugin, getattr(part, attribute))
    return None


def plugin_of(point: str, name: str) -> str:
    """Return the name of the plugin that adds a part of this name; empty for none."""
    return next((plugin.name for plugin, part in parts(point) if part.name == name), "")


def load_all(point: str, kind: type = object) -> Iterator[Any]:
    """Yield what all plugins add at an extension point whose values are import paths. A part that
    cannot be imported, or is not of a type, is left out and reported.
    """
    return (part for _, part in loaded_parts(point, kind))


def loaded_parts(point: str, kind: type = object) -> Iterator[tuple[Plugin, Any]]:
    """Yield the same as `load_all`, with the plugins."""
    for plugin in plugins():
        for path in getattr(plugin, point):
            try:
                part = load_part(plugin, path)
                if not isinstance(part, kind):
                    wrong = TypeError(f"{path} is no {kind.__name__}")
                    raise failed(plugin.name, part_of(plugin, path), wrong)
            except PluginFailed as error:
                report(error.fault)
            except InputError:  # an optional package is missing
                continue
            else:
                yield plugin, part


def missing_plugins(point: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the missing built-in plugins with what they would add at an extension point."""
    here = {plugin.name for plugin in built_in_plugins()}
    for plugin, added in BUILT_IN.items():
        if plugin not in here and point in added:
            yield plugin, added[point]


def plugin_tables() -> tuple[str, ...]:
    """Return the tables that a database may have besides those of its version."""
    missing = (names for _, names in missing_plugins("tables"))
    here = (plugin.tables for plugin in plugins())
    return tuple(name for names in (*here, *missing) for name in names)


def preset_keys() -> tuple[str, ...]:
    """Return the keys of preset files that only the builders of plugins read."""
    builders = (builder for plugin in plugins() for builder in plugin.builders)
    return tuple(key for builder in builders for key in builder.preset_keys)


def missing_plugin(point: str, name: str) -> str:
    """Return the missing built-in plugin that adds a name at an extension point, if any."""
    return next((plugin for plugin, names in missing_plugins(point) if name in names), "")
