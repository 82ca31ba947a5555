"""The settings of OpenAI Chat.

Web search in Chat Completions: a setting of OpenAI's search models, a tool at OpenRouter.
"""

from __future__ import annotations

from dataclasses import replace

from tui_chat.models.blocks import Json, JsonObject
from tui_chat.models.envelope import HostedTool
from tui_chat.models.model_facts import is_openai_model, plain_model_name
from tui_chat.models.settings import WebSearch
from tui_chat.protocols.common.openai import NESTED
from tui_chat.protocols.common.setting_rows import (
    Row,
    Table,
    boolean,
    count,
    integer,
    never,
    number,
    positive,
    text,
    texts,
    unread,
    when_on,
)
from tui_chat.protocols.common.tools import read_search, write_search
from tui_chat.protocols.common.trees import dictionary


def _read_web_search(wire: Json) -> WebSearch | None:
    return read_search(dictionary(wire)) if isinstance(wire, dict) else None


def _write_web_search(search: WebSearch) -> JsonObject | None:
    return write_search(search, nested=True) if search.enabled else None


TABLE: Table = (
    Row("model", ("model",), text),
    Row("web_search", ("web_search_options",), _read_web_search, _write_web_search),
    Row("tool_choice", ("tool_choice",), NESTED.read_choice, NESTED.write_choice),
    Row("max_tokens", ("max_completion_tokens",), integer, is_alternative=True),
    Row("max_tokens", ("max_tokens",), integer, is_alternative=True),
    Row("temperature", ("temperature",), number, low=0, high=2, is_sampling=True),
    Row("top_p", ("top_p",), number, low=0, high=1, is_sampling=True),
    Row("presence_penalty", ("presence_penalty",), number, low=-2, high=2, is_sampling=True),
    Row("frequency_penalty", ("frequency_penalty",), number, low=-2, high=2, is_sampling=True),
    Row("seed", ("seed",), integer),
    Row("stop", ("stop",), texts),
    Row("effort", ("reasoning_effort",), text),
    Row("parallel_tool_calls", ("parallel_tool_calls",), boolean),
    Row("response_format", ("response_format",), NESTED.read_format, NESTED.write_format),
    Row("stream", ("stream",), boolean, when_on),
    Row("stream", ("stream_options", "include_usage"), unread, when_on),
    Row("verbosity", ("verbosity",), text),
    Row("replies", ("n",), count),
    Row("store", ("store",), boolean),
    Row("logprobs", ("logprobs",), unread, lambda _: True),
    Row("logprobs", ("top_logprobs",), count, positive, beside=("logprobs", True)),
    Row("logprobs", ("logprobs",), lambda on: 0 if on is True else None, never),
    Row("service_tier", ("service_tier",), text),
    Row("user_id", ("safety_identifier",), text, is_alternative=True),
    Row("user_id", ("user",), text, is_alternative=True),
)
"""In the order in which they are sent. Which name of the reply limit is sent depends on the
model."""
OPENAI_OPTIONS = ("context_size", "location")
"""The options of a web search that OpenAI has."""
OPENROUTER_OPTIONS = ("context_size", "max_uses")
_OPENROUTER = "openrouter:web_search"


def read_hosted(wire: JsonObject) -> HostedTool | None:
    """Return the meaning of a tool that OpenRouter runs; None if other protocols have none."""
    if wire.get("type") != _OPENROUTER:
        return None
    options = dictionary(wire.get("parameters"))
    max_uses = integer(options.get("max_uses"))
    return HostedTool("web_search", replace(read_search(options), max_uses=max_uses))


def write_hosted(tool: HostedTool) -> JsonObject:
    """Return OpenRouter's tool."""
    fields = write_search(replace(tool.search, location=None), nested=True)
    if tool.search.max_uses is not None:
        fields["max_uses"] = tool.search.max_uses
    return {"type": _OPENROUTER, **({"parameters": fields} if fields else {})}


def searches(model: str) -> bool:
    """Return False for OpenAI's models without `-search-` in their name, which refuse it."""
    return not is_openai_model(model) or "-search-" in plain_model_name(model)
