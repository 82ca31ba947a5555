"""Tools, read and written: groups of functions, and Google's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from tui_chat.models.blocks import Extras, Json, JsonObject, extras_of, form_of
from tui_chat.models.boundary import camel_case
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import (
    HostedTool,
    HostedToolKind,
    NativeTool,
    RequestTool,
    ToolDefinition,
)
from tui_chat.models.settings import WebSearch
from tui_chat.protocols.common.reading import items_of, string
from tui_chat.protocols.common.tools import read_domains
from tui_chat.protocols.common.trees import dictionary
from tui_chat.protocols.gemini.contents import JOINED
from tui_chat.protocols.gemini.spelling import camel, spelled

_GEMINI = Protocol.GEMINI


def read_function(wire: JsonObject) -> ToolDefinition | None:
    """Return a function by its declaration; None if it has no name."""
    name, description = string(wire, "name"), string(wire, "description")
    schema = dictionary(wire.get("parametersJsonSchema"))
    own = {} if schema else dictionary(wire.get("parameters"))
    dialect = "gemini" if own else "json"
    return ToolDefinition(name, description, schema or own, dialect=dialect) if name else None


def write_function(tool: ToolDefinition) -> JsonObject:
    """Return a function's declaration, without what only its protocol knows of it."""
    written: JsonObject = {"name": tool.name}
    if tool.description:
        written["description"] = tool.description
    if tool.parameters:
        key = "parameters" if tool.dialect == "gemini" else "parametersJsonSchema"
        written[key] = tool.parameters
    return written


HOSTED: dict[str, HostedToolKind] = {
    "googleSearch": "web_search",
    "urlContext": "web_fetch",
    "codeExecution": "code_execution",
}
_DECLARED = "functionDeclarations"


def read_hosted(wire: JsonObject) -> HostedTool | None:
    """Return the meaning of one of Google's own tools; None if other protocols have none."""
    fields, _ = camel(wire)
    for key, kind in HOSTED.items():
        if isinstance(inner := fields.get(key), dict):
            sites = read_domains(dictionary(inner).get("excludeDomains"))
            return HostedTool(kind, WebSearch(blocked_domains=sites))
    return None


def write_hosted(tool: HostedTool) -> JsonObject:
    """Return the entry of `tools` for one of Google's own tools."""
    key = next(key for key, kind in HOSTED.items() if kind == tool.kind)
    sites = list(tool.search.blocked_domains)
    return {key: {"excludeDomains": sites} if sites else {}}


def read_group(wire: Json, native: Callable[[str, Json], NativeTool]) -> Iterator[RequestTool]:
    """Yield the tools of a group: its functions, then Google's own. All but the first are joined to
    the one before. `native` makes one of Google's own.
    """
    fields = dictionary(wire)
    group, words = camel(fields)
    declared = items_of(group.get(_DECLARED))
    functions = [read_function(camel(dictionary(each))[0]) for each in declared]
    is_known = bool(functions) and None not in functions
    form = ""
    for function, each in zip(functions, declared, strict=True) if is_known else ():
        read, spelling = camel(each)
        if function is not None:
            form = f"{form} {spelling} {words if not form else ''}"
            extras = extras_of(_GEMINI, read, write_function(function), " ".join(form.split()))
            yield replace(function, extras=extras)
        form = JOINED
    for key, value in fields.items():
        if not (is_known and camel_case(key) == _DECLARED):
            tool = native(camel_case(key), {key: value})
            yield replace(tool, extras=replace(tool.extras or Extras(_GEMINI), form=form))
            form = JOINED
    if not fields:
        yield native("tool", wire)


def write_groups(
    tools: Sequence[RequestTool], write: Callable[[ToolDefinition], JsonObject] = write_function
) -> list[Json]:
    """Return the tools in their groups. `write` writes a function."""
    groups: list[Json] = []
    for tool in tools:
        words = form_of(tool, _GEMINI).split()
        if JOINED not in words:
            groups.append({})
        if isinstance(tool, ToolDefinition):
            function = spelled(write(tool), words)
            key = "function_declarations" if "function_declarations" in words else _DECLARED
            held = next((k for k in groups[-1] if camel_case(k) == _DECLARED), key)
            groups[-1].setdefault(held, []).append(function)
        elif value := dictionary(tool.value):
            groups[-1] |= value
        else:
            groups[-1] = tool.value
    return groups
