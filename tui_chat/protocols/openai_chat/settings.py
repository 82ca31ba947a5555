"""The settings that only OpenAI Chat has.

Web search in Chat Completions: a setting of OpenAI's search models, a tool at OpenRouter.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, cast

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Protocol
from tui_chat.models.json_text import as_string
from tui_chat.models.model_facts import is_openai_model, plain_model_name
from tui_chat.models.semantics import UNSET, HostedTool, Setting
from tui_chat.protocols.common.decoding import Meanings
from tui_chat.protocols.common.openai import NESTED, OpenAISettings
from tui_chat.protocols.common.request_fields import Fields, is_count
from tui_chat.protocols.common.setting_rows import (
    Row,
    Table,
    boolean,
    count,
    integer,
    never,
    number,
    text,
    texts,
    unread,
)
from tui_chat.protocols.common.tools import search_fields, take_search

BEFORE_STREAM: Table = (
    Row("tool_choice", ("tool_choice",), NESTED.read_choice, NESTED.write_choice),
    Row("max_tokens", ("max_completion_tokens",), integer),
    Row("max_tokens", ("max_tokens",), integer),
    Row("temperature", ("temperature",), number, low=0, high=2, is_sampling=True),
    Row("top_p", ("top_p",), number, low=0, high=1, is_sampling=True),
    Row("presence_penalty", ("presence_penalty",), number, low=-2, high=2, is_sampling=True),
    Row("frequency_penalty", ("frequency_penalty",), number, low=-2, high=2, is_sampling=True),
    Row("seed", ("seed",), integer),
    Row("stop", ("stop",), texts),
    Row("effort", ("reasoning_effort",), text),
    Row("parallel_tool_calls", ("parallel_tool_calls",), boolean),
    Row("response_format", ("response_format",), NESTED.read_format, NESTED.write_format),
)
"""The settings that stand before `stream`, in the order in which they are sent. Which name of the
reply limit is sent depends on the model."""
AFTER_STREAM: Table = (
    Row("verbosity", ("verbosity",), text),
    Row("replies", ("n",), count),
    Row("store", ("store",), boolean),
    Row("logprobs", ("logprobs",), unread, lambda _: True),
    Row("logprobs", ("top_logprobs",), count, lambda number: number or None),
    Row("logprobs", ("logprobs",), lambda on: 0 if on is True else None, never),
    Row("service_tier", ("service_tier",), text),
    Row("user_id", ("safety_identifier",), text),
    Row("user_id", ("user",), text, never),
)
TABLE: Table = (Row("model", ("model",), text), *BEFORE_STREAM, *AFTER_STREAM)
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
    """Return False for OpenAI's models without `-search-` in their name, which refuse it."""
    return not is_openai_model(model) or "-search-" in plain_model_name(model)


@dataclass(frozen=True, slots=True)
class OpenAIChatSettings(OpenAISettings):
    """The settings that only OpenAI Chat has."""

    protocol: ClassVar = Protocol.OPENAI_CHAT
    informational: ClassVar = frozenset(
        (
            *("metadata", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention"),
            *("safety_identifier", "service_tier", "store", "stream_options", "user"),
        )
    )
    groups: ClassVar = frozenset({"web_search_options"})

    audio: Setting = UNSET
    """Voice and format of a spoken reply."""
    function_call: Setting = UNSET
    """Deprecated form of `tool_choice`."""
    functions: Setting = UNSET
    """Deprecated form of `tools`."""
    logit_bias: Setting = UNSET
    logprobs: Setting = UNSET
    modalities: Setting = UNSET
    """`text`, `audio`."""
    n: Setting = UNSET
    """The number of replies."""
    prediction: Setting = UNSET
    """Text that the reply will mostly repeat."""
    response_format: Setting = UNSET
    """Only a form that `Parameters.response_format` does not give back word for word."""
    stop: Setting = UNSET
    """Only where it was one string and no list."""
    stream: Setting = UNSET
    """Only if it was false."""
    stream_options: Setting = UNSET
    tool_choice: Setting = UNSET
    """Only a form that `Parameters.tool_choice` does not give back word for word."""
    top_logprobs: Setting = UNSET
    verbosity: Setting = UNSET
    web_search_options: Setting = UNSET

    def meanings(self) -> Meanings:
        """Return what these settings mean for other protocols."""
        meanings = self.shared_meanings()
        if verbosity := as_string(self.verbosity):
            meanings.add("verbosity", verbosity, "verbosity")
        if is_count(self.n):
            meanings.add("replies", self.n, "n")
        meanings.add_logprobs(self.logprobs, self.top_logprobs, "logprobs", "top_logprobs")
        web_search: Any = self.web_search_options
        if isinstance(web_search, dict):
            web_search = cast("dict[str, Any]", web_search)
            options = Fields(web_search, "")
            tool = HostedTool("web_search", take_search(options))
            read_keys = web_search.keys() - options.remaining.keys()
            paths = [f"web_search_options.{key}" for key in sorted(read_keys)]
            # With none of its keys understood, the search itself still is.
            paths = paths or [f"{key}." for key in _SEARCH]
            paths = paths if options.remaining else [*_SEARCH]
            meanings.add("hosted_tools", (tool,), *paths, name=_SEARCH[0])
        return meanings


_SEARCH = ("web_search_options",)
