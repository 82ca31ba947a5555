"""Tool definitions, tool choice and response format, read and written side by side."""

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
    function = entry.take_fields("function")
    name = function.take_text("name") if function else ""
    if function is None or not name:
        return None
    del entry.remaining["type"]
    description, parameters = (
        function.take_text("description"),
        function.take_object("parameters") or {},
    )
    strict = function.take_boolean("strict")
    entry.put_back("function", function)
    return ToolDefinition(name, description, parameters, strict, extras=entry.remaining_json())


def read_choice(value: Any) -> ToolChoice | None:
    """Return what `tool_choice` means; None if the unified fields cannot express it."""
    if value in ("auto", "none", "required"):
        return ToolChoice(value)
    if not isinstance(value, dict):
        return None
    fields = cast("dict[str, Any]", value)
    match fields.get("type"):
        case "function":
            name = as_object(fields.get("function")).get("name")
            return ToolChoice("required", (name,)) if isinstance(name, str) else None
        case "allowed_tools":
            allowed = as_object(fields.get("allowed_tools"))
            entries = map(as_object, as_array(allowed.get("tools")))
            names = [as_string(as_object(entry.get("function")).get("name")) for entry in entries]
            mode: Any = allowed.get("mode")
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
        return {"type": "function", "function": {"name": choice.names[0]}}
    tools = [{"type": "function", "function": {"name": name}} for name in choice.names]
    return {"type": "allowed_tools", "allowed_tools": {"mode": choice.mode, "tools": tools}}


def read_format(value: Any) -> ResponseFormat | None:
    """Return what `response_format` means; None if the unified fields cannot express it."""
    if not isinstance(value, dict):
        return None
    fields = cast("dict[str, Any]", value)
    match fields.get("type"):
        case "text":
            return ResponseFormat("text")
        case "json_object":
            return ResponseFormat("json")
        case "json_schema":
            return read_schema(Fields(as_object(fields.get("json_schema")), ""))
        case _:
            return None


def write_format(form: ResponseFormat) -> dict[str, Any]:
    """Return `response_format` as the protocol writes it."""
    match form.kind:
        case "text":
            return {"type": "text"}
        case "json":
            return {"type": "json_object"}
        case "schema":
            return {"type": "json_schema", "json_schema": write_schema(form)}
