"""The configuration file, `config.toml`, which `docs/configuration.md` describes.

1. What a key accepts is in the types of the values that they become: `Endpoint`, `ModelFacts`,
   `CommandTool`. Everything is optional, so that an entry can override a built-in endpoint.
2. The table of a plugin has its name, such as `[mcp.time]`; the plugin says what it accepts.
3. Unknown keys are errors, so that a misspelled setting is noticed. Errors name the line of a key,
   which `tomllib` does not say, and never a value, which may be a key.
4. The program changes the file too; its comments, order and layout stay.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, MutableMapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from tui_chat import hooks
from tui_chat.config.values import Config
from tui_chat.errors import ConfigError, InputError, located
from tui_chat.files import input_name, make_private_folder, parse_toml, read_toml_text, write_text
from tui_chat.hooks import PluginFailed, guard, report
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.boundary import (
    AsTable,
    Check,
    FieldsOf,
    InvalidValue,
    ValueFault,
    keys_of,
    read,
)
from tui_chat.models.common_prefix import common_prefix
from tui_chat.models.endpoint import Endpoint, Retries, Timeouts
from tui_chat.models.endpoint_checks import model_pattern
from tui_chat.models.envelope import ToolDefinition
from tui_chat.models.model_facts import ModelFacts, spellings
from tui_chat.models.prices import Prices
from tui_chat.models.tool import CommandTool
from tui_chat.protocols.registry import read_base_url

_MOST_FAULTS = 5
_REMOVED = frozenset({"provider_keeps", "cache_breakpoints"})
"""Keys of endpoints and models that earlier versions had; a file that has them is read."""

# --- the keys ----------------------------------------------------------------------------


def _title_model(given: str) -> str:
    endpoint, _, model = given.partition("/")
    if given and not (endpoint and model):
        raise ValueError("must be ENDPOINT/MODEL")
    return given


def _tool_name(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}", name):
        raise ValueError("must have a name of at most 64 letters, digits and “_.-”")
    return name


def _endpoint_name(name: str) -> str:
    if not re.fullmatch(r"\S{1,80}", name):
        raise ValueError("must have a name of at most 80 characters without white space")
    return name


@dataclass(frozen=True, slots=True)
class PluginsTable:
    """`[plugins]`."""

    enabled: tuple[str, ...] = ()
    """The installed plugins that are loaded."""


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """The whole file."""

    endpoint: str | None = None
    """The endpoint of new sessions; without it the offline provider."""
    model: str | None = None
    """The model of new sessions; without it the endpoint's first."""
    title_model: Annotated[str, Check(_title_model)] = ""
    """`ENDPOINT/MODEL`, which titles each session from 600 characters of its first two messages;
    without it their first words do."""
    editing_mode: str = ""
    """`vim` for Vim's keys in the composer."""
    theme: str | None = None
    """A color theme, such as `dark` or `light`; `/theme` lists them."""
    notify: Literal["osc9", "osc777", "bell", "off"] | None = None
    """How the end of a long reply is announced while another window has the focus."""
    daily_backups: bool = True
    """Whether the database is copied once a day."""
    keys: Mapping[str, str] = field(default_factory=dict[str, str])
    """The keys of actions: docs/keys.md."""
    endpoints: Mapping[
        Annotated[str, Check(_endpoint_name)],
        Annotated[dict[str, Any], FieldsOf(Endpoint, keys=(("settings", "parameters"),))],
    ] = field(default_factory=dict[str, dict[str, Any]])
    """Providers by name; one that is built in keeps what is not set."""
    models: Annotated[
        tuple[tuple[Annotated[str, Check(model_pattern)], ModelFacts], ...], AsTable()
    ] = ()
    """Facts about models at all endpoints."""
    tools: Mapping[
        Annotated[str, Check(_tool_name)],
        Annotated[dict[str, Any], FieldsOf(ToolDefinition, CommandTool)],
    ] = field(default_factory=dict[str, dict[str, Any]])
    """Tools that models may call, by name."""
    plugins: PluginsTable = PluginsTable()
    """Plugins of other people."""


def _known_keys() -> list[str]:
    """Return all keys, for suggestions on misspelled ones."""
    tables = (
        *(ConfigFile, Endpoint, ModelFacts, Prices, Timeouts, Retries),
        *(ToolDefinition, CommandTool, PluginsTable),
    )
    plugins = (plugin.name for plugin in hooks.plugins() if plugin.config)
    return [*(key for table in tables for key in keys_of(table)), *plugins]


# --- reading -----------------------------------------------------------------------------


