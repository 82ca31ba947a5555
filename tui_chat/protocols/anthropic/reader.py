"""Reading a request of the Messages API as blocks."""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile

from tui_chat.models.block_turn import BlockTurn
from tui_chat.models.blocks import Json, JsonObject, extras_of, form_of, patched
from tui_chat.models.envelope import ToolDefinition
from tui_chat.protocols.anthropic.messages import (
    ANTHROPIC,
    JOINED,
    SYSTEM,
    read_message,
    read_system,
    write_content,
    write_message,
)
from tui_chat.protocols.anthropic.settings import TABLE
from tui_chat.protocols.anthropic.tools import write_definition
from tui_chat.protocols.common.reading import (
    NativeDefinition,
    WireRequest,
    WireTool,
    boolean,
    items_of,
    objects_at,
    string,
)
from tui_chat.protocols.common.setting_rows import read_settings, write_values
from tui_chat.protocols.common.trees import dictionary, plain


def read_request(body: JsonObject) -> WireRequest:
    """Return a captured request. Raises InputError if it has no conversation."""
    turns = list(read_system(body.get("system")))
    for place, wire in enumerate(objects_at(body, "messages")):
        turns += read_message(wire, place, len(turns) + 1)
    tools = tuple(map(_tool, items_of(body["tools"]))) if body.get("tools") is not None else None
    request = WireRequest(ANTHROPIC, tuple(turns), read_settings(body, TABLE), tools)
    return replace(request, rest=extras_of(ANTHROPIC, body, plain(_written(request))))


def write_request(request: WireRequest) -> JsonObject:
    """Return the body of a captured request: what `read_request` has read."""
    return patched(plain(_written(request)), request.rest)


def _written(request: WireRequest) -> JsonObject:
    system = list(takewhile(lambda turn: form_of(turn, ANTHROPIC) == SYSTEM, request.turns))
    contents = [write_content(turn) for turn in system]
    body: JsonObject = {}
    if len(contents) == 1:
        body["system"] = contents[0][1]
    elif contents:
        body["system"] = [block for blocks, _ in contents for block in blocks]
    body["messages"] = [write_message(run) for run in _runs(request.turns[len(system) :])]
    if request.tools is not None:
        body["tools"] = [_write_tool(tool) for tool in request.tools]
    return body | write_values(request.values, TABLE)


def _runs(turns: tuple[BlockTurn, ...]) -> list[list[BlockTurn]]:
    """Return the turns of each message."""
    runs: list[list[BlockTurn]] = []
    for turn in turns:
        if form_of(turn, ANTHROPIC) != JOINED:
            runs.append([])
        runs[-1].append(turn)
    return runs


def _tool(wire: Json) -> WireTool | NativeDefinition:
    fields = dictionary(wire)
    name, schema = string(fields, "name"), dictionary(fields.get("input_schema"))
    if fields.get("type") not in (None, "custom") or not (name and schema):
        return NativeDefinition(string(fields, "type"), wire)
    about, strict = string(fields, "description"), boolean(fields.get("strict"))
    definition = ToolDefinition(name, about, schema, strict)
    return WireTool(definition, extras_of(ANTHROPIC, fields, write_definition(definition, schema)))


def _write_tool(tool: WireTool | NativeDefinition) -> Json:
    if isinstance(tool, NativeDefinition):
        return tool.value
    definition = tool.definition
    return patched(write_definition(definition, dict(definition.parameters)), tool.extras)
