"""Encode an envelope as an OpenAI Chat Completions request.

1. `POST /chat/completions`; roles as they are, `developer` if the model requires it; system
   messages may be anywhere, consecutive equal roles are allowed.
2. Every tool call is directly followed by the tool messages that answer it.
3. `stream_options.include_usage` requests the usage, which a stream otherwise lacks; it is not sent
   to a server that refuses the setting.
4. A captured request is encoded as it was, with its undocumented keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from urllib.parse import urlsplit

from tui_chat.models.block_turn import BlockTurn
from tui_chat.models.blocks import JsonObject
from tui_chat.models.endpoint import Endpoint
from tui_chat.models.envelope import ChatEnvelope, Level, Note, Parameters, Sourced, ToolDefinition
from tui_chat.models.json_tree import Arr, Lit, Tree, tree_of
from tui_chat.models.model_facts import is_openai_model
from tui_chat.models.semantics import HostedTool
from tui_chat.protocols.base import Encoded
from tui_chat.protocols.common.call_pairing import PairingRules
from tui_chat.protocols.common.encoding import (
    NOTHING_TO_SEND,
    Items,
    captured_origin,
    default_origin,
)
from tui_chat.protocols.common.loss_notes import default_note
from tui_chat.protocols.common.openai import SHARED, fitted_user, shared_items, write_tool
from tui_chat.protocols.common.reasoning_effort import openai_effort
from tui_chat.protocols.common.request_encoder import RequestEncoder, with_hosted
from tui_chat.protocols.common.schemas import openai_format
from tui_chat.protocols.common.setting_rows import write_settings
from tui_chat.protocols.common.tools import NAMES_64
from tui_chat.protocols.common.trees import object_of
from tui_chat.protocols.openai_chat.messages import Target
from tui_chat.protocols.openai_chat.sent_message import sent_message
from tui_chat.protocols.openai_chat.settings import (
    AFTER_STREAM,
    BEFORE_STREAM,
    OPENAI_OPTIONS,
    OPENROUTER_OPTIONS,
    TABLE,
    searches,
    write_openrouter,
    write_options,
)
from tui_chat.protocols.openai_chat.undocumented_keys import note_keys, undocumented_rest

_STREAM = default_origin("stream", "the reply is shown as it arrives")
_RULES = PairingRules(NAMES_64)
_STRICT_RULES = PairingRules(NAMES_64, longest_id=40)
"""“Expected a string with maximum length 40” (vercel/ai#5171)."""
_CAPTURED_RULES = PairingRules(NAMES_64, captured=True)
_MAX_STOPS = 4


def encode(envelope: ChatEnvelope, endpoint: Endpoint) -> Encoded:
    """Encode an envelope; see the module's rules."""
    request = RequestEncoder(envelope, endpoint)
    names = undocumented_rest(request)
    marks = not request.captured and request.facts.cache_breakpoints is True
    turns = request.block_turns(_rules(request), SHARED, limits_marks=marks)
    messages = _messages(request, turns, _target(request, marks), names)
    if request.captured and request.facts.strict_keys is not False:
        note_keys(request, names)
    functions = request.functions()
    tools, options = _tools(request, functions)
    body: JsonObject = {**dict(request.model_items()), "messages": Arr(tuple(messages))}
    body |= options | tools | _settings(request, functions, has_tools=bool(tools))
    if not messages:
        request.notes.append(NOTHING_TO_SEND)
    return request.encoded("/chat/completions", object_of(body))


def _target(request: RequestEncoder, marks: bool) -> Target:
    """Return what is known of model and server, the same object for the same facts."""
    facts = request.facts
    is_strict = request.captured or is_openai_model(request.model)
    return _shared_target(
        bool(facts.developer_role),
        "gemini" in request.model.lower(),
        facts.output_media is None or "audio" in facts.output_media,
        facts.strict_keys is True and is_strict,
        marks,
    )


_shared_target = lru_cache(maxsize=8)(Target)


def _rules(request: RequestEncoder) -> PairingRules:
    """Return the requirements on calls and results. Gateways put signatures into long call ids
    and want them back whole, so the ids of a conversation of ours are cut for OpenAI only.
    """
    if request.captured:
        return _CAPTURED_RULES
    is_strict = request.facts.strict_keys is True or is_openai_model(request.model)
    return _STRICT_RULES if is_strict or request.is_converted else _RULES


def _messages(
    request: RequestEncoder, turns: Sequence[BlockTurn], to: Target, names: dict[str, None]
) -> list[Tree]:
    """Return each turn as one message. What a tool result cannot hold follows in a user message,
    after all results of the same turn. Undocumented keys of a captured request are added to
    `names`.
    """
    messages: list[Tree] = []
    follow_ups: list[Tree] = []
    for turn in turns:
        if follow_ups and turn.role != "tool":
            messages += follow_ups
            follow_ups = []
        message = sent_message(turn, to)
        messages.append(message.tree)
        if message.notes:
            request.notes += message.notes
        if message.undocumented and request.captured:
            names |= dict.fromkeys(message.undocumented)
        elif message.undocumented and to.strict:
            note_keys(request, message.undocumented, turn.origin)
        if message.follows is not None:
            follow_ups.append(message.follows)
    return messages + follow_ups


def _tools(
    request: RequestEncoder, functions: Sequence[ToolDefinition]
) -> tuple[JsonObject, JsonObject]:
    """Return the key `tools`, and the web search where it is a setting."""
    encoded = request.with_native_tools([write_tool(tool, request.captured) for tool in functions])
    search, options = _web_search(request)
    items = request.tools_items(tools := with_hosted(encoded, search))
    if items and not tools:
        sentence = "An empty list of tools is sent; OpenAI itself refuses one."
        if request.facts.strict_keys:
            items = []
            sentence = "An empty list of tools is left out: this server refuses one."
        note = Note(Level.WARNING, "tools-empty", sentence, captured_origin("tools"))
        request.notes.append(note)
    return dict(items), dict(options)


def _web_search(
    request: RequestEncoder,
) -> tuple[list[tuple[Sourced[HostedTool], Tree]], Items]:
    """Return the web search as a tool, which OpenRouter has, or as the setting of OpenAI."""
    is_router = urlsplit(request.endpoint.base_url).hostname == "openrouter.ai"
    options = OPENROUTER_OPTIONS if is_router else OPENAI_OPTIONS
    hosted = request.hosted_tools(("web_search",), options)
    if not hosted:
        return [], []
    if is_router:
        return [(tool, tree_of(write_openrouter(tool.value), tool.origin)) for tool in hosted], []
    if not searches(request.model):
        why = f"{request.model} refuses it; only OpenAI's search models accept it in OpenAI Chat"
        for tool in hosted:
            request.leave_tool_out(tool, why)
        return [], []
    first = hosted[0]
    return [], [("web_search_options", tree_of(write_options(first.value), first.origin))]


_TIERS = {word: word for word in ("auto", "default", "flex", "scale", "priority", "fast")}
_TIERS["ultrafast"] = "fast"


def _settings(
    request: RequestEncoder, functions: Sequence[ToolDefinition], *, has_tools: bool
) -> JsonObject:
    """Return the keys of all settings."""
    captured = request.captured_keys(("stream",) if request.parameters.stream else ())
    parameters = _fitted_parameters(request, functions, has_tools=has_tools)
    limits = {"max_tokens", "max_completion_tokens"}
    limits -= {request.facts.max_tokens_key or request.endpoint.max_tokens_key}
    skip, is_own = (captured.keys() if request.captured else limits), request.captured
    settings = write_settings(
        parameters, BEFORE_STREAM, captured=is_own, skip=() if is_own else skip
    )
    if parameters.stream:
        settings["stream"] = Lit(True, _STREAM)
        if not is_own and request.facts.stream_usage is not False:
            settings["stream_options"] = {"include_usage": Lit(True, _STREAM)}
    settings |= write_settings(parameters, AFTER_STREAM, captured=is_own, skip=skip)
    return settings | captured if is_own else settings | dict(shared_items(request))


def _fitted_parameters(
    request: RequestEncoder, functions: Sequence[ToolDefinition], *, has_tools: bool
) -> Parameters:
    """Return the parameters as model and server accept them."""
    parameters, facts = request.parameters, request.facts
    choice = parameters.tool_choice if request.has_own_choice else request.tool_choice(functions)
    limit = request.reply_limit()
    stop = request.stop_sequences(0 if facts.stop is False else _MAX_STOPS)
    effort = openai_effort(request)
    parallel = parameters.parallel_tool_calls
    if parallel is not None and not (has_tools or request.captured):
        request.leave_out(parallel, "parallel_tool_calls", "no tools are sent", Level.INFO)
        parallel = None
    fitted = replace(
        parameters,
        tool_choice=choice,
        max_tokens=limit,
        stop=stop,
        effort=effort,
        parallel_tool_calls=parallel,
    )
    fitted = request.accepted(fitted, TABLE)
    fitted = replace(fitted, response_format=openai_format(request))
    if request.captured:
        return fitted
    if parameters.stream and facts.stream_usage is not False and request.is_converted:
        sentence = "The token usage of the stream is requested (include_usage)."
        request.notes.append(default_note(_STREAM, sentence))
    request.note_missing("reasoning_summary", "top_k")
    return replace(fitted, service_tier=request.service_tier(_TIERS), user_id=fitted_user(request))
