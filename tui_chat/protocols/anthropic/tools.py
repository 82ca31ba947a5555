"""Tool definitions, tool choice and response format, read and written side by side."""

from __future__ import annotations

from typing import Any

from tui_chat.models.envelope import ResponseFormat, ToolChoice, ToolDefinition
from tui_chat.protocols.common.lenient_json import as_object, as_string
from tui_chat.protocols.common.request_fields import Fields

_MODES = {"auto": "auto", "any": "required", "none": "none"}
_WORDS = {"auto": "auto", "required": "any", "none": "none"}


def read_tool(entry: Fields) -> ToolDefinition | None:
    """Return a client tool's definition; None for the tools that run at Anthropic's side."""
    if entry.remaining.get("type") not in (None, "custom"):
        return None
    name, schema = entry.take_text("name"), entry.take_object("input_schema")
    if not name or schema is None:
        return None
    description, strict = entry.take_text("description"), entry.take_boolean("strict")
    return ToolDefinition(name, description, schema, strict, extras=entry.remaining_json())


def read_choice(value: Any) -> tuple[ToolChoice, bool | None] | None:
    """Return what `tool_choice` means, and whether calls may be parallel."""
    fields = as_object(value)
    kind, name = as_string(fields.get("type")), as_string(fields.get("name"))
    single = fields.get("disable_parallel_tool_use")
    parallel = not single if isinstance(single, bool) else None
    if kind == "tool" and name:
        return ToolChoice("required", (name,)), parallel
    if kind in _MODES:
        mode: Any = _MODES[kind]
        return ToolChoice(mode), parallel
    return None


def write_choice(meaning: tuple[ToolChoice, bool | None]) -> dict[str, Any]:
    """Return `tool_choice`. It cannot name several tools: see the encoder."""
    choice, parallel = meaning
    fields: dict[str, Any]
    if choice.mode == "required" and len(choice.names) == 1:
        fields = {"type": "tool", "name": choice.names[0]}
    else:
        fields = {"type": _WORDS[choice.mode]}
    if parallel is not None and choice.mode != "none":
        fields["disable_parallel_tool_use"] = not parallel
    return fields


def read_format(value: Any) -> ResponseFormat | None:
    """Return what `output_config.format` means; None if the unified fields cannot express it."""
    fields = as_object(value)
    schema = as_object(fields.get("schema"))
    if fields.get("type") != "json_schema" or not schema:
        return None
    return ResponseFormat("schema", dict(schema), strict=True)


def write_format(form: ResponseFormat) -> dict[str, Any]:
    """Return `output_config.format` as the protocol writes it."""
    return {"type": "json_schema", "schema": form.schema or {}}
