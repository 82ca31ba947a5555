"""The parts that OpenAI's two protocols share: base URLs, the tool choice, the response format, the
annotations of a reply's text and its usage. Ollama writes tools as OpenAI Chat does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, cast

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import Json, MediaBlock, MediaKind
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Level, Note, Parameters, ToolDefinition
from tui_chat.models.json_text import (
    JsonObject,
    as_array,
    as_count,
    as_object,
    as_objects,
    as_string,
)
from tui_chat.models.media import split_data_url
from tui_chat.models.settings import ResponseFormat, ToolChoice
from tui_chat.models.token_probabilities import TokenProbability, received_token
from tui_chat.models.usage import Usage
from tui_chat.protocols.common.losses import setting_note
from tui_chat.protocols.common.reply_events import ReplyEvents
from tui_chat.protocols.common.request_encoder import RequestEncoder
from tui_chat.protocols.common.setting_rows import boolean
from tui_chat.protocols.common.tools import json_schema
from tui_chat.protocols.common.trees import Word, captured_origin, labelled

SHARED = (
    *("metadata", "moderation", "prompt_cache_key", "prompt_cache_options"),
    *("prompt_cache_retention", "user"),
)
"""The settings without a row that are copied from one of OpenAI's protocols to the other."""


def shared_items(request: RequestEncoder) -> dict[str, Json]:
    """Return the settings that a request of the other one of OpenAI's protocols shares."""
    rest, shared = request.envelope.rest, dict[str, Json]()
    if rest is None or request.captured or rest.protocol not in _OPENAI:
        return shared
    for key in SHARED:
        value, origin = rest.keys.get(key), captured_origin(key)
        is_chat = request.protocol is Protocol.OPENAI_CHAT
        if key == "prompt_cache_options" and isinstance(value, dict) and is_chat:
            options = cast("dict[str, Json]", value)
            value = {name: option for name, option in options.items() if name in ("mode", "ttl")}
            for name in options.keys() - value.keys():
                label, why = f"{key}.{name}", "OpenAI Chat has no such setting"
                request.notes.append(setting_note(label, why, origin, Level.INFO))
            if value.get("ttl") == "12h":
                value["ttl"] = "30m"
                sentence = "The prompt cache's lifetime of 12 hours is sent as 30 minutes, the "
                sentence += "only one of OpenAI Chat."
                request.notes.append(Note(Level.INFO, "setting-changed", sentence, origin))
        if value is not None:
            shared[key] = labelled(value, origin=origin)
    return shared


def with_openai_values(
    request: RequestEncoder, fitted: Parameters, tiers: Mapping[str, str]
) -> Parameters:
    """Return the parameters with response format, service tier and user as OpenAI accepts them."""
    form, tier = request.openai_format(), request.service_tier(tiers)
    user, is_openai = request.values.user_id, request.envelope.source in _OPENAI
    if user is not None and len(user) > _LONGEST_USER and not is_openai:
        why = f"OpenAI accepts {_LONGEST_USER} characters"
        request.leave_out("user_id", "the user's identifier", why, Level.INFO)
        user = None
    return fitted.with_values(response_format=form, service_tier=tier, user_id=user)


_OPENAI = (Protocol.OPENAI_CHAT, Protocol.OPENAI_RESPONSES)
_LONGEST_USER = 128
_UNVERSIONED = frozenset({"api.deepseek.com", "api.perplexity.ai"})
"""Hosts whose OpenAI-like API has no version in its path."""


def versioned_root(host: str, port: int | None, path: str) -> tuple[str, str]:
    """Return a base URL's path up to and with the version, which a bare host lacks."""
    if host == "openrouter.ai" and path in ("", "/api"):
        return "/api/v1", ""
    if host.endswith(".openai.azure.com") and path in ("", "/openai"):
        return "/openai/v1", ""
    if port == 11434 and path.split("/")[1:2] == ["api"]:  # Ollama's own API beside OpenAI's
        return "/v1", ""
    return path or ("" if host in _UNVERSIONED else "/v1"), ""


