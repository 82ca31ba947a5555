"""Tool definitions, tool choice and response format, read and written side by side.

As in Chat Completions, but flat: no `function` or `json_schema` object in between.
"""

from __future__ import annotations

from typing import Any, cast

from tui_chat.models.envelope import ResponseFormat, ToolChoice, ToolDefinition
from tui_chat.protocols.common.lenient_json import as_array, as_object, as_string
from tui_chat.protocols.common.openai import read_schema, write_schema
from tui_chat.protocols.common.request_fields import Fields


def read_tool(entry: Fields) -> ToolDefinition | None:
    """Return a function's definition; None where the entry is no function with a name."""
    if entry.remaining.get("type") != "function":
        return None
    name = entry.take_text("name")
    if not name:
        return None
    del entry.remaining["type"]
    description, parameters = entry.take_text("description"), entry.take_object("parameters") or {}
    return ToolDefinition(
        name, description, parameters, entry.take_boolean("strict"), extras=entry.remaining_json()
    )


def read_choice(value: Any) -> ToolChoice | None:
    """Return what `tool_choice` means; None if the unified fields cannot express it."""
    if value in ("auto", "none", "required"):
        return ToolChoice(value)
    fields = as_object(value)
    match fields.get("type"):
        case "function" if name := as_string(fields.get("name")):
            return ToolChoice("required", (name,))
        case "allowed_tools":
            names = [
                as_string(as_object(entry).get("name")) for entry in as_array(fields.get("tools"))
            ]
            mode: Any = fields.get("mode")
            if (mode == "auto" or mode == "required") and names and all(names):
                return ToolChoice(mode, tuple(names))
            return None
        case _:
            return None


def write_choice(choice: ToolChoice) -> Any:
    """Return `tool_choice` as the protocol writes it."""
    if not choice.names or choice.mode == "none":
        return choice.mode
    if choice.mode == "required" and len(choice.names) == 1:
        return {"type": "function", "name": choice.names[0]}
    tools = [{"type": "function", "name": name} for name in choice.names]
    return {"type": "allowed_tools", "mode": choice.mode, "tools": tools}


def read_format(value: Any) -> ResponseFormat | None:
    """Return what `text.format` means; None if the unified fields cannot express it."""
    if not isinstance(value, dict):
        return None
    form = Fields(cast("dict[str, Any]", value), "")
    match form.remaining.get("type"):
        case "text":
            return ResponseFormat("text")
        case "json_object":
            return ResponseFormat("json")
        case "json_schema":
            return read_schema(form)
        case _:
            return None


def write_format(form: ResponseFormat) -> dict[str, Any]:
    """Return `text.format` as the protocol writes it."""
    match form.kind:
        case "text":
            return {"type": "text"}
        case "json":
            return {"type": "json_object"}
        case "schema":
            fields: dict[str, Any] = {"type": "json_schema", "schema": {}}
            return fields | write_schema(form)
