"""Tool definitions, tool choice and response format, read and written side by side."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from tui_chat.models.blocks import Json, JsonObject
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import HostedTool, HostedToolKind, ToolDefinition
from tui_chat.models.json_text import as_object, as_string
from tui_chat.models.json_tree import Obj
from tui_chat.models.memo import Memo
from tui_chat.models.settings import ResponseFormat, ToolChoice, WebSearch
from tui_chat.protocols.common.reading import string
from tui_chat.protocols.common.setting_rows import integer
from tui_chat.protocols.common.tools import (
    definition_tree,
    object_schema,
    read_domains,
    read_location,
    write_location,
)

_MODES = {"auto": "auto", "any": "required", "none": "none"}
_WORDS = {"auto": "auto", "required": "any", "none": "none"}
SEARCH_OPTIONS = ("location", "allowed_domains", "blocked_domains", "max_uses")
"""The options of a web search that Anthropic has."""


def write_definition(tool: ToolDefinition) -> JsonObject:
    """Return a function's definition, without what only its protocol knows of it."""
    written: JsonObject = {"name": tool.name}
    if tool.description:
        written["description"] = tool.description
    written["input_schema"] = dict(tool.parameters)
    if tool.strict is not None:
        written["strict"] = tool.strict
    return written


@Memo
def write_tool(tool: ToolDefinition, captured: bool) -> Obj:
    """Return a function's definition; `captured`: in the protocol that it was captured from."""
    if not captured:
        tool = replace(tool, parameters=object_schema(tool))
    return definition_tree(write_definition(tool), tool, Protocol.ANTHROPIC)


_SEARCH = re.compile(r"web_search_\d{8}")
_OTHERS: tuple[tuple[re.Pattern[str], HostedToolKind], ...] = (
    (re.compile(r"web_fetch_\d{8}"), "web_fetch"),
    (re.compile(r"code_execution_\d{8}"), "code_execution"),
)


def read_hosted(wire: JsonObject) -> HostedTool | None:
    """Return the meaning of a tool that Anthropic runs; None if other protocols have none."""
    kind = string(wire, "type")
    if _SEARCH.fullmatch(kind):
        search = WebSearch(
            location=read_location(wire.get("user_location")),
            allowed_domains=read_domains(wire.get("allowed_domains")),
            blocked_domains=read_domains(wire.get("blocked_domains")),
            max_uses=integer(wire.get("max_uses")),
        )
        return HostedTool("web_search", search)
    known = (HostedTool(meaning) for pattern, meaning in _OTHERS if pattern.fullmatch(kind))
    return next(known, None)


def write_hosted(tool: HostedTool) -> JsonObject:
    """Return the definition of a tool that Anthropic runs. The oldest version of each: all models
    accept it, and the later ones filter results by running code.
    """
    match tool.kind:
        case "web_fetch":
            return {"type": "web_fetch_20250910", "name": "web_fetch"}
        case "code_execution":
            return {"type": "code_execution_20250825", "name": "code_execution"}
        case "web_search":
            fields: JsonObject = {"type": "web_search_20250305", "name": "web_search"}
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


def read_choice(value: Json) -> ToolChoice | None:
    """Return what `tool_choice` means."""
    fields = as_object(value)
    kind, name = as_string(fields.get("type")), as_string(fields.get("name"))
    if kind == "tool" and name:
        return ToolChoice("required", (name,))
    mode: Any = _MODES.get(kind)
    return ToolChoice(mode) if mode is not None else None


def write_choice(choice: ToolChoice) -> JsonObject:
    """Return `tool_choice`. It cannot name several tools: see the encoder."""
    if choice.mode == "required" and len(choice.names) == 1:
        return {"type": "tool", "name": choice.names[0]}
    return {"type": _WORDS[choice.mode]}


def read_format(value: Json) -> ResponseFormat | None:
    """Return what `output_config.format` means; None if the unified fields cannot express it."""
    fields = as_object(value)
    schema = as_object(fields.get("schema"))
    if fields.get("type") != "json_schema" or not schema:
        return None
    return ResponseFormat("schema", dict(schema), strict=True)


def write_format(form: ResponseFormat) -> JsonObject:
    """Return `output_config.format` as the protocol writes it."""
    return {"type": "json_schema", "schema": form.schema or {}}
