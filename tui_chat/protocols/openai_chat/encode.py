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
from functools import lru_cache
from urllib.parse import urlsplit

from tui_chat.models.blocks import JsonObject
from tui_chat.models.endpoint import Endpoint
from tui_chat.models.envelope import (
    ChatEnvelope,
    Level,
    Note,
    Parameters,
    ToolDefinition,
)
from tui_chat.models.json_tree import Arr, Obj, Tree
from tui_chat.models.memo import Memo
from tui_chat.models.model_facts import is_openai_model
from tui_chat.models.turn import Turn
from tui_chat.protocols.base import Encoded
from tui_chat.protocols.common.call_pairing import PairingRules
from tui_chat.protocols.common.loss_notes import NOTHING_TO_SEND, default_note
from tui_chat.protocols.common.openai import SHARED, fitted_user, shared_items, write_function
from tui_chat.protocols.common.reasoning_effort import with_openai_effort
from tui_chat.protocols.common.request_encoder import (
    RequestedTool,
    RequestEncoder,
    SentTool,
    written_tool,
)
from tui_chat.protocols.common.tools import NAMES_64, definition_tree
from tui_chat.protocols.common.trees import captured_origin, default_origin
from tui_chat.protocols.openai_chat.messages import CHAT, Target
from tui_chat.protocols.openai_chat.sent_message import sent_message
from tui_chat.protocols.openai_chat.settings import (
    OPENAI_OPTIONS,
    OPENROUTER_OPTIONS,
    TABLE,
    searches,
    write_hosted,
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
    turns = request.block_turns(_rules(request), SHARED)
    messages = _messages(request, turns, _target(request), names)
    if request.captured and request.facts.strict_keys is not False:
        note_keys(request, names)
    tools, search = _tools(request)
    body: JsonObject = {"messages": Arr(tuple(messages))} | _tools_key(request, tools)
    settings = _settings(request, tools, search)
    if not messages:
        request.notes.append(NOTHING_TO_SEND)
    return request.encoded("/chat/completions", request.body(settings, body))


def _target(request: RequestEncoder) -> Target:
    """Return what is known of model and server, the same object for the same facts."""
    facts = request.facts
    is_strict = request.captured or is_openai_model(request.model)
    return _shared_target(
        bool(facts.developer_role),
        "gemini" in request.model.lower(),
        facts.strict_keys is True and is_strict,
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
    request: RequestEncoder, turns: Sequence[Turn], to: Target, names: dict[str, None]
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


def _tools(request: RequestEncoder) -> tuple[Sequence[SentTool], RequestedTool | None]:
    """Return the tools, and the web search where it is a setting, as OpenAI has it. It is a tool at
    OpenRouter.
    """
    is_router = urlsplit(request.endpoint.base_url).hostname == "openrouter.ai"
    options = OPENROUTER_OPTIONS if is_router else OPENAI_OPTIONS
    tools = request.sent_tools(("web_search",), options)
    asked = [tool for tool in tools if isinstance(tool, RequestedTool)]
    if is_router or not asked:
        return tools, None
    others = [tool for tool in tools if not isinstance(tool, RequestedTool)]
    if searches(request.model):
        return others, asked[0]
    why = f"{request.model} refuses it; only OpenAI's search models accept it in OpenAI Chat"
    for tool in asked:
        request.leave_tool_out(tool, why)
    return others, None


def _tools_key(request: RequestEncoder, tools: Sequence[SentTool]) -> JsonObject:
    """Return the key `tools`."""
    written = request.tools_key([written_tool(tool, _function, write_hosted) for tool in tools])
    if not written or tools:
        return written
    sentence = "An empty list of tools is sent; OpenAI itself refuses one."
    if request.facts.strict_keys:
        sentence, written = "An empty list of tools is left out: this server refuses one.", {}
    request.notes.append(Note(Level.WARNING, "tools-empty", sentence, captured_origin("tools")))
    return written


@Memo
def _function(tool: ToolDefinition) -> Obj:
    return definition_tree(write_function(tool), tool, CHAT)


_TIERS = {word: word for word in ("auto", "default", "flex", "scale", "priority", "fast")}
_TIERS["ultrafast"] = "fast"


def _settings(
    request: RequestEncoder, tools: Sequence[SentTool], search: RequestedTool | None
) -> JsonObject:
    """Return the keys of all settings."""
    facts = request.facts
    skip = set[str]()
    if not request.captured:
        skip = {"max_tokens", "max_completion_tokens"}
        skip -= {facts.max_tokens_key or request.endpoint.max_tokens_key}
    if facts.stream_usage is False:
        skip.add("stream_options.include_usage")
    settings = request.written(TABLE, lambda: _fitted(request, tools, search), skip)
    return settings | shared_items(request)


def _fitted(
    request: RequestEncoder, tools: Sequence[SentTool], search: RequestedTool | None
) -> Parameters:
    """Return the parameters as model and server accept them."""
    values, facts = request.values, request.facts
    choice, limit = request.tool_choice(tools), request.reply_limit()
    stop = request.stop_sequences(0 if facts.stop is False else _MAX_STOPS)
    fitted = with_openai_effort(request, request.parameters)
    parallel = values.parallel_tool_calls
    if parallel is not None and not (tools or request.captured):
        request.leave_out(
            "parallel_tool_calls", "parallel_tool_calls", "no tools are sent", Level.INFO
        )
        parallel = None
    fitted = fitted.with_values(
        tool_choice=choice,
        max_tokens=limit,
        stop=stop,
        parallel_tool_calls=parallel,
        web_search=None,
    )
    if search is not None:
        fitted = fitted.with_value("web_search", search.tool.search, search.origin)
    fitted = request.accepted(fitted, TABLE)
    if values.stream and facts.stream_usage is not False and request.is_converted:
        sentence = "The token usage of the stream is requested (include_usage)."
        request.notes.append(default_note(_STREAM, sentence))
    return fitted.with_values(
        response_format=request.openai_format(),
        service_tier=request.service_tier(_TIERS),
        user_id=fitted_user(request),
    )