def parse_config(text: str, name: str, defaults: Config) -> Config:
    """Return the defaults overridden by a text, which errors call `name`. Raises ConfigError."""
    raw = parse_toml(text, name)
    _drop_removed([raw.get("endpoints"), raw.get("models")])
    try:
        sections = _take_sections(raw)
        found: ConfigFile = read(ConfigFile, raw)
        endpoints = {endpoint.name: endpoint for endpoint in defaults.endpoints}
        for each, given in found.endpoints.items():
            endpoints[each] = _override(endpoints.get(each), each, given)
        named = found.title_model.partition("/")[0]
        if named and named not in endpoints:
            sentence = f"there is no endpoint “{named}”; available: {', '.join(endpoints)}"
            raise _invalid(sentence, "title_model")
    except InvalidValue as error:
        faults = error.faults
        sentences = "; ".join(_fault(text, fault) for fault in faults[:_MOST_FAULTS])
        more = f"; and {len(faults) - _MOST_FAULTS} more" if len(faults) > _MOST_FAULTS else ""
        # Values are not repeated, since they may be keys; therefore `from None`, too.
        raise ConfigError(f"{name}: {sentences}{more}") from None
    anywhere = tuple(
        (pattern if pattern.endswith("*") else spellings(pattern)[-1], facts)
        for pattern, facts in found.models
    )
    return replace(
        defaults,
        endpoints=tuple(replace(each, facts_anywhere=anywhere) for each in endpoints.values()),
        endpoint=found.endpoint or defaults.endpoint,
        model=found.model or defaults.model,
        title_model=found.title_model,
        editing_mode=found.editing_mode,
        daily_backups=found.daily_backups,
        theme=found.theme or defaults.theme,
        notify=found.notify or defaults.notify,
        keys=tuple(found.keys.items()),
        tools=tuple(_tool(name, given) for name, given in found.tools.items()),
        plugins=found.plugins.enabled,
        sections=sections,
    )


def read_config_file(path: Path, defaults: Config) -> Config:
    """Return the defaults overridden by the file. Raises ConfigError with file, key and fault."""
    return parse_config(read_toml_text(path), input_name(path), defaults)


def _drop_removed(value: object) -> None:
    """Remove the keys that the program no longer has from tables, and from those within them."""
    if isinstance(value, dict):
        table = cast("dict[str, object]", value)
        for key in _REMOVED & table.keys():
            del table[key]
        _drop_removed([*table.values()])
    elif isinstance(value, list):
        for each in cast("list[object]", value):
            _drop_removed(each)


def _take_sections(raw: dict[str, Any]) -> dict[str, Any]:
    """Return the tables of plugins, and remove them from the file. That of a plugin that cannot be
    imported is not read; `hooks.faults()` has the plugin. Raises InvalidValue.
    """
    others = raw.keys() - set(keys_of(ConfigFile))
    if not others:
        return {}
    with suppress(InvalidValue):  # which is raised again when the whole file is read
        hooks.enable(read(PluginsTable, raw.get("plugins", {})).enabled)
    sections: dict[str, Any] = {}
    failed = {fault.plugin for fault in hooks.faults()}
    for plugin in hooks.plugins():
        if plugin.config and plugin.name in others:
            table = raw.pop(plugin.name)
            try:
                kind = hooks.load_part(plugin, plugin.config)
            except InputError:
                continue
            try:
                with guard(plugin.name, "configuration"):
                    sections[plugin.name] = read(kind, table)
            except PluginFailed as error:
                report(error.fault)
            except InvalidValue as error:
                raise InvalidValue(
                    [replace(one, path=(plugin.name, *one.path)) for one in error.faults]
                ) from None
    for name in failed & others:
        raw.pop(name, None)
    return sections


def _tool(name: str, given: dict[str, Any]) -> CommandTool:
    description, parameters = given.pop("description", ""), given.pop("parameters", {})
    return CommandTool(ToolDefinition(name, description, parameters), **given)


def _override(built_in: Endpoint | None, name: str, changes: dict[str, Any]) -> Endpoint:
    """Return the built-in endpoint with the table's fields, or a new one. Raises InvalidValue."""
    protocol = changes.get("protocol") or (built_in.protocol if built_in else None)
    if "base_url" in changes and protocol is not None:
        try:
            place = read_base_url(changes["base_url"], protocol)
        except ValueError as error:
            raise _invalid(str(error), "endpoints", name, "base_url") from None
        changes["base_url"] = place.url
        if place.query:
            others = built_in.query if built_in else ()
            changes["query"] = (*place.query, *changes.get("query", others))
        if place.api_version:
            changes.setdefault("api_version", place.api_version)
    if built_in is not None:
        return replace(built_in, **changes)
    for key in ("protocol", "base_url"):
        if changes.get(key) is None:
            raise _invalid("is missing", "endpoints", name, key)
    return Endpoint(name=name, **changes)


# --- faults ------------------------------------------------------------------------------


def _invalid(sentence: str, *path: str) -> InvalidValue:
    return InvalidValue([ValueFault(path, "value", sentence)])


