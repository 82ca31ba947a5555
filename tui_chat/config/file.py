"""The configuration file, `config.toml`, which `docs/configuration.md` describes.

The table of a plugin has its name, such as `[mcp.time]`; the plugin says what it accepts. Unknown
keys are errors, so that a misspelled setting is noticed. Errors name the line of a key, which
`tomllib` does not say, and never a value, which may be a key.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from tui_chat import hooks
from tui_chat.config.schema import ConfigFile, PluginsTable, known_keys
from tui_chat.config.values import Config
from tui_chat.errors import ConfigError, InputError, located
from tui_chat.files import (
    input_name,
    make_private_folder,
    parse_toml,
    read_toml_text,
    write_text,
)
from tui_chat.hooks import PluginFailed, guard, report
from tui_chat.models.boundary import InvalidValue, ValueFault, keys_of, read
from tui_chat.models.common_prefix import common_prefix
from tui_chat.models.endpoint import Endpoint
from tui_chat.models.envelope import ToolDefinition
from tui_chat.models.model_facts import spellings
from tui_chat.models.tool import CommandTool
from tui_chat.protocols.base_url import read_base_url

_MOST_FAULTS = 5
_REMOVED = frozenset({"provider_keeps", "cache_breakpoints"})
"""Keys of endpoints and models that earlier versions had; a file that has them is read."""

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


_STATEMENT = re.compile(r"""\s*(?:\[+(?P<table>.+?)\]+|(?P<key>(?:"[^"]*"|'[^']*'|[^="'#])+?)=)""")
"""A line that begins a table or sets a key."""


def place_of(text: str, path: Sequence[str]) -> tuple[int, int] | None:
    """Return the line and column of a path of keys in TOML, or of what is nearest to it in a table
    around it; None if nothing is.
    """
    best: tuple[int, int, int] | None = None
    table: tuple[str, ...] = ()
    string = ""
    for number, line in enumerate(text.split("\n"), 1):
        is_inside, string = bool(string), _open_string(line, string)
        if is_inside or (match := _STATEMENT.match(line)) is None:
            continue
        if match["table"]:
            found = table = _keys(match["table"])
        else:
            found = (*table, *_keys(match["key"]))
        common = common_prefix(found, tuple(path))
        if common > (best[0] if best else 0):
            names = (re.escape(step) for step in (path[-1], path[common - 1]))
            keys = (re.search(rf"(?<![\w-])[\"']?{name}[\"']?\s*[=\].]", line) for name in names)
            column = next((key.start() for key in keys if key), line.index(line.strip()))
            best = common, number, column
    return None if best is None else (best[1], best[2] + 1)


def _open_string(line: str, string: str) -> str:
    """Return the quotes of the string of several lines that a line leaves open, if any; `string`
    is what the line before it left open.
    """
    for quotes in re.findall("\"{3}|'{3}", line):
        string = "" if quotes == string else string or quotes
    return string


def _keys(written: str) -> tuple[str, ...]:
    """Return the keys of a dotted key; empty if it is none."""
    path: list[str] = []
    with suppress(tomllib.TOMLDecodeError):
        value: Any = tomllib.loads(f"{written} = 0")
        while isinstance(value, dict):
            [(key, value)] = cast("dict[str, Any]", value).items()
            path.append(key)
    return tuple(path)


def create_config_file(path: Path) -> None:
    """Create a file with everything commented out, unless there is one. Raises InputError."""
    if path.exists():
        return
    try:
        make_private_folder(path.parent)
    except OSError as error:
        raise InputError(f"{path.parent} cannot be created: {error.strerror}") from error
    write_text(TEMPLATE, path)


def read_config_file(path: Path, defaults: Config) -> Config:
    """Return the defaults overridden by the file. Raises ConfigError with file, key and fault."""
    return parse_config(read_toml_text(path), input_name(path), defaults)


def parse_config(text: str, name: str, defaults: Config) -> Config:
    """Return the defaults overridden by a text, which errors call `name`. Raises ConfigError."""
    raw = parse_toml(text, name)
    _drop_removed([raw.get("endpoints"), raw.get("models")])
    try:
        sections = _take_sections(raw)
        found: ConfigFile = read(ConfigFile, raw)
    except InvalidValue as error:
        faults = error.faults
        sentences = "; ".join(_fault(text, fault) for fault in faults[:_MOST_FAULTS])
        more = f"; and {len(faults) - _MOST_FAULTS} more" if len(faults) > _MOST_FAULTS else ""
        # Values are not repeated, since they may be keys; therefore `from None`, too.
        raise ConfigError(f"{name}: {sentences}{more}") from None
    endpoints = {endpoint.name: endpoint for endpoint in defaults.endpoints}
    for each, given in found.endpoints.items():
        try:
            endpoints[each] = _override(endpoints.get(each), each, given)
        except _Refused as error:
            fault = located(f"endpoints.{each}.{error.key}", error.sentence)
            where = _where(text, ("endpoints", each, error.key))
            raise ConfigError(f"{name}: {fault}{where}") from None
    anywhere = tuple(
        (pattern if pattern.endswith("*") else spellings(pattern)[-1], facts)
        for pattern, facts in found.models
    )
    return replace(
        defaults,
        endpoints=tuple(replace(each, facts_anywhere=anywhere) for each in endpoints.values()),
        endpoint=found.endpoint or defaults.endpoint,
        model=found.model or defaults.model,
        title_model=_title_model(text, name, found.title_model, endpoints),
        editing_mode=found.editing_mode,
        daily_backups=found.daily_backups,
        theme=found.theme or defaults.theme,
        notify=found.notify or defaults.notify,
        keys=tuple(found.keys.items()),
        tools=tuple(_tool(name, given) for name, given in found.tools.items()),
        plugins=found.plugins.enabled,
        sections=sections,
    )


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


def _is_section(name: str) -> bool:
    """Return True if a table is that of a plugin, whose faults say which keys it has."""
    return any(plugin.name == name for plugin in hooks.plugins() if plugin.config)


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


def _title_model(text: str, file: str, given: str, endpoints: Mapping[str, Endpoint]) -> str:
    name = given.partition("/")[0]
    if name and name not in endpoints:
        names = ", ".join(endpoints)
        advice = f"Available: {names}."
        where = _where(text, ("title_model",))
        sentence = f"{file}: title_model: there is no endpoint “{name}”{where}"
        raise ConfigError(sentence, advice=advice)
    return given


def _tool(name: str, given: dict[str, Any]) -> CommandTool:
    description, parameters = given.pop("description", ""), given.pop("parameters", {})
    return CommandTool(ToolDefinition(name, description, parameters), **given)


def _where(text: str, steps: Sequence[str]) -> str:
    """Return line and column of a key as words to add; empty if they cannot be told."""
    place = place_of(text, steps)
    return f" (at line {place[0]}, column {place[1]})" if place else ""


def _fault(text: str, fault: ValueFault) -> str:
    """Return a fault as a sentence with its place."""
    steps = [str(step) for step in fault.path]
    place = ".".join(step if step.isprintable() else ascii(step) for step in steps)
    sentence = fault.sentence
    if fault.kind == "unknown" and not _is_section(steps[0]):
        keys = known_keys()
        meant = difflib.get_close_matches(steps[-1], keys, 1)
        advice = f"; did you mean “{meant[0]}”?" if meant else ""
        sentence = "is not a setting" + (" here" if steps[-1] in keys else advice)
    return f"{located(place, sentence)}{_where(text, steps)}"


class _Refused(Exception):
    """The value of a key of an endpoint is missing, or not of its protocol."""

    def __init__(self, key: str, sentence: str) -> None:
        self.key, self.sentence = key, sentence


def _override(built_in: Endpoint | None, name: str, changes: dict[str, Any]) -> Endpoint:
    """Return the built-in endpoint with the table's fields, or a new one. Raises _Refused."""
    protocol = changes.get("protocol") or (built_in.protocol if built_in else None)
    if "base_url" in changes and protocol is not None:
        try:
            place = read_base_url(changes["base_url"], protocol)
        except ValueError as error:
            raise _Refused("base_url", str(error)) from None
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
            raise _Refused(key, "is missing")
    return Endpoint(name=name, **changes)
