"""Web search in Chat Completions: a setting of OpenAI's search models, a tool at OpenRouter."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tui_chat.models.model_facts import is_openai_model, plain_model_name
from tui_chat.models.semantics import HostedTool
from tui_chat.protocols.common.hosted_tools import search_fields, take_search
from tui_chat.protocols.common.request_fields import Fields

OPENAI_OPTIONS = ("context_size", "location")
"""The options of a web search that OpenAI has."""
OPENROUTER_OPTIONS = ("context_size", "max_uses")
_OPENROUTER = "openrouter:web_search"


def read_hosted(tool: Fields) -> HostedTool | None:
    """Return the meaning of a tool that OpenRouter runs; None if other protocols have none."""
    if not tool.take_equal("type", _OPENROUTER):
        return None
    options = tool.take_fields("parameters") or Fields({}, "")
    search = replace(take_search(options), max_uses=options.take_integer("max_uses"))
    tool.put_back("parameters", options)
    return HostedTool("web_search", search)


def write_options(tool: HostedTool) -> dict[str, Any]:
    """Return `web_search_options`."""
    return search_fields(tool.search, nested=True)


def write_openrouter(tool: HostedTool) -> dict[str, Any]:
    """Return OpenRouter's tool."""
    fields = search_fields(replace(tool.search, location=None), nested=True)
    if tool.search.max_uses is not None:
        fields["max_uses"] = tool.search.max_uses
    return {"type": _OPENROUTER, **({"parameters": fields} if fields else {})}


def searches(model: str) -> bool:
    """Return False for OpenAI's models that refuse `web_search_options`: all but those with
    `-search-` in their name.
    """
    return not is_openai_model(model) or "-search-" in plain_model_name(model)