@dataclass(frozen=True, slots=True)
class Notation:
    """The notation of a protocol for the tool choice and the response format: in Chat Completions
    an inner object has the fields, in Responses they are beside the type.
    """

    nested: bool

    def read_choice(self, value: Any) -> ToolChoice | None:
        """Return the meaning of `tool_choice`; None if the unified fields cannot express it."""
        if value in ("auto", "none", "required"):
            return ToolChoice(value)
        fields = as_object(value)
        if fields.get("type") == "function" and (name := self._name(fields)):
            return ToolChoice("required", (name,))
        if fields.get("type") == "allowed_tools":
            allowed = self._inner(fields, "allowed_tools")
            names = [self._name(as_object(tool)) for tool in as_array(allowed.get("tools"))]
            mode: Any = allowed.get("mode")
            if (mode == "auto" or mode == "required") and names and all(names):
                return ToolChoice(mode, tuple(names))
        return None

    def write_choice(self, choice: ToolChoice) -> Any:
        """Return `tool_choice` as the protocol writes it."""
        if not choice.names or choice.mode == "none":
            return choice.mode
        tools = [self._typed("function", {"name": name}) for name in choice.names]
        if choice.mode == "required" and len(tools) == 1:
            return tools[0]
        return self._typed("allowed_tools", {"mode": choice.mode, "tools": tools})

    def read_format(self, value: Any) -> ResponseFormat | None:
        """Return the meaning of a format; None if the unified fields cannot express it."""
        fields = as_object(value)
        match fields.get("type"):
            case "text":
                return ResponseFormat("text")
            case "json_object":
                return ResponseFormat("json")
            case "json_schema":
                form = self._inner(fields, "json_schema")
                return ResponseFormat(
                    "schema",
                    dict(as_object(form.get("schema"))) or None,
                    name=as_string(form.get("name")),
                    description=as_string(form.get("description")),
                    strict=boolean(form.get("strict")),
                )
            case _:
                return None

    def write_format(self, form: ResponseFormat) -> dict[str, Any]:
        """Return a format as the protocol writes it. Responses requires a schema in it."""
        if form.kind != "schema":
            return {"type": "text" if form.kind == "text" else "json_object"}
        fields = {
            "name": form.name or "reply",
            "description": form.description or None,
            "schema": form.schema if self.nested else form.schema or {},
            "strict": form.strict,
        }
        set_fields = {key: value for key, value in fields.items() if value is not None}
        return self._typed("json_schema", set_fields)

    def _inner(self, fields: JsonObject, kind: str) -> JsonObject:
        return as_object(fields.get(kind)) if self.nested else fields

    def _typed(self, kind: str, fields: dict[str, Any]) -> dict[str, Any]:
        return {"type": kind} | ({kind: fields} if self.nested else fields)

    def _name(self, tool: JsonObject) -> str:
        return as_string(self._inner(tool, "function").get("name"))


NESTED = Notation(nested=True)
FLAT = Notation(nested=False)


def read_function(wire: JsonObject) -> ToolDefinition | None:
    """Return a function's definition; None if the tool is not a function with a name."""
    function = as_object(wire.get("function"))
    name, about = as_string(function.get("name")), as_string(function.get("description"))
    if wire.get("type") != "function" or not name:
        return None
    parameters = dict(as_object(function.get("parameters")))
    return ToolDefinition(name, about, parameters, boolean(function.get("strict")))


def write_function(tool: ToolDefinition) -> dict[str, Any]:
    """Return a function's definition, without what only its protocol knows of it."""
    function: dict[str, Any] = {"name": tool.name}
    if tool.description:
        function["description"] = tool.description
    if tool.parameters:
        function["parameters"] = json_schema(tool.parameters, tool.dialect)
    if tool.strict is not None:
        function["strict"] = tool.strict
    return {"type": Word("function"), "function": function}


