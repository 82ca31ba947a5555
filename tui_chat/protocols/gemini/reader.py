"""Reading a request of generateContent as blocks.

A content is one turn, or several joined ones; `systemInstruction` is a leading system turn. The
first function of a group of tools has the keys of the group, without its list.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tui_chat.models.block_turn import BlockTurn
from tui_chat.models.blocks import Json, JsonObject, extras_of, form_of, patched
from tui_chat.models.boundary import camel_case
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import ToolDefinition
from tui_chat.protocols.common.reading import (
    NativeDefinition,
    WireRequest,
    WireTool,
    items_of,
    objects_at,
    string,
)
from tui_chat.protocols.common.setting_rows import read_settings, write_values
from tui_chat.protocols.common.trees import dictionary, plain
from tui_chat.protocols.gemini.contents import (
    JOINED,
    read_content,
    read_instruction,
    write_content,
    write_parts,
)
from tui_chat.protocols.gemini.settings import TABLE
from tui_chat.protocols.gemini.spelling import Places, camel, spelled
from tui_chat.protocols.gemini.tools import write_function

_GEMINI = Protocol.GEMINI
_PLACES: Places = {
    "systemInstruction": {},
    "generationConfig": {"thinkingConfig": {}},
    "toolConfig": {"functionCallingConfig": {}},
}
_TOOL: Places = {"group": {}, "function": {}}
_DECLARED = "functionDeclarations"


def read_request(body: JsonObject) -> WireRequest:
    """Return a captured request. Raises InputError if it has no conversation."""
    wire, form = camel(body, _PLACES)
    instruction = read_instruction(dictionary(wire.get("systemInstruction")))
    turns = [instruction] if instruction is not None else []
    for content in objects_at(wire, "contents"):
        turns += read_content(content, len(turns) + 1)
    listed = wire.get("tools")
    groups: list[Json] = [listed] if isinstance(listed, dict) else items_of(listed)
    tools = None if listed is None else tuple(tool for group in groups for tool in _tools(group))
    request = WireRequest(_GEMINI, tuple(turns), read_settings(wire, TABLE), tools)
    return replace(request, rest=extras_of(_GEMINI, wire, plain(_written(request)), form))


def write_request(request: WireRequest) -> JsonObject:
    """Return the body of a captured request: what `read_request` has read."""
    written = patched(plain(_written(request)), request.rest)
    form = request.rest.form if request.rest is not None else ""
    return spelled(written, form.split(), _PLACES)


def _written(request: WireRequest) -> JsonObject:
    body: JsonObject = {}
    runs: list[list[BlockTurn]] = []
    for turn in request.turns:
        if turn.role == "system":
            body["systemInstruction"] = write_content(turn, write_parts(turn))
        elif runs and form_of(turn, _GEMINI) == JOINED:
            runs[-1].append(turn)
        else:
            runs.append([turn])
    body["contents"] = [
        write_content(run[0], [part for turn in run for part in write_parts(turn)]) for run in runs
    ]
    if request.tools is not None:
        body["tools"] = _write_tools(request.tools)
    return body | write_values(request.values, TABLE)


def _tools(wire: Json) -> Iterator[WireTool | NativeDefinition]:
    group, _ = camel(dictionary(wire))
    declared = items_of(group.get(_DECLARED))
    if not declared or not all(string(dictionary(each), "name") for each in declared):
        yield NativeDefinition(next(iter(group), ""), wire)
        return
    around: JsonObject = {
        key: [] if camel_case(key) == _DECLARED else value for key, value in wire.items()
    }
    for index, each in enumerate(declared):
        first: JsonObject = {} if index else {"group": around}
        pair, form = camel({**first, "function": each}, _TOOL)
        function = dictionary(pair["function"])
        schema = dictionary(function.get("parametersJsonSchema"))
        own = {} if schema else dictionary(function.get("parameters"))
        definition = ToolDefinition(
            string(function, "name"),
            string(function, "description"),
            schema or own,
            dialect="gemini" if own else "json",
        )
        form = f"{JOINED} {form}" if index else form
        written = _write_tool(definition, is_first=not index)
        yield WireTool(definition, extras_of(_GEMINI, pair, written, form))


def _write_tool(definition: ToolDefinition, *, is_first: bool) -> JsonObject:
    group: JsonObject = {"group": {_DECLARED: []}} if is_first else {}
    return {**group, "function": plain(write_function(definition))}


def _write_tools(tools: Sequence[WireTool | NativeDefinition]) -> list[Json]:
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
        pair = spelled(pair, form, _TOOL)
        if is_first:
            functions = []
            group = dictionary(pair["group"])
            groups.append(
                {key: functions if camel_case(key) == _DECLARED else v for key, v in group.items()}
            )
        functions.append(pair["function"])
    return groups
