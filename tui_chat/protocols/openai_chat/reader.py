"""Reading a request of Chat Completions as blocks. A message is one turn."""

from __future__ import annotations

from dataclasses import replace

from tui_chat.models.blocks import Json, JsonObject, extras_of, patched
from tui_chat.models.envelope import ToolDefinition
from tui_chat.protocols.common.openai import write_function
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
from tui_chat.protocols.openai_chat.messages import CHAT, read_message, write_message
from tui_chat.protocols.openai_chat.settings import TABLE


def read_request(body: JsonObject) -> WireRequest:
    """Return a captured request. Raises InputError if it has no conversation."""
    messages = objects_at(body, "messages")
    turns = tuple(read_message(wire, number) for number, wire in enumerate(messages, 1))
    tools = tuple(map(_tool, items_of(body["tools"]))) if body.get("tools") is not None else None
    request = WireRequest(CHAT, turns, read_settings(body, TABLE), tools)
    return replace(request, rest=extras_of(CHAT, body, plain(_written(request))))


def write_request(request: WireRequest) -> JsonObject:
    """Return the body of a captured request: what `read_request` has read."""
    return patched(plain(_written(request)), request.rest)


def _written(request: WireRequest) -> JsonObject:
    body: JsonObject = {"messages": [write_message(turn) for turn in request.turns]}
    if request.tools is not None:
        body["tools"] = [_write_tool(tool) for tool in request.tools]
    return body | write_values(request.values, TABLE)


def _tool(wire: Json) -> WireTool | NativeDefinition:
    fields = dictionary(wire)
    function = dictionary(fields.get("function"))
    name = string(function, "name")
    if string(fields, "type") != "function" or not name:
        return NativeDefinition(string(fields, "type"), wire)
    definition = ToolDefinition(
        name,
        string(function, "description"),
        dictionary(function.get("parameters")),
        boolean(function.get("strict")),
    )
    return WireTool(definition, extras_of(CHAT, fields, plain(write_function(definition))))


def _write_tool(tool: WireTool | NativeDefinition) -> Json:
    if isinstance(tool, NativeDefinition):
        return tool.value
    return patched(plain(write_function(tool.definition)), tool.extras)
