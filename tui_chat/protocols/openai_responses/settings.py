"""The settings that only OpenAI Responses has.

The tools that OpenAI runs, read and written side by side.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, ClassVar, Literal

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import Json, JsonObject
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import ToolDefinition
from tui_chat.models.json_text import as_array, as_object, as_string
from tui_chat.models.semantics import UNSET, HostedTool, Setting
from tui_chat.protocols.common.decoding import Meanings
from tui_chat.protocols.common.openai import FLAT, OpenAISettings
from tui_chat.protocols.common.reading import items_of
from tui_chat.protocols.common.request_fields import Fields, is_count
from tui_chat.protocols.common.schemas import json_schema
from tui_chat.protocols.common.setting_rows import (
    Row,
    Table,
    boolean,
    count,
    integer,
    never,
    number,
    text,
)
from tui_chat.protocols.common.tools import search_fields, take_domains, take_search
from tui_chat.protocols.common.trees import Word

LOGPROBS = "message.output_text.logprobs"
"""The content that `include` must name for log probabilities."""


def _asks_for_logprobs(include: Json) -> int | None:
    return 0 if LOGPROBS in items_of(include) else None


BEFORE_STREAM: Table = (
    Row("tool_choice", ("tool_choice",), FLAT.read_choice, FLAT.write_choice),
    Row("temperature", ("temperature",), number, low=0, high=2, is_sampling=True),
    Row("top_p", ("top_p",), number, low=0, high=1, is_sampling=True),
    Row("max_tokens", ("max_output_tokens",), integer),
    Row("parallel_tool_calls", ("parallel_tool_calls",), boolean),
    Row("effort", ("reasoning", "effort"), text),
    Row("reasoning_summary", ("reasoning", "summary"), text),
    Row("response_format", ("text", "format"), FLAT.read_format, FLAT.write_format),
    Row("verbosity", ("text", "verbosity"), text),
)
"""The settings that stand before `stream`, in the order in which they are sent."""
AFTER_STREAM: Table = (
    Row("store", ("store",), boolean),
    Row("logprobs", ("top_logprobs",), count, lambda number: number or None),
    Row("logprobs", ("include",), _asks_for_logprobs, lambda _: [LOGPROBS]),
    Row("service_tier", ("service_tier",), text),
    Row("user_id", ("safety_identifier",), text),
    Row("user_id", ("user",), text, never),
)
TABLE: Table = (Row("model", ("model",), text), *BEFORE_STREAM, *AFTER_STREAM)
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


@dataclass(frozen=True, slots=True)
class ResponsesSettings(OpenAISettings):
    """The settings that only OpenAI Responses has."""

    protocol: ClassVar = Protocol.OPENAI_RESPONSES
    form_only: ClassVar = frozenset({"input_shape"})
    informational: ClassVar = frozenset(
        (
            *("background", "include", "metadata", "prompt_cache_key", "prompt_cache_options"),
            *("prompt_cache_retention", "safety_identifier", "service_tier", "store"),
            *("stream_options", "user"),
        )
    )
    earlier_turns: ClassVar = frozenset({"conversation", "prompt"})
    groups: ClassVar = frozenset({"reasoning", "text"})

    background: Setting = UNSET
    context_management: Setting = UNSET
    conversation: Setting = UNSET
    """A conversation that the provider keeps."""
    include: Setting = UNSET
    """The content of the reply beyond its text: `reasoning.encrypted_content`, ..."""
    max_tool_calls: Setting = UNSET
    previous_response_id: Setting = UNSET
    """Only an explicit null; an id is in `semantics.session`."""
    prompt: Setting = UNSET
    """A prompt template that the provider keeps."""
    reasoning: Setting = UNSET
    """Summary, context and so on; the effort is unified."""
    stream: Setting = UNSET
    """Only if it was false."""
    stream_options: Setting = UNSET
    text: Setting = UNSET
    """Verbosity, and any format that `Parameters.response_format` does not give back."""
    tool_choice: Setting = UNSET
    """Only a form that `Parameters.tool_choice` does not give back word for word."""
    top_logprobs: Setting = UNSET
    truncation: Setting = UNSET
    input_shape: Literal["", "string", "absent"] = ""
    """Not in the body: whether the input was one string, or not there at all."""

    def meanings(self) -> Meanings:
        """Return what these settings mean for other protocols."""
        meanings = self.shared_meanings()
        if summary := as_string(as_object(self.reasoning).get("summary")):
            meanings.add("reasoning_summary", summary, "reasoning.summary")
        if verbosity := as_string(as_object(self.text).get("verbosity")):
            meanings.add("verbosity", verbosity, "text.verbosity")
        include = as_array(self.include)
        path = f"include.{LOGPROBS}"
        if is_count(self.top_logprobs):
            name = "include" if LOGPROBS in include else ""
            meanings.add("logprobs", self.top_logprobs, "top_logprobs", path, name=name)
        elif LOGPROBS in include:
            meanings.add("logprobs", 0, path, name="include")
        return meanings
