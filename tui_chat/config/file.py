"""The configuration file, `config.toml`.

    endpoint = "work"            # what new sessions use
    model = "gpt-5-mini"
    title_model = "openai/gpt-5-nano"   # asked for a title after each first reply; none by default
    theme = "tui-chat-light"
    notify = "osc777"            # announces long replies while unfocused: or osc9, bell, off

    [keys]
    new = "Ctrl+N, F9"           # an action's id, and its keys; "" for none

    [endpoints.anthropic]        # overrides keys of the built-in endpoint
    key = "keyring:tui-chat/anthropic"

    [endpoints.work]
    protocol = "openai_chat"     # or openai_responses, anthropic, gemini, ollama
    base_url = "https://llm.example.org/v1"
    key = "env:WORK_LLM_KEY"     # or "file:~/keys/work", "command:op read op://team/llm/key";
                                 # never the key itself
    auth = "header:X-Work-Key"   # or bearer, x-api-key, x-goog-api-key, none
    api_version = ""             # anthropic-version, or the version in Gemini's path
    models = ["gpt-5-mini", "gpt-5"]
    headers = { "X-Team" = "search" }
    query = { "api-version" = "2026-10-01" }
    proxy = "http://proxy.example.org:3128"   # or "env:NAME", or "none"
    max_tokens_key = "max_tokens"
    timeouts = { connect = 5, silence = 120 }          # seconds
    retries = { times = 4, first_wait = 1, longest_wait = 30 }

    [endpoints.work.parameters]       # settings where session, preset and role have none
    temperature = 0.7                 # docs/configuration.md has all of them
    effort = "high"
    web_search = true

    [endpoints.work.facts."gpt-5*"]   # one model, or all with this prefix; docs/configuration.md
    context_limit = 400000
    sampling = false
    prices = { input = 1.25, output = 10 }    # US dollars per million tokens

    [models."claude-opus-4-9"]   # the same for all endpoints, in any spelling of the name
    efforts = ["none", "low", "medium", "high"]
    input_media = ["text", "image", "pdf"]     # also audio, video

    [tools.weather]              # a tool that models may call
    description = "The weather in a city."
    parameters = '''{"type": "object", "properties": {"city": {"type": "string"}}}'''
    command = ["weather-now", "--json"]       # gets the arguments as JSON; none: you answer
    consent = "ask"              # or "always"
    offered = true               # to the models of new sessions
    timeout = 60                 # seconds
    most_output = 100000         # bytes; more is cut off

    [plugins]
    enabled = ["word_count"]     # installed plugins of other people; `tui-chat plugins` lists them

The table of a plugin has its name, such as `[mcp.time]`; the plugin says what it accepts.
Unknown keys are errors, so that a misspelled setting is noticed. Errors name the line of a key,
which `tomllib` does not say.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
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
from tui_chat.models.endpoint import Endpoint
from tui_chat.models.envelope import ToolDefinition
from tui_chat.models.model_facts import spellings
from tui_chat.models.tool import CommandTool
from tui_chat.protocols.base_url import read_base_url

_MOST_FAULTS = 5

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


def place_of(text: str, path: Sequence[str]) -> tuple[int, int] | None:
    """Return the line and column of a path of keys, or of its nearest table; None if unknown."""
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return None
    statements = [*_statements(text)]
    for length in range(len(path), 0, -1):
        wanted = tuple(path[:length])
        if _has(data, wanted) and (place := _place_in(text, statements, wanted)):
            return place
    return None


_TOKEN = re.compile(
    r'"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"{3,5}|' + r"'''(?:(?!''').)*'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"|' + r"'[^'\n]*'" + r"|#[^\n]*|[\[\]{}=\n]|[^\"'#\[\]{}=\n]+",
    re.DOTALL,
)
"""A string, a comment, a sign of structure, or what is between them."""


def _statements(text: str) -> Iterator[tuple[tuple[str, ...], int, int]]:
    """Yield for each table and key of a TOML file its path, and where its text begins and ends."""
    table: tuple[str, ...] = ()
    counts: dict[tuple[str, ...], int] = {}
    begin = end = depth = 0
    equals = -1
    for token in _TOKEN.finditer(text + "\n"):
        match token[0]:
            case "[" | "{":
                depth += 1
            case "]" | "}":
                depth -= 1
            case "=" if depth == 0 and equals < 0:
                equals = token.start()
            case "\n" if depth <= 0:
                written = text[begin:end].strip()
                if equals >= 0:
                    yield (*table, *_keys(text[begin:equals])), begin, end
                elif written.startswith("["):
                    names = _keys(written.strip("[]"))
                    table = _in_arrays(names, counts, is_new=written.startswith("[["))
                    yield table, begin, end
                begin, equals, depth = token.end(), -1, 0
            case _:
                pass
        if not token[0].startswith("#"):
            end = token.end()


def _keys(written: str) -> tuple[str, ...]:
    """Return the keys of a dotted key; empty if it is none."""
    path: list[str] = []
    with suppress(tomllib.TOMLDecodeError):
        value: Any = tomllib.loads(f"{written} = 0")
        while isinstance(value, dict):
            [(key, value)] = cast("dict[str, Any]", value).items()
            path.append(key)
    return tuple(path)


def _in_arrays(
    names: tuple[str, ...], counts: dict[tuple[str, ...], int], *, is_new: bool
) -> tuple[str, ...]:
    """Return the path of a header: in an array of tables with the number of its last element."""
    path: tuple[str, ...] = ()
    for number, name in enumerate(names, 1):
        path = (*path, name)
        if is_new and number == len(names):
            counts[path] = counts.get(path, -1) + 1
        if path in counts:
            path = (*path, str(counts[path]))
    return path


def _has(value: Any, path: Sequence[str]) -> bool:
    for key in path:
        if isinstance(value, dict) and key in value:
            value = cast("dict[str, Any]", value)[key]
        elif (
            isinstance(value, list) and key.isdecimal() and int(key) < len(cast("list[Any]", value))
        ):
            value = cast("list[Any]", value)[int(key)]
        else:
            return False
    return True


def _place_in(
    text: str, statements: Sequence[tuple[tuple[str, ...], int, int]], path: tuple[str, ...]
) -> tuple[int, int] | None:
    """Return where a path is first set: by a statement of its own, below it, or around it."""
    at = next((each for each in statements if each[0][: len(path)] == path), None)
    around = [each for each in statements if path[: len(each[0])] == each[0]]
    at = at or max(around, key=lambda each: len(each[0]), default=None)
    if at is None:
        return None
    _, begin, end = at
    written = re.compile(rf"(?<![\w-])[\"']?{re.escape(path[-1])}[\"']?\s*[=\].]")
    match = written.search(text, begin, end)
    place = match.start() if match else begin
    line = text.rfind("\n", 0, place) + 1
    return text.count("\n", 0, place) + 1, place - line + 1


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
        except _Incomplete as error:
            where = _where(text, ("endpoints", each))
            raise ConfigError(f"{name}: endpoints.{each}.{error} is missing{where}") from None
        except ValueError as error:
            where = _where(text, ("endpoints", each, "base_url"))
            raise ConfigError(
                f"{name}: {located(f'endpoints.{each}.base_url', str(error))}{where}"
            ) from None
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


class _Incomplete(Exception):
    """A new endpoint lacks a required key, which is the message."""


def _override(built_in: Endpoint | None, name: str, changes: dict[str, Any]) -> Endpoint:
    """Return the built-in endpoint with the table's fields, or a new one.

    Raises _Incomplete, and ValueError for a base URL of another protocol.
    """
    protocol = changes.get("protocol") or (built_in.protocol if built_in else None)
    if "base_url" in changes and protocol is not None:
        place = read_base_url(changes["base_url"], protocol)
        changes["base_url"] = place.url
        if place.query:
            changes["query"] = (
                *place.query,
                *changes.get("query", built_in.query if built_in else ()),
            )
        if place.api_version:
            changes.setdefault("api_version", place.api_version)
    if built_in is not None:
        return replace(built_in, **changes)
    for key in ("protocol", "base_url"):
        if changes.get(key) is None:
            raise _Incomplete(key)
    return Endpoint(name=name, **changes)
