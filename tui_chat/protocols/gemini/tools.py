"""Tools, read and written: groups of functions, and Google's own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tui_chat.models.blocks import Json, JsonObject, extras_of, form_of, patched
from tui_chat.models.boundary import camel_case
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import ToolDefinition
from tui_chat.models.semantics import HostedTool, HostedToolKind
from tui_chat.protocols.common.reading import NativeDefinition, WireTool, items_of, string
from tui_chat.protocols.common.trees import dictionary, plain
from tui_chat.protocols.gemini.contents import JOINED
from tui_chat.protocols.gemini.spelling import Places, camel, spelled


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


_GEMINI = Protocol.GEMINI
_DECLARED = "functionDeclarations"
_PLACES: Places = {"group": {}, "function": {}}
HOSTED: dict[str, HostedToolKind] = {
    "googleSearch": "web_search",
    "urlContext": "web_fetch",
    "codeExecution": "code_execution",
}


def write_hosted(tool: HostedTool) -> dict[str, Any]:
    """Return the entry of `tools` for one of Google's own tools."""
    key = next(key for key, kind in HOSTED.items() if kind == tool.kind)
    return {key: {}}


def read_group(wire: Json) -> Iterator[WireTool | NativeDefinition]:
    """Yield the tools of a group. The first function has the keys of it, without its list."""
    group, _ = camel(dictionary(wire))
    declared = items_of(group.get(_DECLARED))
    if not declared or not all(read_function(dictionary(each)) for each in declared):
        yield NativeDefinition(next(iter(group), ""), wire)
        return
    around: JsonObject = {
        key: [] if camel_case(key) == _DECLARED else value for key, value in wire.items()
    }
    for index, each in enumerate(declared):
        first: JsonObject = {} if index else {"group": around}
        pair, form = camel({**first, "function": each}, _PLACES)
        definition = read_function(dictionary(pair["function"]))
        assert definition is not None
        form = f"{JOINED} {form}" if index else form
        written = _write_tool(definition, is_first=not index)
        yield WireTool(definition, extras_of(_GEMINI, pair, written, form))


def _write_tool(definition: ToolDefinition, *, is_first: bool) -> JsonObject:
    group: JsonObject = {"group": {_DECLARED: []}} if is_first else {}
    return {**group, "function": plain(write_function(definition))}


def write_groups(tools: Sequence[WireTool | NativeDefinition]) -> list[Json]:
    """Return the tools in their groups."""
    groups: list[Json] = []
    functions: list[Json] = []
    for tool in tools:
        if isinstance(tool, NativeDefinition):
            groups.append(tool.value)
            functions = []
            continue
        form = form_of(tool, _GEMINI).split()
        is_first = JOINED not in form
        pair = patched(_write_tool(tool.definition, is_first=is_first), tool.extras)
        pair = spelled(pair, form, _PLACES)
        if is_first:
            functions = []
            group = dictionary(pair["group"])
            groups.append(
                {key: functions if camel_case(key) == _DECLARED else v for key, v in group.items()}
            )
        functions.append(pair["function"])
    return groups
