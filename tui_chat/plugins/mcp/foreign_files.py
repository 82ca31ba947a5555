"""Servers in the files of other programs.

| key | programs |
| --- | --- |
| `mcpServers` | Claude Desktop, Claude Code (`.mcp.json`), Cursor, Gemini CLI |
| `servers`, also below `mcp` | VS Code |
| `mcp` | crush |

A key that is written in such a file is not copied: a variable takes its place, to be set.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tui_chat.errors import InputError
from tui_chat.files import MAX_BYTES, read_text
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.boundary import InvalidValue, read
from tui_chat.models.json_text import (
    as_array,
    as_object,
    as_string,
    decode_lenient,
    parse_json,
)
from tui_chat.models.sanitize import one_line
from tui_chat.plugins.mcp.settings import (
    NAME_LENGTH,
    ServerSettings,
    complete,
    server_name,
)

_MOST_SERVERS = 200
_TO_SET = "set the variable {} in your shell, before you start tui-chat."
_SECRET = re.compile(r"key|token|secret|passw|credential|authorization|cookie", re.IGNORECASE)
_OTHER_VARIABLE = re.compile(r"\$\{env:([A-Za-z_]\w*)\}|\$\{input:([\w.-]+)\}|\$([A-Za-z_]\w*)")
_UNKNOWN_VARIABLE = re.compile(
    r"\$\{(?:workspaceFolder|userHome)\b|\$\{(?![A-Za-z_]\w*(?::-[^}]*)?\})|\$\("
)
_COMMENTS = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/|,(?=\s*[}\]])', re.DOTALL)


@dataclass(frozen=True, slots=True)
class ForeignServer:
    """A server in another program's file."""

    settings: ServerSettings
    notes: tuple[str, ...] = ()
    """What is to be done before it works, and what was left out."""


def read_servers(path: Path) -> tuple[tuple[ForeignServer, ...], tuple[str, ...]]:
    """Return the servers of a file, and sentences about those that cannot be used. Raises
    InputError.
    """
    text = read_text(path, max_bytes=MAX_BYTES)
    try:
        value = decode_lenient(text)
    except ValueError:  # VS Code allows comments, and commas at the end
        plain = _COMMENTS.sub(lambda match: match[1] or "", text)
        value = parse_json(plain, str(path))
    entries = _entries(as_object(value))
    if entries is None:
        raise InputError(
            f"{path}: there are no servers in it.",
            advice="They are expected below `mcpServers`, `servers` or `mcp`.",
        )
    servers: dict[str, ForeignServer] = {}
    faults: list[str] = []
    keys: dict[str, str] = {}
    for name, entry in list(entries.items())[:_MOST_SERVERS]:
        try:
            server = _server(_own_name(name, servers), as_object(entry), keys)
            servers[server.settings.name] = server
        except ValueError as error:
            faults.append(f"“{one_line(name, 60)}” {error}.")
    return tuple(servers.values()), tuple(faults)


def _entries(value: Mapping[str, Any]) -> Mapping[str, Any] | None:
    inner = as_object(value.get("mcp"))
    for place in (value.get("mcpServers"), value.get("servers"), inner.get("servers"), inner):
        if entries := as_object(place):
            return entries
    return None


def _own_name(name: str, others: Mapping[str, object]) -> str:
    """Return a name like the other program's that is valid and free here. Raises ValueError."""
    plain = re.sub(r"_{2,}", "_", re.sub(r"[^A-Za-z0-9_-]", "-", name)).strip("-_")
    plain = plain[:NAME_LENGTH].rstrip("-_")
    if plain in others:
        raise ValueError("has the name of another one")
    return server_name(plain)


def _server(name: str, entry: Mapping[str, Any], keys: dict[str, str]) -> ForeignServer:
    notes: list[str] = []
    if entry.get("disabled") is True or entry.get("enabled") is False:
        raise ValueError("is disabled there")
    urls = (as_string(entry.get(key)) for key in ("url", "httpUrl", "serverUrl"))
    program = [_value(text, notes) for text in _words(entry.get("command"))]
    values: dict[str, Any] = {
        "command": program[0] if program else "",
        "args": [*program[1:], *(_value(text, notes) for text in _words(entry.get("args")))],
        "cwd": _value(as_string(entry.get("cwd")), notes),
        "url": _value(next(filter(None, urls), ""), notes),
        "transport": "sse" if entry.get("type") == "sse" else "",
        "env": dict(_pairs(name, entry.get("env") or entry.get("environment"), notes, keys)),
        "headers": dict(_pairs(name, entry.get("headers"), notes, keys)),
        "tools": _words(entry.get("includeTools")),
    }
    if values["command"]:
        del values["headers"]
    try:
        settings = read(ServerSettings, {key: value for key, value in values.items() if value})
    except InvalidValue as error:
        fault = error.faults[0]
        raise ValueError(f"{'.'.join(map(str, fault.path))} {fault.sentence}") from None
    return ForeignServer(replace(complete(settings), name=name), tuple(dict.fromkeys(notes)))


def _words(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [as_string(item) for item in as_array(value) if isinstance(item, str)]


def _pairs(
    server: str, value: object, notes: list[str], keys: dict[str, str]
) -> Iterator[tuple[str, str]]:
    """Yield variables or headers. `keys` has the keys found so far in the file, by variable."""
    for key, item in as_object(value).items():
        text = _value(str(item) if isinstance(item, int | float) else as_string(item), notes)
        if _SECRET.search(key) and text and "${" not in text:
            variable = _variable(key)
            if variable in ("AUTHORIZATION", "COOKIE"):
                variable = f"{_variable(server)}_TOKEN"
            if keys.setdefault(variable, text) != text:  # it is another server's
                variable = f"{_variable(server)}_{variable}"
            scheme, space, _ = text.rpartition(" ")
            text = f"{scheme}{space}${{{variable}}}"
            notes.append(f"Its {key} was not copied: {_TO_SET.format(variable)}")
        yield key, text


def _variable(name: str) -> str:
    return re.sub(r"\W", "_", name).upper()


def _value(text: str, notes: list[str]) -> str:
    """Return a text with variables as ours. Raises ValueError for what has no equal here."""

    def own(match: re.Match[str]) -> str:
        variable = match[1] or match[3] or _variable(match[2])
        if match[2]:
            notes.append(f"It asks for “{match[2]}”: {_TO_SET.format(variable)}")
        return f"${{{variable}}}"

    text = _OTHER_VARIABLE.sub(own, text)
    if _UNKNOWN_VARIABLE.search(text):
        raise ValueError("uses a variable or a command that is not known here")
    return text
