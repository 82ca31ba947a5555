"""The settings of OpenAI Responses, and the tools that OpenAI runs."""

from __future__ import annotations

import re
from dataclasses import replace

from tui_chat.models.blocks import Json, JsonObject
from tui_chat.models.envelope import HostedTool, ToolDefinition
from tui_chat.protocols.common.openai import FLAT
from tui_chat.protocols.common.reading import items_of, string
from tui_chat.protocols.common.setting_rows import (
    Row,
    Table,
    boolean,
    count,
    integer,
    number,
    positive,
    text,
    when_on,
)
from tui_chat.protocols.common.tools import json_schema, read_domains, read_search, write_search
from tui_chat.protocols.common.trees import Word, dictionary

LOGPROBS = "message.output_text.logprobs"
"""The content that `include` must name for log probabilities."""


def _asks_for_logprobs(include: Json) -> int | None:
    return 0 if LOGPROBS in items_of(include) else None


TABLE: Table = (
    Row("model", ("model",), text),
    Row("tool_choice", ("tool_choice",), FLAT.read_choice, FLAT.write_choice),
    Row("temperature", ("temperature",), number, low=0, high=2, is_sampling=True),
    Row("top_p", ("top_p",), number, low=0, high=1, is_sampling=True),
    Row("max_tokens", ("max_output_tokens",), integer),
    Row("parallel_tool_calls", ("parallel_tool_calls",), boolean),
    Row("effort", ("reasoning", "effort"), text),
    Row("reasoning_summary", ("reasoning", "summary"), text),
    Row("response_format", ("text", "format"), FLAT.read_format, FLAT.write_format),
    Row("verbosity", ("text", "verbosity"), text),
    Row("stream", ("stream",), boolean, when_on),
    Row("store", ("store",), boolean),
    Row("logprobs", ("top_logprobs",), count, positive),
    Row("logprobs", ("include",), _asks_for_logprobs, lambda _: [LOGPROBS]),
    Row("service_tier", ("service_tier",), text),
    Row("user_id", ("safety_identifier",), text, is_alternative=True),
    Row("user_id", ("user",), text, is_alternative=True),
)
"""In the order in which they are sent."""
SEARCH_OPTIONS = ("context_size", "location", "allowed_domains", "live")
"""The options of a web search that Responses has."""
_SEARCH = re.compile(r"web_search(?:_preview)?(?:_\d{4}_\d{2}_\d{2})?")


def read_hosted(wire: JsonObject) -> HostedTool | None:
    """Return the meaning of a tool that OpenAI runs; None if other protocols have none."""
    kind = string(wire, "type")
    if _SEARCH.fullmatch(kind):
        sites = read_domains(dictionary(wire.get("filters")).get("allowed_domains"))
        live = boolean(wire.get("external_web_access"))
        search = replace(read_search(wire), allowed_domains=sites, live=live)
        return HostedTool("web_search", search)
    if kind == "code_interpreter" and wire.get("container") == {"type": "auto"}:
        return HostedTool("code_execution")
    return None


def write_function(tool: ToolDefinition) -> JsonObject:
    """Return a function's definition, without what only its protocol knows of it."""
    written: JsonObject = {"type": Word("function"), "name": tool.name}
    if tool.description:
        written["description"] = tool.description
    if tool.parameters:
        written["parameters"] = json_schema(tool.parameters, tool.dialect)
    if tool.strict is not None:
        written["strict"] = tool.strict
    return written


def write_hosted(tool: HostedTool) -> JsonObject:
    """Return the definition of a tool that OpenAI runs."""
    if tool.kind == "code_execution":
        return {"type": "code_interpreter", "container": {"type": "auto"}}
    fields: JsonObject = {"type": "web_search", **write_search(tool.search, nested=False)}
    if tool.search.allowed_domains:
        fields["filters"] = {"allowed_domains": list(tool.search.allowed_domains)}
    if tool.search.live is False:
        fields["external_web_access"] = False
    return fields
