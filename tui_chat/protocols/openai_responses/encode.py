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
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import cast

from tui_chat.models.block_turn import BlockTurn
from tui_chat.models.blocks import JsonObject, OpaqueBlock, form_of
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import ChatEnvelope, Level, Note, Parameters, Sourced, ToolDefinition
from tui_chat.models.flat.turns import blocks_of
from tui_chat.models.json_tree import Arr, Lit, Obj, Tree, tree_of
from tui_chat.models.memo import Memo
from tui_chat.models.semantics import UNSET, SessionSemantics
from tui_chat.protocols.base import Encoded
from tui_chat.protocols.common.call_pairing import PairingRules
from tui_chat.protocols.common.encoding import (
    NOTHING_TO_SEND,
    captured_origin,
    default_origin,
    tool_origin,
)
from tui_chat.protocols.common.loss_notes import default_note, with_key
from tui_chat.protocols.common.openai import SHARED, fitted_user, shared_items
from tui_chat.protocols.common.reasoning_effort import openai_effort
from tui_chat.protocols.common.request_encoder import RequestEncoder, with_hosted
from tui_chat.protocols.common.schemas import openai_format
from tui_chat.protocols.common.setting_rows import write_settings
from tui_chat.protocols.common.tools import NAMES_64, NAMES_128, definition_tree, tool_tree
from tui_chat.protocols.common.trees import object_of
from tui_chat.protocols.common.turn_fit import merged_text
from tui_chat.protocols.openai_responses.messages import INSTRUCTIONS
from tui_chat.protocols.openai_responses.sent_items import Target, sent_items
from tui_chat.protocols.openai_responses.settings import (
    AFTER_STREAM,
    BEFORE_STREAM,
    SEARCH_OPTIONS,
    TABLE,
    ResponsesSettings,
    write_function,
    write_hosted,
)

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
    marks = not request.captured and facts.cache_breakpoints is True
    turns = request.block_turns(rules, SHARED, limits_marks=marks)
    to = _shared_target(bool(facts.developer_role), request.captured, marks)
    body: JsonObject = dict(request.model_items())
    body |= _conversation(request, turns, to, may_be_empty=rules.open_ended)
    functions = request.functions()
    body |= _tools(request, functions)
    body |= _settings(request, functions)
    return request.encoded("/responses", object_of(body))


_shared_target = lru_cache(maxsize=8)(Target)


def _rules(request: RequestEncoder) -> PairingRules:
    semantics, captured = request.envelope.semantics, request.captured
    kept = bool(semantics.session.previous_response_id) and not request.is_converted
    settings = semantics.namespace(ResponsesSettings)
    for value in (settings.conversation, settings.prompt):
        kept = kept or (captured and value is not UNSET and bool(value))
    referred = captured and any(
        isinstance(block, OpaqueBlock) and block.name == "item_reference"
        for turn in request.envelope.turns
        for block in blocks_of(turn).blocks
    )
    return PairingRules(
        NAMES_128 if captured else NAMES_64,
        longest_id=0 if captured else _LONGEST_ID,
        adjacent=not captured,
        captured=captured,
        unique_ids=True,
        open_ended=kept or referred,
    )


def _conversation(
    request: RequestEncoder, turns: Sequence[BlockTurn], to: Target, *, may_be_empty: bool
) -> JsonObject:
    """Return `instructions` and `input`. `instructions` is sent only if a captured request had it;
    an input that was captured as one string is one again.

    `may_be_empty`: the provider keeps earlier turns, so that nothing new need be sent.
    """
    semantics = request.envelope.semantics
    shape = semantics.namespace(ResponsesSettings).input_shape
    body: JsonObject = {}
    if turns and form_of(turns[0], _RESPONSES) == INSTRUCTIONS:
        body["instructions"], turns = merged_text(turns[0]), turns[1:]
    items: list[Tree] = []
    for turn in turns:
        sent = sent_items(turn, to)
        items += sent.trees
        request.notes += sent.notes
    for tool in semantics.tools.native:
        if tool.protocol is _RESPONSES and tool.item is not None:
            items.insert(tool.item, tool_tree(json.loads(tool.data)))
    if shape == "string" and len(turns) == 1 == len(items):
        body["input"] = merged_text(turns[0])
    elif shape != "absent" or items:
        body["input"] = Arr(tuple(items))
    if not items and not may_be_empty:
        request.notes.append(NOTHING_TO_SEND)
    return body


