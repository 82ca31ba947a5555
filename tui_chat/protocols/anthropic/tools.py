"""Tool definitions, tool choice and response format, read and written side by side."""

from __future__ import annotations

import re
from typing import Any

from tui_chat.models.envelope import ToolDefinition
from tui_chat.models.json_text import as_object, as_string
from tui_chat.models.semantics import HostedTool, HostedToolKind
from tui_chat.models.settings import ResponseFormat, ToolChoice, WebSearch
from tui_chat.protocols.common.request_fields import Fields
from tui_chat.protocols.common.tools import take_domains, take_location, write_location

_MODES = {"auto": "auto", "any": "required", "none": "none"}
_WORDS = {"auto": "auto", "required": "any", "none": "none"}


def read_tool(entry: Fields) -> ToolDefinition | None:
    """Return a client tool's definition; None for tools that Anthropic runs."""
    if entry.remaining.get("type") not in (None, "custom"):
        return None
    name, schema = entry.take_text("name"), entry.take_object("input_schema")
    if not name or schema is None:
        return None
    description, strict = entry.take_text("description"), entry.take_boolean("strict")
    return ToolDefinition(name, description, schema, strict, extras=entry.remaining_json())


_SEARCH = re.compile(r"web_search_\d{8}")
_OTHERS: tuple[tuple[re.Pattern[str], HostedToolKind], ...] = (
    (re.compile(r"web_fetch_\d{8}"), "web_fetch"),
    (re.compile(r"code_execution_\d{8}"), "code_execution"),
)
SEARCH_OPTIONS = ("location", "allowed_domains", "blocked_domains", "max_uses")
"""The options of a web search that Anthropic has."""


def read_hosted(tool: Fields) -> HostedTool | None:
    """Return the meaning of a tool that Anthropic runs; None if other protocols have none."""
    kind = str(tool.remaining.get("type"))
    if _SEARCH.fullmatch(kind):
        del tool.remaining["type"]
        tool.take_text("name")
        search = WebSearch(
            location=take_location(tool),
            allowed_domains=take_domains(tool, "allowed_domains"),
            blocked_domains=take_domains(tool, "blocked_domains"),
            max_uses=tool.take_integer("max_uses"),
        )
        return HostedTool("web_search", search)
    for pattern, meaning in _OTHERS:
        if pattern.fullmatch(kind):
            del tool.remaining["type"]
            tool.take_text("name")
            return HostedTool(meaning)
    return None


def write_hosted(tool: HostedTool) -> dict[str, Any]:
    """Return the definition of a tool that Anthropic runs. The oldest version of each: all models
    accept it, and the later ones filter results by running code.
    """
    match tool.kind:
        case "web_fetch":
            return {"type": "web_fetch_20250910", "name": "web_fetch"}
        case "code_execution":
            return {"type": "code_execution_20250825", "name": "code_execution"}
        case "web_search":
            fields: dict[str, Any] = {"type": "web_search_20250305", "name": "web_search"}
    search = tool.search
    if search.max_uses is not None:
        fields["max_uses"] = search.max_uses
    if search.allowed_domains:  # which excludes the other list
        fields["allowed_domains"] = list(search.allowed_domains)
    elif search.blocked_domains:
        fields["blocked_domains"] = list(search.blocked_domains)
    if search.location is not None:
        fields["user_location"] = {"type": "approximate", **write_location(search.location)}
    return fields


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