def media_at(media: MediaKind, address: str) -> MediaBlock:
    """Return the picture or file at an address, whose bytes a data URL has."""
    if (split := split_data_url(address)) is not None:
        return MediaBlock(media, split[0], data=split[1])
    return MediaBlock(media, url=address)


def add_annotation(events: ReplyEvents, annotation: JsonObject) -> None:
    """Add the source of an annotation of a text; other kinds than citations are passed over. Chat
    puts the fields into an object named as the type, Responses beside the type.
    """
    kind = as_string(annotation.get("type"))
    if kind not in _CITATIONS:
        return
    fields = as_object(annotation.get(kind)) or annotation
    events.add_source(
        as_string(fields.get("title")),
        as_string(fields.get("url")),
        as_string(fields.get("filename")) or as_string(fields.get("file_id")),
        key=as_string(fields.get("file_id")) or None,
    )


_CITATIONS = frozenset({"url_citation", "file_citation", "container_file_citation"})


_READ = ("prompt_cache_hit_tokens", "cached_tokens", "cache_read_input_tokens")
"""DeepSeek's word for what came from the cache, Kimi's, and Anthropic's at gateways."""


def _count(holder: JsonObject, *names: str) -> int | None:
    counts = (as_count(holder.get(name)) for name in names)
    return next((count for count in counts if count is not None), None)


def read_usage(usage: JsonObject) -> Usage:
    """Return usage in the words of OpenAI's protocols, or of a server that imitates them."""
    details = as_object(usage.get("prompt_tokens_details") or usage.get("input_tokens_details"))
    thought = usage.get("completion_tokens_details") or usage.get("output_tokens_details")
    cached = _count(details, "cached_tokens", "cache_read_tokens")
    cached = _count(usage, *_READ) if cached is None else cached
    write = _count(details, "cache_write_tokens", "cache_creation_tokens")
    write = as_count(usage.get("cache_creation_input_tokens")) if write is None else write
    given = _count(usage, "prompt_tokens", "input_tokens")
    output = _count(usage, "completion_tokens", "output_tokens")
    reasoning = as_count(as_object(thought).get("reasoning_tokens"))
    reasoning = as_count(usage.get("reasoning_tokens")) if reasoning is None else reasoning
    total = as_count(usage.get("total_tokens"))
    if given is not None and "prompt_tokens" not in usage and "cache_read_input_tokens" in usage:
        given += (cached or 0) + (write or 0)  # Anthropic counts the cache apart
    # xAI counts reasoning beside the completion; its total gives it away.
    if reasoning and total and total == (given or 0) + (output or 0) + reasoning:
        output = (output or 0) + reasoning
    return Usage(given, output, cached, write, reasoning, cost=_cost(usage))


def _cost(usage: JsonObject) -> Decimal | None:
    """Return the price of a reply in US dollars, where the provider says it."""
    if (ticks := _amount(usage.get("cost_in_usd_ticks"))) is not None:  # xAI
        return ticks / 10**10
    cost = usage.get("cost")
    if (total := _amount(as_object(cost).get("total_cost"))) is not None:  # Perplexity
        return total
    dollars = _amount(cost)  # OpenRouter: its own fee alone if the key is the user's
    if dollars is not None and usage.get("is_byok") is True:
        upstream = as_object(usage.get("cost_details")).get("upstream_inference_cost")
        more = _amount(upstream)
        return None if more is None else dollars + more
    return dollars


def _amount(value: object) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 10**15:
        return None
    return Decimal(str(value))


def read_tokens(values: object) -> Iterator[TokenProbability]:
    """Yield the tokens of a list of `{"token", "logprob", "top_logprobs"}`."""
    for value in as_objects(values):
        likely = as_objects(value.get("top_logprobs"))
        alternatives = ((other.get("token"), other.get("logprob")) for other in likely)
        if token := received_token(value.get("token"), value.get("logprob"), alternatives):
            yield token
