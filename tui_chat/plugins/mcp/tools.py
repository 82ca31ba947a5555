"""The tools of a server: their definitions, and their names for models.

1. A definition is untrusted text with an origin: it stays as it came, invisible characters too, and
   whoever shows it shows them. References in a schema are never fetched.
2. A tool is called `SERVER__TOOL` for models, with what providers accept in names. A server's name
   has no two underscores in a row, so no server can take the name of another's tool.
3. `sha256` is that of name, description and schemas: consent ends where it changes.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from hashlib import sha256
from typing import Any

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.envelope import ToolDefinition, ToolOrigin
from tui_chat.models.json_text import as_object, as_string, object_or_none, to_json
from tui_chat.models.sanitize import one_line

MAX_TOOLS = 1_000
"""Maximum number of tools of a server; the rest is not offered."""
DEFINITION_SIZE = 100_000
"""Maximum characters of a definition. A model reads all of it in each request."""
_MODEL_NAME_LENGTH = 64
_HASH_LENGTH = 8
CLAIMS = {
    "readOnlyHint": ("changes something", "only reads"),
    "destructiveHint": ("deletes nothing", "may delete or overwrite"),
    "idempotentHint": ("a repeated call has further effects", "a repeated call has no effect"),
    "openWorldHint": ("stays on the server", "reaches other systems"),
}
"""What a server may claim about the effects of a tool, in words: for false, and for true."""


@dataclass(frozen=True, slots=True)
class ServerTool:
    """A tool of a server."""

    server: str
    """The server's name in the configuration."""
    name: str
    """Its name at the server."""
    definition: ToolDefinition
    """The definition for models, with its name for them."""
    sha256: str
    """The hash of name, description and schemas, which is also in the definition's origin."""
    title: str = ""
    """Its name for people, on one line; empty if it has none."""
    claims: tuple[tuple[str, bool], ...] = ()
    """What the server says about its effects, by the keys of `CLAIMS`. It need not be true."""
    output_schema: str = ""
    """The schema of structured results as JSON; empty if it has none."""


def read_tools(
    server: str,
    entries: Sequence[Mapping[str, Any]],
    patterns: Sequence[str] = (),
    version: str = "",
) -> tuple[tuple[ServerTool, ...], tuple[str, ...]]:
    """Return the tools of a server's list, those whose names match one of `patterns` if there are
    any, and sentences about those that cannot be offered. `version` is what the server says
    that it is.
    """
    faults: list[str] = []
    valid: dict[str, Mapping[str, Any]] = {}
    for entry in entries:
        name = as_string(entry.get("name"))
        if patterns and not any(fnmatchcase(name, pattern) for pattern in patterns):
            continue
        try:
            _check(entry, name, valid)
        except ValueError as error:
            faults.append(f"The tool “{one_line(name, 80)}” is not offered: it {error}.")
            continue
        valid[name] = entry
    names = model_names(server, valid)
    tools = (_tool(server, version, names[name], entry) for name, entry in valid.items())
    return tuple(tools), tuple(faults)


def _check(entry: Mapping[str, Any], name: str, others: Mapping[str, Any]) -> None:
    if not name:
        raise ValueError("has no name")
    if name in others:
        raise ValueError("has the name of another one")
    if len(others) >= MAX_TOOLS:
        raise ValueError(f"follows {MAX_TOOLS:,} others")
    schema = object_or_none(entry.get("inputSchema"))
    if schema is None or schema.get("type", "object") != "object":
        raise ValueError("has no schema of an object")
    if len(to_json(entry)) > DEFINITION_SIZE:
        raise ValueError(f"has a definition of more than {DEFINITION_SIZE:,} characters")


def _tool(server: str, version: str, model_name: str, entry: Mapping[str, Any]) -> ServerTool:
    name, description = as_string(entry["name"]), as_string(entry.get("description"))
    schema, output = dict(as_object(entry["inputSchema"])), entry.get("outputSchema")
    hashed = json.dumps([name, description, schema, output], sort_keys=True)
    digest = sha256(hashed.encode()).hexdigest()
    origin = ToolOrigin(server, name, version, digest)
    hints = as_object(entry.get("annotations"))
    return ServerTool(
        server,
        name,
        ToolDefinition(model_name, description, schema, source=origin),
        digest,
        one_line(as_string(entry.get("title")) or as_string(hints.get("title")), 80),
        tuple((hint, value) for hint in CLAIMS if isinstance(value := hints.get(hint), bool)),
        "" if output is None else to_json(output),
    )


def model_names(server: str, names: Iterable[str]) -> dict[str, str]:
    """Return the names for models of a server's tools. A name that is not as it was at the server
    gets a hash if another tool would have it too, so that the order does not matter.
    """
    names = tuple(names)
    plain = {name: re.sub(r"[^A-Za-z0-9_-]", "_", f"{server}__{name}") for name in names}
    cut = {name: text[:_MODEL_NAME_LENGTH] for name, text in plain.items()}
    numbers = Counter(cut.values())
    return {
        name: text if numbers[text] == 1 or text == f"{server}__{name}" else _hashed(text, name)
        for name, text in cut.items()
    }


def _hashed(text: str, name: str) -> str:
    digest = sha256(name.encode()).hexdigest()[:_HASH_LENGTH]
    return f"{text[: _MODEL_NAME_LENGTH - _HASH_LENGTH - 1]}_{digest}"
