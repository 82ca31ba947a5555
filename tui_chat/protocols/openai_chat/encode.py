"""Encode an envelope as an OpenAI Chat Completions request.

1. `POST /chat/completions`; roles as they are, `developer` if the model requires it; system
   messages may be anywhere, consecutive equal roles are allowed.
2. Every tool call is directly followed by the tool messages that answer it.
3. `stream_options.include_usage` requests the usage, which a stream otherwise lacks; it is not sent
   to a server that refuses the setting.
4. A captured request is encoded as it was, with its undocumented keys.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import ChatEnvelope, Level, Note, Sourced, Turn
from tui_chat.models.json_tree import Arr, Lit, Obj, Tree, tree_of
from tui_chat.models.model_facts import is_openai_model
from tui_chat.models.semantics import HostedTool
from tui_chat.protocols.base import Encoded
from tui_chat.protocols.common.cache_marks import (
    has_marks,
    mark_origin,
    with_breakpoint,
    without_mark_notes,
)
from tui_chat.protocols.common.encoding import (
    NOTHING_TO_SEND,
    Items,
    captured_origin,
    default_origin,
    setting_value,
)
from tui_chat.protocols.common.loss_notes import default_note
from tui_chat.protocols.common.openai import NESTED, SHARED, shared_items, user_items, write_tool
from tui_chat.protocols.common.reasoning_effort import openai_effort
from tui_chat.protocols.common.request_encoder import RequestEncoder, with_hosted
from tui_chat.protocols.common.schemas import openai_format
from tui_chat.protocols.common.tool_pairing import PairingRules
from tui_chat.protocols.common.tools import NAMES_64
from tui_chat.protocols.openai_chat.settings import (
    OPENAI_OPTIONS,
    OPENROUTER_OPTIONS,
    SCALARS,
    searches,
    write_openrouter,
    write_options,
)
from tui_chat.protocols.openai_chat.turn_content import TurnContent, turn_encoder
from tui_chat.protocols.openai_chat.undocumented_keys import with_accepted_keys

_CHAT = Protocol.OPENAI_CHAT
_STREAM = default_origin("stream", "the reply is shown as it arrives")
_RULES = PairingRules(NAMES_64)
_STRICT_RULES = PairingRules(NAMES_64, longest_id=40)
"""“Expected a string with maximum length 40” (vercel/ai#5171)."""
_CAPTURED_RULES = PairingRules(NAMES_64, captured=True)
_MAX_STOPS = 4


def encode(envelope: ChatEnvelope, endpoint: Endpoint) -> Encoded:
    """Encode an envelope; see the module's rules."""
    facts = endpoint.facts_of(envelope.parameters.model.value)
    envelope, key_notes = with_accepted_keys(envelope, facts)
    request = RequestEncoder(envelope, endpoint)
    request.notes += key_notes
    breakpoints = not request.captured and facts.cache_breakpoints is True
    turns = request.paired_turns(_rules(request), SHARED, limits_marks=breakpoints)
    speaks = facts.output_media is None or "audio" in facts.output_media
    google = "gemini" in envelope.parameters.model.value.lower()
    strict = facts.strict_keys is True and is_openai_model(envelope.parameters.model.value)
    encode_turn = turn_encoder(bool(facts.developer_role), speaks, google, strict)
    messages = _messages(request, turns, encode_turn, sends_marks=breakpoints)
    body = [*request.model_items(), ("messages", Arr(tuple(messages)))]
    tools = _tools(request)
    has_tools = any(key == "tools" for key, _ in tools)
    body += [*tools, *_settings(request, has_tools=has_tools)]
    if not messages:
        request.notes.append(NOTHING_TO_SEND)
    return request.encoded("/chat/completions", Obj(tuple(request.with_extras(body))))


def _rules(request: RequestEncoder) -> PairingRules:
    """Return the requirements on calls and results. Gateways put signatures into long call ids
    and want them back whole, so the ids of a conversation of ours are cut for OpenAI only.
    """
    if request.captured:
        return _CAPTURED_RULES
    is_strict = request.facts.strict_keys is True or is_openai_model(request.model)
    return _STRICT_RULES if is_strict or request.is_converted else _RULES


def _messages(
    request: RequestEncoder,
    turns: Sequence[Turn],
    encode_turn: Callable[[Turn], TurnContent],
    *,
    sends_marks: bool,
) -> list[Tree]:
    """Return each turn as one message. What a tool result cannot hold follows in a user message,
    after all results of the same turn.
    """
    messages: list[Tree] = []
    follow_ups: list[Tree] = []
    for turn in turns:
        if follow_ups and turn.role != "tool":
            messages += follow_ups
            follow_ups = []
        message = encode_turn(turn)
        if sends_marks and has_marks(turn):
            messages.append(with_breakpoint(message.tree, "text", mark_origin(turn)))
            request.notes += without_mark_notes(message.notes)
        else:
            messages.append(message.tree)
            request.notes += message.notes
        if message.follows is not None:
            follow_ups.append(message.follows)
    return messages + follow_ups


def _tools(request: RequestEncoder) -> Items:
    functions = request.functions()
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
    return [*options, *items, *request.choice_items(functions, NESTED.write_choice)]


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


def _settings(request: RequestEncoder, *, has_tools: bool) -> Items:
    parameters, facts, captured = request.parameters, request.facts, request.captured
    items: Items = []
    limit = request.reply_limit()
    if limit is not None:
        key = facts.max_tokens_key or request.endpoint.max_tokens_key
        items.append((limit.origin.id if captured else key, setting_value(limit)))
    stop = request.stop_sequences(0 if facts.stop is False else _MAX_STOPS)
    effort = openai_effort(request)
    parallel = parameters.parallel_tool_calls
    if parallel is not None and not (has_tools or captured):
        request.leave_out(parallel, "parallel_tool_calls", "no tools are sent", Level.INFO)
        parallel = None
    items += request.scalars(SCALARS, stop=stop, effort=effort, parallel_tool_calls=parallel)
    if (form := openai_format(request)) is not None:
        items.append(("response_format", tree_of(NESTED.write_format(form.value), form.origin)))
    if parameters.stream:
        items.append(("stream", Lit(True, _STREAM)))
        if not captured and facts.stream_usage is not False:
            usage = Obj((("include_usage", Lit(True, _STREAM)),), _STREAM)
            items.append(("stream_options", usage))
            if request.is_converted:
                sentence = "The token usage of the stream is requested (include_usage)."
                request.notes.append(default_note(_STREAM, sentence))
    if captured:
        return request.with_namespace(items, ("stream",) if parameters.stream else ())
    return items + _unified_settings(request)


def _unified_settings(request: RequestEncoder) -> Items:
    """Return the settings that a captured request of this protocol has in its namespace."""
    parameters = request.parameters
    named = [
        ("verbosity", parameters.verbosity),
        ("n", parameters.replies),
        ("store", parameters.store),
    ]
    items: Items = [(key, setting_value(value)) for key, value in named if value is not None]
    items += request.logprob_items("logprobs", "top_logprobs")
    request.note_missing("reasoning_summary", "top_k")
    items += request.tier_items("service_tier", _TIERS)
    return [*items, *user_items(request), *shared_items(request)]
