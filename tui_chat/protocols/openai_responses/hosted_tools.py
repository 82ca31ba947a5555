"""The tools that OpenAI runs, read and written side by side."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from tui_chat.models.semantics import HostedTool
from tui_chat.protocols.common.hosted_tools import search_fields, take_domains, take_search
from tui_chat.protocols.common.request_fields import Fields

SEARCH_OPTIONS = ("context_size", "location", "allowed_domains", "live")
"""The options of a web search that Responses has."""
_SEARCH = re.compile(r"web_search(?:_preview)?(?:_\d{4}_\d{2}_\d{2})?")


def read_hosted(tool: Fields) -> HostedTool | None:
    """Return the meaning of a tool that OpenAI runs; None if other protocols have none."""
    kind = str(tool.remaining.get("type"))
    if _SEARCH.fullmatch(kind):
        del tool.remaining["type"]
        search = take_search(tool)
        if (filters := tool.take_fields("filters")) is not None:
            search = replace(search, allowed_domains=take_domains(filters, "allowed_domains"))
            tool.put_back("filters", filters)
        search = replace(search, live=tool.take_boolean("external_web_access"))
        return HostedTool("web_search", search)
    if kind == "code_interpreter" and tool.take_equal("container", {"type": "auto"}):
        del tool.remaining["type"]
        return HostedTool("code_execution")
    return None


def write_hosted(tool: HostedTool) -> dict[str, Any]:
    """Return the definition of a tool that OpenAI runs."""
    if tool.kind == "code_execution":
        return {"type": "code_interpreter", "container": {"type": "auto"}}
    fields: dict[str, Any] = {"type": "web_search", **search_fields(tool.search, nested=False)}
    if tool.search.allowed_domains:
        fields["filters"] = {"allowed_domains": list(tool.search.allowed_domains)}
    if tool.search.live is False:
        fields["external_web_access"] = False
    return fields
