"""Encode an envelope as an OpenAI Responses request.

1. `POST /responses`; `input` is a list of items. A message is `{role, content}`; a tool call
   and its result are separate items, connected by `call_id`.
2. Reasoning items are sent before the items that they led to, with their encrypted content.
3. `store` is false unless the endpoint or a captured request sets it: a conversation is kept
   here, not at the provider for a month. For the other case see `kept`.
4. With `previous_response_id` or a kept conversation the provider has the calls of earlier turns,
   so their outputs need no call in the request.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import ChatEnvelope, Level, Note, Sourced, ToolDefinition, Turn
from tui_chat.models.json_tree import Arr, Lit, Obj, Str, Tree, tree_of
from tui_chat.models.memo import Memo
from tui_chat.models.semantics import UNSET, SessionSemantics
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
    constant,
    default_origin,
    merge_extras,
    native_form,
    setting_value,
    tool_origin,
)
from tui_chat.protocols.common.loss_notes import default_note, with_key
from tui_chat.protocols.common.openai import FLAT, SHARED, shared_items, user_items
from tui_chat.protocols.common.reasoning_effort import openai_effort
from tui_chat.protocols.common.request_encoder import RequestEncoder, merged_items, with_hosted
from tui_chat.protocols.common.schemas import json_schema, openai_format
from tui_chat.protocols.common.tool_pairing import PairingRules
from tui_chat.protocols.common.tools import NAMES_64, NAMES_128, tool_tree
from tui_chat.protocols.openai_responses.settings import (
    LOGPROBS,
    SCALARS,
    SEARCH_OPTIONS,
    ResponsesSettings,
    write_hosted,
)
from tui_chat.protocols.openai_responses.turn_content import TurnContent, turn_encoder

_RESPONSES = Protocol.OPENAI_RESPONSES
_STREAM = default_origin("stream", "the reply is shown as it arrives")
_STORE = default_origin("store", "whether the provider keeps the conversation, by the endpoint")
_LEAST_TOKENS = 16
_LONGEST_ID = 64
"""Characters of a call id: “Expected a string with maximum length 64” (dyad-sh/dyad#4304)."""


def encode(envelope: ChatEnvelope, endpoint: Endpoint) -> Encoded:
    """Encode an envelope; see the module's rules."""
    kept_notes: list[Note] = []
    if endpoint.provider_keeps and envelope.semantics.source is None:
        envelope, kept_notes = continue_from_kept(envelope)
    request = RequestEncoder(envelope, endpoint)
    request.notes += kept_notes
    rules, facts = _rules(request), request.facts
    breakpoints = not request.captured and facts.cache_breakpoints is True
    turns = request.paired_turns(rules, SHARED, limits_marks=breakpoints)
    encode_turn = turn_encoder(bool(facts.developer_role), request.captured)
    body = request.model_items()
    body += _messages(
        request, turns, encode_turn, sends_marks=breakpoints, may_be_empty=rules.open_ended
    )
    body += [*_tools(request), *_settings(request)]
    return request.encoded("/responses", Obj(tuple(request.with_extras(body))))


def _rules(request: RequestEncoder) -> PairingRules:
    semantics, captured = request.envelope.semantics, request.captured
    kept = bool(semantics.session.previous_response_id) and not request.is_converted
    settings = semantics.namespace(ResponsesSettings)
    for value in (settings.conversation, settings.prompt):
        kept = kept or (captured and value is not UNSET and bool(value))
    referred = captured and any(
        piece.name == "item_reference"
        for turn in request.envelope.turns
        if (layout := turn.semantics.layout) is not None
        for piece in layout.pieces
    )
    return PairingRules(
        NAMES_128 if captured else NAMES_64,
        longest_id=0 if captured else _LONGEST_ID,
        adjacent=not captured,
        captured=captured,
        unique_ids=True,
        open_ended=kept or referred,
    )


def _messages(
    request: RequestEncoder,
    turns: Sequence[Turn],
    encode_turn: Callable[[Turn], TurnContent],
    *,
    sends_marks: bool,
    may_be_empty: bool,
) -> Items:
    """Return `instructions` and `input`. `instructions` is sent only if a captured request had it;
    an input that was captured as one string is one again.

    `may_be_empty`: the provider keeps earlier turns, so that nothing new need be sent.
    """
    semantics = request.envelope.semantics
    shape = semantics.namespace(ResponsesSettings).input_shape
    body: Items = []
    form = native_form(turns[0], _RESPONSES) if turns else None
    if form is not None and form.slot == "instructions":
        body.append(("instructions", Str(turns[0].text)))
        turns = turns[1:]
    items: list[Tree] = []
    for turn in turns:
        content = encode_turn(turn)
        if sends_marks and has_marks(turn):
            *before, last = content.items
            if isinstance(last, Obj):
                last = with_breakpoint(last, "input_text", mark_origin(turn))
            items += [*before, last]
            request.notes += without_mark_notes(content.notes)
        else:
            items += content.items
            request.notes += content.notes
    for tool in semantics.tools.native:
        if tool.protocol is _RESPONSES and tool.item is not None:
            items.insert(tool.item, tool_tree(json.loads(tool.data)))
    if shape == "string" and len(turns) == 1 == len(items):
        body.append(("input", Str(turns[0].text)))
    elif shape != "absent" or items:
        body.append(("input", Arr(tuple(items))))
    if not items and not may_be_empty:
        request.notes.append(NOTHING_TO_SEND)
    return body


def _tools(request: RequestEncoder) -> Items:
    functions = request.functions()
    encoded = request.with_native_tools([_tool(tool, request.captured) for tool in functions])
    hosted = [
        (tool, tree_of(write_hosted(tool.value), tool.origin))
        for tool in request.hosted_tools(("web_search", "code_execution"), SEARCH_OPTIONS)
    ]
    loose = [tool.name for tool in functions if tool.strict is None]
    if loose and request.is_converted:
        sentence = "Responses treats a tool as strict by default: "
        sentence += f"“strict: false” is sent for {', '.join(loose)}."
        request.notes.append(default_note(captured_origin("tools"), sentence))
    return [
        *request.tools_items(with_hosted(encoded, hosted)),
        *request.choice_items(functions, FLAT.write_choice),
    ]


@Memo
def _tool(tool: ToolDefinition, captured: bool) -> Obj:
    origin = tool_origin(tool.name)
    items: Items = [("type", constant("function")), ("name", tree_of(tool.name, origin))]
    if tool.description:
        items.append(("description", tree_of(tool.description, origin)))
    if tool.parameters:
        items.append(("parameters", tree_of(json_schema(tool.parameters, tool.dialect), origin)))
    elif not captured:
        items.append(("parameters", tree_of({"type": "object", "properties": {}}, origin)))
    if tool.strict is not None:
        items.append(("strict", Lit(tool.strict, origin)))
    elif not captured:  # Responses assumes strict for a tool without the key
        items.append(("strict", Lit(False, origin)))
    return Obj(tuple(merge_extras(items, tool.extras, origin) if captured else items), origin)


def _settings(request: RequestEncoder) -> Items:
    parameters, captured = request.parameters, request.captured
    effort, limit = openai_effort(request), request.reply_limit()
    if limit is not None and not captured:
        limit = _raise_limit(limit, request)
    items = request.scalars(SCALARS, max_tokens=limit, effort=effort)
    request.note_missing(
        *("stop", "seed", "top_k", "presence_penalty", "frequency_penalty", "replies")
    )
    reasoning: Items = [] if effort is None else [("effort", setting_value(effort))]
    reasoning += _summary_items(request)
    if reasoning:
        items.append(("reasoning", Obj(tuple(reasoning))))
    text: Items = []
    if (form := openai_format(request)) is not None:
        text.append(("format", tree_of(FLAT.write_format(form.value), form.origin)))
    if parameters.verbosity is not None and not captured:
        text.append(("verbosity", setting_value(parameters.verbosity)))
    if text:
        items.append(("text", Obj(tuple(text))))
    if parameters.stream:
        items.append(("stream", Lit(True, _STREAM)))
    previous = request.envelope.semantics.session.previous_response_id
    if previous and not request.is_converted:
        origin = captured_origin("previous_response_id")
        items.append(("previous_response_id", tree_of(previous, origin)))
    if not captured:
        items += _unified_settings(request)
    if request.is_converted:
        return items
    namespace = request.envelope.semantics.namespace(ResponsesSettings)
    skip = ("reasoning", "text", *(("stream",) if parameters.stream else ()))
    items = request.with_namespace(items, skip)
    for key in ("reasoning", "text"):
        value = getattr(namespace, key)
        if value is not UNSET:
            items = merged_items(items, [(key, _merge_objects(dict(items).get(key), key, value))])
    return items


def _summary_items(request: RequestEncoder) -> Items:
    summary = request.parameters.reasoning_summary
    if summary is None or request.captured:
        return []
    is_default = summary.value == "none"
    if request.facts.efforts != () and not is_default:
        return [("summary", setting_value(summary))]
    why = f"{request.model} does not reason"
    why = "no summary is sent without it" if is_default else why
    level = Level.INFO if is_default else Level.WARNING
    request.leave_out(summary, f"the reasoning summary “{summary.value}”", why, level)
    return []


def _unified_settings(request: RequestEncoder) -> Items:
    """Return the settings that a captured request of this protocol has in its namespace."""
    parameters = request.parameters
    items: Items = []
    if parameters.store is not None:
        items.append(("store", setting_value(parameters.store)))
    else:
        keeps = request.endpoint.provider_keeps
        items.append(("store", Lit(keeps, _STORE)))
        if request.is_converted:
            sentence = "The endpoint decides whether OpenAI keeps the conversation: store "
            sentence += "true." if keeps else "false."
            request.notes.append(default_note(_STORE, sentence))
    if (top := parameters.logprobs) is not None:
        if top.value:
            items.append(("top_logprobs", setting_value(top)))
        items.append(("include", tree_of([LOGPROBS], top.origin)))
    items += request.tier_items("service_tier", _TIERS)
    return [*items, *user_items(request), *shared_items(request)]


_TIERS = {
    word: word for word in ("auto", "default", "flex", "scale", "priority", "fast", "ultrafast")
}


def _merge_objects(unified: Tree | None, key: str, value: Any) -> Tree:
    """Return an object merged from a unified setting and the namespace."""
    rest = tree_of(value, captured_origin(key))
    if isinstance(unified, Obj) and isinstance(rest, Obj):
        return Obj((*unified.items, *rest.items), unified.origin)
    return rest


def _raise_limit(limit: Sourced[int], request: RequestEncoder) -> Sourced[int]:
    if limit.value >= _LEAST_TOKENS:
        return limit
    name = with_key(f"The reply limit of {limit.value}", limit.origin)
    sentence = f"{name} is raised to {_LEAST_TOKENS}, the minimum."
    request.notes.append(Note(Level.WARNING, "limit-raised", sentence, limit.origin))
    return Sourced(_LEAST_TOKENS, limit.origin)


def continue_from_kept(envelope: ChatEnvelope) -> tuple[ChatEnvelope, list[Note]]:
    """Return the turns after the newest reply that the provider keeps, tied to that reply, and a
    note. The envelope itself if there is no such reply, or nothing new.
    """
    turns = envelope.turns
    for index in range(len(turns) - 2, -1, -1):
        turn = turns[index]
        kept = turn.semantics.kept_as
        if turn.role == "assistant" and kept is not None and kept.fits(turn.text.plain):
            session = SessionSemantics(previous_response_id=kept.id)
            semantics = replace(envelope.semantics, session=session)
            sentence = (
                f"Earlier messages are not sent again: the provider keeps them, as they were sent, "
                f"under {kept.id}."
            )
            note = Note(Level.INFO, "kept-by-provider", sentence, turn.origin)
            return replace(envelope, turns=turns[index + 1 :], semantics=semantics), [note]
    return envelope, []
