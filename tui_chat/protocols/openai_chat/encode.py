"""Encode an envelope as an OpenAI Chat Completions request.

1. `POST /chat/completions`; roles as they are, `developer` if the model requires it; system
   messages may be anywhere, consecutive equal roles are allowed.
2. Every tool call is directly followed by the tool messages that answer it.
3. `stream_options.include_usage` requests the usage, which a stream otherwise lacks; it is not sent
   to a server that refuses the setting.
4. A captured request is encoded as it was, with its undocumented keys.

Keys of a captured request that OpenAI does not document: vendors' own, and cache marks.

Many servers of this protocol have additional keys, so they are passed on, with a warning. For a
server that is known to refuse unknown keys they are left out, with a warning.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, cast
from urllib.parse import urlsplit

from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import ChatEnvelope, Level, Note, Sourced, Turn
from tui_chat.models.json_text import to_json
from tui_chat.models.json_tree import Arr, Lit, Obj, Tree, tree_of
from tui_chat.models.model_facts import is_openai_model
from tui_chat.models.semantics import UNSET, HostedTool
from tui_chat.protocols.base import Encoded
from tui_chat.protocols.common.cache_marks import (
    has_marks,
    limit_cache_marks,
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
from tui_chat.protocols.common.loss_notes import (
    default_note,
    envelope_notes,
    missing_notes,
    setting_note,
)
from tui_chat.protocols.common.openai import NESTED, SHARED, shared_items, user_items, write_tool
from tui_chat.protocols.common.reasoning_effort import openai_effort
from tui_chat.protocols.common.schemas import openai_format
from tui_chat.protocols.common.segments import (
    Encoding,
    encode_segments,
    openai_roles,
    plain_turns,
    run_memo,
)
from tui_chat.protocols.common.settings import (
    extra_items,
    is_same_model,
    namespace_items,
    override,
    reply_limit,
    stop_sequences,
    tier_items,
    usable_tool_choice,
    write_scalars,
)
from tui_chat.protocols.common.tool_pairing import PairingRules, pair_tools, variant
from tui_chat.protocols.common.tools import (
    NAMES_64,
    sent_hosted_tools,
    sent_tools,
    tool_left_out,
    with_hosted,
    with_native_tools,
)
from tui_chat.protocols.openai_chat.reasoning_fields import write_reasoning
from tui_chat.protocols.openai_chat.settings import (
    OPENAI_OPTIONS,
    OPENROUTER_OPTIONS,
    SCALARS,
    OpenAIChatSettings,
    searches,
    write_openrouter,
    write_options,
)
from tui_chat.protocols.openai_chat.turn_content import turn_encoder

_DOCUMENTED = frozenset(
    {"refusal", "audio", "annotations", "tool_calls", "function_call", "name", "content"}
    | {"type", "image_url", "input_audio", "file", "function", "custom", "prompt_cache_breakpoint"}
)
"""Keys that may remain of a message, a part, a call or a tool."""
_INNER = {
    "function": frozenset({"name", "arguments", "description", "parameters", "strict"}),
    "function_call": frozenset({"name", "arguments"}),
    "custom": frozenset({"name", "input", "description", "format"}),
    "image_url": frozenset({"url", "detail"}),
    "input_audio": frozenset({"data", "format"}),
    "file": frozenset({"file_id", "file_data", "filename"}),
}
"""Keys that objects among these may have."""
_CHAT = Protocol.OPENAI_CHAT
_STREAM = default_origin("stream", "the reply is shown as it arrives")
_RULES = PairingRules(NAMES_64)
_STRICT_RULES = PairingRules(NAMES_64, longest_id=40)
"""“Expected a string with maximum length 40” (vercel/ai#5171)."""
_CAPTURED_RULES = PairingRules(NAMES_64, in_call_order=False)
_MAX_STOPS = 4


def unknown_keys(envelope: ChatEnvelope) -> list[str]:
    """Return the keys that OpenAI does not document, in order, each once."""
    keys = dict.fromkeys(envelope.semantics.provider_extras.get(_CHAT, {}))
    for turn in envelope.turns:
        keys |= dict.fromkeys(_unknown_in_turn(turn))
    for tool in envelope.tools or ():
        keys |= dict.fromkeys(_unknown_in(tool.extras))
    return list(keys)


def unknown_keys_note(keys: list[str], *, left_out: bool) -> Note:
    """Return the note for keys that are passed on, or left out."""
    sentence = (
        f"Left out, since this server refuses unknown keys: {', '.join(keys)}."
        if left_out
        else f"Sent unchanged, although OpenAI itself refuses them: {', '.join(keys)}."
    )
    return Note(Level.WARNING, "unknown-keys", sentence, captured_origin("unknown keys"))


def remove_unknown_keys(envelope: ChatEnvelope) -> ChatEnvelope:
    """Return the envelope without the keys that OpenAI does not document."""
    turns = tuple(
        variant(turn, "documented", _without_unknown)
        if any(True for _ in _unknown_in_turn(turn))
        else turn
        for turn in envelope.turns
    )
    tools = envelope.tools
    if tools is not None:
        tools = tuple(replace(tool, extras=_documented_only(tool.extras)) for tool in tools)
    semantics = replace(envelope.semantics, provider_extras={})
    return replace(envelope, turns=turns, tools=tools, semantics=semantics)


def _unknown_in_turn(turn: Turn) -> Iterator[str]:
    form, layout = turn.semantics.wire, turn.semantics.layout
    pieces = layout.pieces if layout is not None else ()
    for text in (form.extras if form else "", *(piece.extras for piece in pieces)):
        yield from _unknown_in(text)
    yield from write_reasoning(turn.semantics.reasoning)
    if any(piece.cache for piece in pieces):
        yield "cache_control"


def _without_unknown(turn: Turn) -> Turn:
    form, layout = turn.semantics.wire, turn.semantics.layout
    if form is not None:
        form = replace(form, extras=_documented_only(form.extras))
    if layout is not None:
        pieces = (
            replace(piece, extras=_documented_only(piece.extras), cache="")
            for piece in layout.pieces
            if piece.kind != "reasoning"
        )
        layout = replace(layout, pieces=tuple(pieces))
    semantics = replace(turn.semantics, wire=form, layout=layout, reasoning=())
    return replace(turn, semantics=semantics)


def _unknown_in(extras: str) -> Iterator[str]:
    """Yield the undocumented keys of what is left of an object, those one level down as
    `function.key`.
    """
    for key, value in _load_extras(extras).items():
        if key not in _DOCUMENTED:
            yield key
        elif isinstance(value, dict) and key in _INNER:
            inner = cast("dict[str, Any]", value)
            yield from (f"{key}.{name}" for name in inner if name not in _INNER[key])


def _documented_only(extras: str) -> str:
    """Return what is left of an object without its undocumented keys."""
    fields: dict[str, Any] = {}
    for key, value in _load_extras(extras).items():
        if key not in _DOCUMENTED:
            continue
        if isinstance(value, dict) and key in _INNER:
            inner = cast("dict[str, Any]", value)
            value = {name: inner[name] for name in inner if name in _INNER[key]}
            if not value:
                continue
        fields[key] = value
    return to_json(fields) if fields else ""


def _load_extras(extras: str) -> dict[str, Any]:
    return cast("dict[str, Any]", json.loads(extras)) if extras else {}


def encode(envelope: ChatEnvelope, endpoint: Endpoint) -> Encoded:
    """Encode an envelope; see the module's rules."""
    captured = envelope.semantics.source is _CHAT
    model = envelope.parameters.model
    facts = endpoint.facts_of(model.value)
    key_notes: list[Note] = []
    if captured and facts.strict_keys is not False and (keys := unknown_keys(envelope)):
        key_notes.append(unknown_keys_note(keys, left_out=facts.strict_keys is True))
        if facts.strict_keys:
            envelope = remove_unknown_keys(envelope)
    tools = envelope.tools or ()
    breakpoints = not captured and facts.cache_breakpoints is True
    turns, marked = envelope.turns, list[Note]()
    if breakpoints:
        turns, marked = limit_cache_marks(turns, _CHAT)
    paired = pair_tools(
        turns,
        _CAPTURED_RULES if captured else _rules(envelope, endpoint),
        [tool.name for tool in tools],
        envelope.semantics.tools.alias_map,
    )
    general = envelope_notes(envelope, _CHAT, SHARED)
    notes = [*key_notes, *marked, *paired.notes]
    notes += without_mark_notes(general) if breakpoints else general
    speaks = facts.output_media is None or "audio" in facts.output_media
    encode_segment = _segment_encoder(bool(facts.developer_role), breakpoints, speaks)
    messages, message_notes = encode_segments(encode_segment, paired.turns)
    notes += message_notes
    body: Items = [("model", setting_value(model))] if model.value or not captured else []
    body.append(("messages", Arr(tuple(messages))))
    sent = _tools(envelope, endpoint, paired.aliases, notes, may_be_empty=not facts.strict_keys)
    has_tools = any(key == "tools" and value != Arr(()) for key, value in sent)
    body += [*sent, *_settings(envelope, endpoint, notes, has_tools=has_tools)]
    if captured:
        body = override(body, extra_items(envelope, _CHAT))
    if not messages:
        notes.append(NOTHING_TO_SEND)
    return Encoded(
        "/chat/completions",
        Obj(tuple(body)),
        notes=tuple(notes),
        aliases=tuple(paired.aliases.items()),
    )


def _rules(envelope: ChatEnvelope, endpoint: Endpoint) -> PairingRules:
    """Return the requirements on calls and results. Gateways put signatures into long call ids
    and want them back whole, so the ids of a conversation of ours are cut for OpenAI only.
    """
    model = envelope.parameters.model.value
    is_strict = endpoint.facts_of(model).strict_keys is True or is_openai_model(model)
    return _STRICT_RULES if is_strict or envelope.semantics.source is not None else _RULES


@lru_cache(maxsize=8)
def _segment_encoder(
    developer: bool, breakpoints: bool, speaks: bool
) -> Callable[[Sequence[Turn]], Encoding]:
    """Return a function that encodes a segment, each turn as one message, and remembers the result.
    What a tool result cannot hold follows in a user message, after all results of the same turn.
    `breakpoints`: cache marks are sent. `speaks`: spoken replies are sent by their ids.
    """
    encode_plain, encode_turn = (
        plain_turns(_CHAT, openai_roles(developer)),
        turn_encoder(developer, speaks),
    )

    def encode_segment(turns: Sequence[Turn]) -> Encoding:
        messages: list[Tree] = []
        notes: list[Note] = []
        follow_ups: list[Tree] = []
        for turn in turns:
            if follow_ups and turn.role != "tool":
                messages += follow_ups
                follow_ups = []
            is_marked = breakpoints and has_marks(turn)
            if not is_marked and (plain := encode_plain(turn)) is not None:
                messages.append(plain)
                continue
            message = encode_turn(turn)
            if is_marked:
                messages.append(with_breakpoint(message.tree, "text", mark_origin(turn)))
                notes += without_mark_notes(message.notes)
            else:
                messages.append(message.tree)
                notes += message.notes
            if message.follows is not None:
                follow_ups.append(message.follows)
        return messages + follow_ups, notes

    return run_memo(encode_segment)


def _tools(
    envelope: ChatEnvelope,
    endpoint: Endpoint,
    aliases: dict[str, str],
    notes: list[Note],
    *,
    may_be_empty: bool,
) -> Items:
    """Return the tools and the choice among them."""
    captured = envelope.semantics.source is _CHAT
    functions = sent_tools(envelope, _CHAT, aliases, notes)
    encoded = with_native_tools(
        [write_tool(tool, captured=captured) for tool in functions],
        envelope.semantics.tools.native,
        _CHAT,
    )
    search, options = _web_search(envelope, endpoint, notes)
    encoded = with_hosted(encoded, search)
    items: Items = options
    if encoded:
        items.append(("tools", Arr(encoded)))
    elif envelope.tools is not None and (captured or envelope.semantics.source is None):
        sentence = "An empty list of tools is sent; OpenAI itself refuses one."
        if may_be_empty:
            items.append(("tools", Arr(encoded)))
        else:
            sentence = "An empty list of tools is left out: this server refuses one."
        notes.append(Note(Level.WARNING, "tools-empty", sentence, captured_origin("tools")))
    if captured and envelope.semantics.namespace(OpenAIChatSettings).tool_choice is not UNSET:
        return items  # the namespace has it
    choice = usable_tool_choice(envelope, _CHAT, [tool.name for tool in functions], aliases, notes)
    if choice is not None:
        items.append(("tool_choice", tree_of(NESTED.write_choice(choice.value), choice.origin)))
    return items


def _web_search(
    envelope: ChatEnvelope, endpoint: Endpoint, notes: list[Note]
) -> tuple[list[tuple[Sourced[HostedTool], Tree]], Items]:
    """Return the web search as a tool, which OpenRouter has, or as the setting of OpenAI."""
    is_router = urlsplit(endpoint.base_url).hostname == "openrouter.ai"
    options = OPENROUTER_OPTIONS if is_router else OPENAI_OPTIONS
    hosted = sent_hosted_tools(envelope, _CHAT, ("web_search",), options, notes)
    if not hosted:
        return [], []
    if is_router:
        return [(each, tree_of(write_openrouter(each.value), each.origin)) for each in hosted], []
    model = envelope.parameters.model.value
    if not searches(model):
        why = f"{model} refuses it; only OpenAI's search models accept it in OpenAI Chat"
        notes += [tool_left_out(each.value, why, each.origin) for each in hosted]
        return [], []
    first = hosted[0]
    return [], [("web_search_options", tree_of(write_options(first.value), first.origin))]


_TIERS = {word: word for word in ("auto", "default", "flex", "scale", "priority", "fast")}
_TIERS["ultrafast"] = "fast"


def _settings(
    envelope: ChatEnvelope, endpoint: Endpoint, notes: list[Note], *, has_tools: bool
) -> Items:
    parameters, namespace = envelope.parameters, envelope.semantics.namespace(OpenAIChatSettings)
    captured = envelope.semantics.source is _CHAT
    unchanged = is_same_model(envelope, _CHAT)
    facts = endpoint.facts_of(parameters.model.value)
    items: Items = []
    limit = reply_limit(envelope, endpoint, notes)
    if limit is not None:
        key = facts.max_tokens_key or endpoint.max_tokens_key
        items.append((limit.origin.id if captured else key, setting_value(limit)))
    most = 0 if facts.stop is False else _MAX_STOPS
    stop = parameters.stop if captured else stop_sequences(parameters.stop, most, notes)
    effort = parameters.effort if unchanged else openai_effort(parameters, facts, notes)
    parallel = parameters.parallel_tool_calls
    if parallel is not None and not (has_tools or captured):
        why = "no tools are sent"
        notes.append(setting_note(parallel, "parallel_tool_calls", why, Level.INFO))
        parallel = None
    items += write_scalars(
        SCALARS, envelope, endpoint, notes, stop=stop, effort=effort, parallel_tool_calls=parallel
    )
    form = (
        parameters.response_format
        if captured
        else openai_format(parameters.response_format, envelope, notes)
    )
    if form is not None:
        items.append(("response_format", tree_of(NESTED.write_format(form.value), form.origin)))
    if parameters.stream:
        items.append(("stream", Lit(True, _STREAM)))
        if not captured and facts.stream_usage is not False:
            usage = Obj((("include_usage", Lit(True, _STREAM)),), _STREAM)
            items.append(("stream_options", usage))
            if envelope.semantics.source is not None:
                sentence = "The token usage of the stream is requested (include_usage)."
                notes.append(default_note(_STREAM, sentence))
    if not captured:
        items += _unified_settings(envelope, notes)
    else:
        skip = ("stream",) if parameters.stream else ()
        items = override(items, namespace_items(namespace, skip))
    return items


def _unified_settings(envelope: ChatEnvelope, notes: list[Note]) -> Items:
    """Return the settings that a captured request of this protocol has in its namespace."""
    parameters = envelope.parameters
    items: Items = []
    named = [
        ("verbosity", parameters.verbosity),
        ("n", parameters.replies),
        ("store", parameters.store),
    ]
    items += [(key, setting_value(value)) for key, value in named if value is not None]
    if (top := parameters.logprobs) is not None:
        items.append(("logprobs", Lit(True, top.origin)))
        if top.value:
            items.append(("top_logprobs", setting_value(top)))
    notes += missing_notes(_CHAT, parameters, "reasoning_summary", "top_k")
    items += tier_items(envelope, _CHAT, "service_tier", _TIERS, notes)
    return [
        *items,
        *user_items(envelope, notes),
        *shared_items(envelope, notes, target_is_chat=True),
    ]
