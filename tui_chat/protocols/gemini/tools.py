"""Tool definitions, tool choice and response format, read and written side by side."""

from __future__ import annotations

from typing import Any, cast

from tui_chat.models.blocks import Json, JsonObject
from tui_chat.models.envelope import ToolDefinition
from tui_chat.models.json_text import as_array, as_object, as_string
from tui_chat.models.semantics import HostedTool, HostedToolKind
from tui_chat.models.settings import ResponseFormat, ToolChoice, WebSearch
from tui_chat.protocols.common.request_fields import Fields
from tui_chat.protocols.common.tools import take_domains
from tui_chat.protocols.common.trees import dictionary

_MODES = {"AUTO": "auto", "ANY": "required", "NONE": "none", "VALIDATED": "auto"}
_WORDS = {"auto": "AUTO", "required": "ANY", "none": "NONE"}
JSON_MIME = "application/json"


def read_tool(entry: Fields) -> ToolDefinition | None:
    """Return a function's declaration; None if it has no name."""
    name = entry.take_text("name")
    if not name:
        return None
    description = entry.take_text("description")
    schema, own = entry.take_object("parametersJsonSchema"), None
    if schema is None:
        own = entry.take_object("parameters")
    return ToolDefinition(
        name,
        description,
        schema or own or {},
        dialect="gemini" if own else "json",
        extras=entry.remaining_json(),
    )


def write_function(tool: ToolDefinition) -> JsonObject:
    """Return a function's declaration, without what only its protocol knows of it."""
    written: JsonObject = {"name": tool.name}
    if tool.description:
        written["description"] = tool.description
    if tool.parameters:
        key = "parameters" if tool.dialect == "gemini" else "parametersJsonSchema"
        written[key] = tool.parameters
    return written


_HOSTED: dict[str, HostedToolKind] = {
    "googleSearch": "web_search",
    "urlContext": "web_fetch",
    "codeExecution": "code_execution",
}


def read_hosted(tool: Fields) -> HostedTool | None:
    """Return the meaning of one of Google's own tools; None if other protocols have none."""
    for key, kind in _HOSTED.items():
        if isinstance(tool.remaining.get(key), dict):
            inner = Fields(tool.remaining.pop(key), key)
            search = WebSearch()
            if kind == "web_search":
                search = WebSearch(blocked_domains=take_domains(inner, "excludeDomains"))
            tool.put_back(key, inner)
            return HostedTool(kind, search)
    return None


def write_hosted(tool: HostedTool) -> dict[str, Any]:
    """Return the entry of `tools` for one of Google's own tools."""
    key = next(key for key, kind in _HOSTED.items() if kind == tool.kind)
    return {key: {}}


def read_choice(value: Any) -> ToolChoice | None:
    """Return what `functionCallingConfig` means; None if the unified fields cannot express it."""
    fields = as_object(value)
    mode: Any = _MODES.get(as_string(fields.get("mode")))
    names = as_array(fields.get("allowedFunctionNames"))
    if mode is None or not all(isinstance(name, str) for name in names):
        return None
    return ToolChoice(mode, tuple(cast("list[str]", names)))


def write_choice(choice: ToolChoice) -> dict[str, Any]:
    """Return `functionCallingConfig` as the protocol writes it."""
    fields: dict[str, Any] = {"mode": _WORDS[choice.mode]}
    if choice.names and choice.mode != "none":
        if choice.mode == "auto":
            fields["mode"] = "VALIDATED"
        fields["allowedFunctionNames"] = list(choice.names)
    return fields


def read_format(config: Fields) -> ResponseFormat | None:
    """Take the reply's form out of `generationConfig`; None if it is unknown."""
    if config.remaining.get("responseMimeType") != JSON_MIME:
        return None
    del config.remaining["responseMimeType"]
    if schema := config.take_object("responseJsonSchema"):
        return ResponseFormat("schema", schema)
    if schema := config.take_object("responseSchema"):
        return ResponseFormat("schema", schema, "gemini")
    return ResponseFormat("json")


def read_schema(value: Json) -> ResponseFormat | None:
    """Read `responseJsonSchema`."""
    return ResponseFormat("schema", value) if dictionary(value) else None


def read_own_schema(value: Json) -> ResponseFormat | None:
    """Read `responseSchema`, which is in Gemini's form."""
    return ResponseFormat("schema", value, "gemini") if dictionary(value) else None


def write_schema(form: ResponseFormat) -> Json:
    """Return `responseJsonSchema`; None for a form that has none."""
    return form.schema or None if form.dialect == "json" else None


def write_own_schema(form: ResponseFormat) -> Json:
    """Return `responseSchema`; None for a form that has none."""
    return form.schema or None if form.dialect == "gemini" else None


def read_mime(value: Json) -> ResponseFormat | None:
    """Read `responseMimeType`."""
    return ResponseFormat("json") if value == JSON_MIME else None


def write_mime(form: ResponseFormat) -> Json:
    """Return `responseMimeType`."""
    return "text/plain" if form.kind == "text" else JSON_MIME
