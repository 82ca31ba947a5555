"""Reading a request of Responses as blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tui_chat.models.block_turn import BlockTurn
from tui_chat.models.blocks import Extras, Json, JsonObject, TextBlock, extras_of, form_of, patched
from tui_chat.models.envelope import ToolDefinition
from tui_chat.protocols.common.reading import (
    NativeDefinition,
    WireRequest,
    WireTool,
    boolean,
    items_of,
    objects_at,
    string,
    turn_origin,
)
from tui_chat.protocols.common.setting_rows import read_settings, write_values
from tui_chat.protocols.common.trees import dictionary, plain
from tui_chat.protocols.common.turn_fit import merged_text
from tui_chat.protocols.openai_responses.messages import (
    INPUT,
    INSTRUCTIONS,
    RESPONSES,
    read_items,
    write_items,
)
from tui_chat.protocols.openai_responses.settings import TABLE, write_function


def read_request(body: JsonObject) -> WireRequest:
    """Return a captured request. Raises InputError if it has no conversation."""
    tools = tuple(map(_tool, items_of(body["tools"]))) if body.get("tools") is not None else None
    request = WireRequest(RESPONSES, tuple(_turns(body)), read_settings(body, TABLE), tools)
    return replace(request, rest=extras_of(RESPONSES, body, plain(_written(request))))


def write_request(request: WireRequest) -> JsonObject:
    """Return the body of a captured request: what `read_request` has read."""
    return patched(plain(_written(request)), request.rest)


def _turns(body: JsonObject) -> Iterator[BlockTurn]:
    number = 1
    if instructions := string(body, "instructions"):
        extras = Extras(RESPONSES, INSTRUCTIONS)
        blocks = (TextBlock(instructions),)
        yield BlockTurn("system", blocks, turn_origin("system", 1), extras=extras)
        number = 2
    said = body.get("input")
    if isinstance(said, str):
        blocks = (TextBlock(said),) if said else ()
        extras = Extras(RESPONSES, INPUT)
        yield BlockTurn("user", blocks, turn_origin("user", number), extras=extras)
    elif said is not None:  # what the provider keeps may need no input
        yield from read_items(objects_at(body, "input"), number)


def _written(request: WireRequest) -> JsonObject:
    body: JsonObject = {}
    turns = request.turns
    if turns and form_of(turns[0], RESPONSES) == INSTRUCTIONS:
        body["instructions"], turns = merged_text(turns[0]), turns[1:]
    if len(turns) == 1 and form_of(turns[0], RESPONSES) == INPUT:
        body["input"] = merged_text(turns[0])
    else:
        body["input"] = [item for turn in turns for item in write_items(turn)]
    if request.tools is not None:
        body["tools"] = [_write_tool(tool) for tool in request.tools]
    return body | write_values(request.values, TABLE)


def _tool(wire: Json) -> WireTool | NativeDefinition:
    fields = dictionary(wire)
    name = string(fields, "name")
    if string(fields, "type") != "function" or not name:
        return NativeDefinition(string(fields, "type"), wire)
    definition = ToolDefinition(
        name,
        string(fields, "description"),
        dictionary(fields.get("parameters")),
        boolean(fields.get("strict")),
    )
    return WireTool(definition, extras_of(RESPONSES, fields, plain(write_function(definition))))


def _write_tool(tool: WireTool | NativeDefinition) -> Json:
    if isinstance(tool, NativeDefinition):
        return tool.value
    return patched(plain(write_function(tool.definition)), tool.extras)