def _tools(request: RequestEncoder, functions: Sequence[ToolDefinition]) -> JsonObject:
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
    return dict(request.tools_items(with_hosted(encoded, hosted)))


@Memo
def _tool(tool: ToolDefinition, captured: bool) -> Obj:
    if captured:
        return definition_tree(write_function(tool), tool)
    parameters = tool.parameters or {"type": "object", "properties": {}}
    # Responses takes a tool without the key for a strict one.
    tool = replace(tool, parameters=parameters, strict=tool.strict or False)
    return object_of(write_function(tool), tool_origin(tool.name))


# --- settings ----------------------------------------------------------------------------


def _settings(request: RequestEncoder, functions: Sequence[ToolDefinition]) -> JsonObject:
    """Return the keys of all settings."""
    captured = request.captured_keys(("stream",) if request.parameters.stream else ())
    parameters = _fitted_parameters(request, functions)
    skip = {*_GROUPED, *captured} if request.captured else ()
    settings = write_settings(parameters, BEFORE_STREAM, captured=request.captured, skip=skip)
    if parameters.stream:
        settings["stream"] = Lit(True, _STREAM)
    previous = request.envelope.semantics.session.previous_response_id
    if previous and not request.is_converted:
        origin = captured_origin("previous_response_id")
        settings["previous_response_id"] = tree_of(previous, origin)
    if request.captured:
        return _with_groups(settings, captured)
    if parameters.store is None:
        settings["store"] = Lit(request.endpoint.provider_keeps, _STORE)
    return settings | write_settings(parameters, AFTER_STREAM) | dict(shared_items(request))


_GROUPED = ("reasoning.summary", "text.verbosity")
"""Settings that a captured request has in a group, word for word."""


def _with_groups(settings: JsonObject, captured: JsonObject) -> JsonObject:
    """Return settings with the keys of a captured request over them. `reasoning` and `text` have
    the unified setting in them as well.
    """
    groups = {key: captured.pop(key) for key in ("reasoning", "text") if key in captured}
    for key, theirs in groups.items():
        ours = settings.get(key)
        if isinstance(ours, dict) and isinstance(theirs, dict):
            groups[key] = cast("JsonObject", ours) | cast("JsonObject", theirs)
    return settings | captured | groups


def _fitted_parameters(request: RequestEncoder, functions: Sequence[ToolDefinition]) -> Parameters:
    """Return the parameters as model and server accept them."""
    parameters = request.parameters
    choice = parameters.tool_choice if request.has_own_choice else request.tool_choice(functions)
    effort, limit = openai_effort(request), request.reply_limit()
    if limit is not None and not request.captured:
        limit = _raise_limit(limit, request)
    fitted = replace(parameters, tool_choice=choice, effort=effort, max_tokens=limit)
    fitted = request.accepted(fitted, TABLE)
    request.note_missing(
        *("stop", "seed", "top_k", "presence_penalty", "frequency_penalty", "replies")
    )
    summary = parameters.reasoning_summary if request.captured else _fitted_summary(request)
    fitted = replace(fitted, reasoning_summary=summary, response_format=openai_format(request))
    if request.captured:
        return fitted
    if parameters.store is None and request.is_converted:
        sentence = "The endpoint decides whether OpenAI keeps the conversation: store "
        sentence += "true." if request.endpoint.provider_keeps else "false."
        request.notes.append(default_note(_STORE, sentence))
    return replace(fitted, service_tier=request.service_tier(_TIERS), user_id=fitted_user(request))


def _fitted_summary(request: RequestEncoder) -> Sourced[str] | None:
    """Return the summary of reasoning that is asked for; None for none."""
    summary = request.parameters.reasoning_summary
    if summary is None:
        return None
    is_default = summary.value == "none"
    if request.facts.efforts != () and not is_default:
        return summary
    why = f"{request.model} does not reason"
    why = "no summary is sent without it" if is_default else why
    level = Level.INFO if is_default else Level.WARNING
    request.leave_out(summary, f"the reasoning summary “{summary.value}”", why, level)
    return None


_TIERS = {
    word: word for word in ("auto", "default", "flex", "scale", "priority", "fast", "ultrafast")
}


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