def _fault(text: str, fault: ValueFault) -> str:
    """Return a fault as a sentence with its place."""
    steps = [str(step) for step in fault.path]
    place = ".".join(step if step.isprintable() else ascii(step) for step in steps)
    sentence = fault.sentence
    is_section = any(plugin.name == steps[0] and plugin.config for plugin in hooks.plugins())
    if fault.kind == "unknown" and not is_section:  # a plugin says itself which keys it has
        keys = _known_keys()
        meant = difflib.get_close_matches(steps[-1], keys, 1)
        advice = f"; did you mean “{meant[0]}”?" if meant else ""
        sentence = "is not a setting" + (" here" if steps[-1] in keys else advice)
    where = place_of(text, steps)
    at = f" (at line {where[0]}, column {where[1]})" if where else ""
    return f"{located(place, sentence)}{at}"


_STATEMENT = re.compile(r"""\s*(?:\[+(?P<table>.+?)\]+|(?P<key>(?:"[^"]*"|'[^']*'|[^="'#])+?)=)""")
"""A line that begins a table or sets a key."""
_KEY = re.compile(r""""([^"]*)"|'([^']*)'|([\w-]+)""")
_LONG_STRING = re.compile(r"(\"{3}|'{3}).*?\1", re.DOTALL)


def place_of(text: str, path: Sequence[str]) -> tuple[int, int] | None:
    """Return the line and column of a path of keys in TOML, or of what is nearest to it in a table
    around it; None if nothing is.
    """
    text = _LONG_STRING.sub(lambda match: "\n" * match[0].count("\n"), text)
    best: tuple[int, int, int] | None = None
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.split("\n"), 1):
        if (match := _STATEMENT.match(line)) is None:
            continue
        keys = tuple(map("".join, _KEY.findall(match["table"] or match["key"])))
        table, found = (keys, keys) if match["table"] else (table, (*table, *keys))
        common = common_prefix(found, tuple(path))
        if common > (best[0] if best else 0):
            names = (re.escape(step) for step in (path[-1], path[common - 1]))
            starts = (re.search(rf"(?<![\w-])[\"']?{name}[\"']?\s*[=\].]", line) for name in names)
            column = next((start.start() for start in starts if start), line.index(line.strip()))
            best = common, number, column
    return None if best is None else (best[1], best[2] + 1)


# --- writing -----------------------------------------------------------------------------

Changes = Mapping[Sequence[str], object]
"""Values by their path of keys: `{("endpoints", "work", "key"): "env:KEY"}`; None removes one."""


def create_config_file(path: Path) -> None:
    """Create a file with everything commented out, unless there is one. Raises InputError."""
    if not path.exists():
        _write(TEMPLATE, path)


TEMPLATE = """\
# The configuration of tui-chat. Every key: docs/configuration.md
# A line that begins with "#" is a comment; remove it to use the line.

# endpoint = "openai"            # of new sessions
# model = "gpt-5-mini"
# theme = "tui-chat-light"
# notify = "osc777"              # when a long reply ends out of focus; or osc9, bell, off

# [keys]
# new = "Ctrl+N, F9"             # an action's id and its keys; "" removes them

# [endpoints.work]
# protocol = "openai_chat"       # or openai_responses, anthropic, gemini, ollama
# base_url = "https://llm.example.org/v1"
# key = "env:WORK_LLM_KEY"       # a reference, never the key; or keyring:, file:, command:
# models = ["gpt-5-mini", "gpt-5"]
"""
"""A new configuration file; every line of it is a comment."""


def change_config(path: Path, changes: Changes, defaults: Config) -> None:
    """Change values of a configuration file, which need not exist.

    Raises ConfigError and InputError, and leaves the file as it was, if it has a fault before or
    after the changes.
    """
    name = input_name(path)
    text = read_toml_text(path) if path.exists() else ""
    parse_config(text, name, defaults)  # says where a fault is
    new_text = changed_toml(text, changes)
    parse_config(new_text, name, defaults)
    _write(new_text, path)


def _write(text: str, path: Path) -> None:
    try:
        make_private_folder(path.parent)
    except OSError as error:
        raise InputError(f"{path.parent} cannot be created: {error.strerror}") from error
    write_text(text, path)


def changed_toml(text: str, changes: Changes) -> str:
    """Return a TOML text with changed values. Raises ConfigError for a value in a table's place."""
    import tomlkit  # few starts change the file

    document = tomlkit.parse(text)
    for steps, value in changes.items():
        _change(cast("MutableMapping[str, Any]", document), steps, value)
    return tomlkit.dumps(document)


def _change(table: MutableMapping[str, Any], steps: Sequence[str], value: object) -> None:
    import tomlkit

    for depth, step in enumerate(steps[:-1]):
        if step not in table:
            if value is None:
                return
            # Only the last table gets a header: [endpoints.work], not [endpoints] before it.
            table[step] = tomlkit.table(is_super_table=depth < len(steps) - 2)
        inner = table[step]
        if not isinstance(inner, MutableMapping):
            raise ConfigError(f"{'.'.join(steps[: depth + 1])} must be a table.")
        table = cast("MutableMapping[str, Any]", inner)
    if value is None:
        table.pop(steps[-1], None)
    else:
        table[steps[-1]] = value
