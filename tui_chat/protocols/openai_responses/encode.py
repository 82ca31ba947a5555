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
from functools import lru_cache
from typing import Any

from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import ChatEnvelope, Level, Note, Sourced, ToolDefinition, Turn
from tui_chat.models.json_tree import Arr, Lit, Obj, Str, Tree, tree_of
from tui_chat.models.semantics import UNSET, SessionSemantics
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
    constant,
    default_origin,
    merge_extras,
    native_form,
    setting_value,
    tool_origin,
)
from tui_chat.protocols.common.loss_notes import (
    default_note,
    envelope_notes,
    missing_notes,
    setting_note,
    with_key,
)
from tui_chat.protocols.common.openai import FLAT, SHARED, shared_items, user_items
from tui_chat.protocols.common.reasoning_effort import openai_effort
from tui_chat.protocols.common.schemas import json_schema, openai_format
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
    tier_items,
    usable_tool_choice,
    write_scalars,
)
from tui_chat.protocols.common.tool_pairing import PairingRules, pair_tools
from tui_chat.protocols.common.tools import (
    NAMES_64,
    NAMES_128,
    sent_hosted_tools,
    sent_tools,
    tool_tree,
    with_hosted,
    with_native_tools,
)
from tui_chat.protocols.openai_responses.settings import (
    LOGPROBS,
    SCALARS,
    SEARCH_OPTIONS,
    ResponsesSettings,
    write_hosted,
)
from tui_chat.protocols.openai_responses.turn_content import turn_encoder

_RESPONSES = Protocol.OPENAI_RESPONSES
_STREAM = default_origin("stream", "the reply is shown as it arrives")
_STORE = default_origin("store", "whether the provider keeps the conversation, by the endpoint")
_LEAST_TOKENS = 16
_LONGEST_ID = 64
"""Characters of a call id: “Expected a string with maximum length 64” (dyad-sh/dyad#4304)."""


def encode(envelope: ChatEnvelope, endpoint: Endpoint) -> Encoded:
    """Encode an envelope; see the module's rules."""
    captured = envelope.semantics.source is _RESPONSES
    kept_notes: list[Note] = []
    if endpoint.provider_keeps and envelope.semantics.source is None:
        envelope, kept_notes = continue_from_kept(envelope)
    tools = envelope.tools or ()
    rules = _rules(envelope, captured)
    facts = endpoint.facts_of(envelope.parameters.model.value)
    breakpoints = not captured and facts.cache_breakpoints is True
    turns, marked = envelope.turns, list[Note]()
    if breakpoints:
        turns, marked = limit_cache_marks(turns, _RESPONSES)
    paired = pair_tools(
        turns,
        rules,
        [tool.name for tool in tools],
        envelope.semantics.tools.alias_map,
    )
    general = envelope_notes(envelope, _RESPONSES, SHARED)
    notes = [*kept_notes, *marked, *paired.notes]
    notes += without_mark_notes(general) if breakpoints else general
    model = envelope.parameters.model
    body: Items = [("model", setting_value(model))] if model.value or not captured else []
    messages, message_notes = _messages(
        envelope,
        paired.turns,
        _segment_encoder(bool(facts.developer_role), captured, breakpoints),
        may_be_empty=rules.open_ended,
    )
    body += messages
    notes += message_notes
    body += _tools(envelope, paired.aliases, notes)
    body += _settings(envelope, endpoint, notes)
    if captured:
        body = override(body, extra_items(envelope, _RESPONSES))
    return Encoded(
        "/responses",
        Obj(tuple(body)),
        notes=tuple(notes),
        aliases=tuple(paired.aliases.items()),
    )


def _rules(envelope: ChatEnvelope, captured: bool) -> PairingRules:
    semantics = envelope.semantics
    kept = bool(semantics.session.previous_response_id) and semantics.source in (None, _RESPONSES)
    settings = semantics.namespace(ResponsesSettings)
    for value in (settings.conversation, settings.prompt):
        kept = kept or (captured and value is not UNSET and bool(value))
    referred = captured and any(
        piece.name == "item_reference"
        for turn in envelope.turns
        if (layout := turn.semantics.layout) is not None
        for piece in layout.pieces
    )
    return PairingRules(
        NAMES_128 if captured else NAMES_64,
        longest_id=0 if captured else _LONGEST_ID,
        adjacent=not captured,
        in_call_order=not captured,
        unique_ids=True,
        open_ended=kept or referred,
    )


def _messages(
    envelope: ChatEnvelope,
    turns: Sequence[Turn],
    encode_segment: Callable[[Sequence[Turn]], Encoding],
    *,
    may_be_empty: bool,
) -> tuple[Items, list[Note]]:
    """Return `instructions` and `input`, and the notes. `instructions` is sent only if a captured
    request had it; an input that was captured as one string is one again.

    `may_be_empty`: the provider keeps earlier turns, so that nothing new need be sent.
    """
    shape = envelope.semantics.namespace(ResponsesSettings).input_shape
    body: Items = []
    form = native_form(turns[0], _RESPONSES) if turns else None
    if form is not None and form.slot == "instructions":
        body.append(("instructions", Str(turns[0].text)))
        turns = turns[1:]
    items, notes = encode_segments(encode_segment, turns)
    for tool in envelope.semantics.tools.native:
        if tool.protocol is _RESPONSES and tool.item is not None:
            items.insert(tool.item, tool_tree(json.loads(tool.data)))
    if shape == "string" and len(turns) == 1 == len(items):
        body.append(("input", Str(turns[0].text)))
    elif shape != "absent" or items:
        body.append(("input", Arr(tuple(items))))
    if not items and not may_be_empty:
        notes.append(NOTHING_TO_SEND)
    return body, notes


@lru_cache(maxsize=6)
def _segment_encoder(
    developer: bool, captured: bool, breakpoints: bool
) -> Callable[[Sequence[Turn]], Encoding]:
    """Return a function that encodes a segment, and remembers the result. `breakpoints`: cache
    marks are sent.
    """
    encode_plain = plain_turns(_RESPONSES, openai_roles(developer))
    encode_turn = turn_encoder(developer, captured)

    def encode_segment(turns: Sequence[Turn]) -> Encoding:
        items: list[Tree] = []
        notes: list[Note] = []
        for turn in turns:
            is_marked = breakpoints and has_marks(turn)
            if not is_marked and (plain := encode_plain(turn)) is not None:
                items.append(plain)
                continue
            content = encode_turn(turn)
            if is_marked:
                *before, last = content.items
                if isinstance(last, Obj):
                    last = with_breakpoint(last, "input_text", mark_origin(turn))
                items += [*before, last]
                notes += without_mark_notes(content.notes)
            else:
                items += content.items
                notes += content.notes
        return items, notes

    return run_memo(encode_segment)


def _tools(envelope: ChatEnvelope, aliases: dict[str, str], notes: list[Note]) -> Items:
    """Return the tools and the choice among them."""
    captured = envelope.semantics.source is _RESPONSES
    functions = sent_tools(envelope, _RESPONSES, aliases, notes)
    native = envelope.semantics.tools.native
    encoded = with_native_tools([_tool(tool, captured) for tool in functions], native, _RESPONSES)
    hosted = sent_hosted_tools(
        envelope, _RESPONSES, ("web_search", "code_execution"), SEARCH_OPTIONS, notes
    )
    encoded = with_hosted(
        encoded, [(each, tree_of(write_hosted(each.value), each.origin)) for each in hosted]
    )
    loose = [tool.name for tool in functions if tool.strict is None and not captured]
    if loose and envelope.semantics.source is not None:
        sentence = "Responses treats a tool as strict by default: "
        sentence += f"“strict: false” is sent for {', '.join(loose)}."
        notes.append(default_note(captured_origin("tools"), sentence))
    items: Items = []
    if encoded or (envelope.tools is not None and (captured or envelope.semantics.source is None)):
        items.append(("tools", Arr(encoded)))
    if captured and envelope.semantics.namespace(ResponsesSettings).tool_choice is not UNSET:
        return items  # the namespace has it
    choice = usable_tool_choice(
        envelope, _RESPONSES, [tool.name for tool in functions], aliases, notes
    )
    if choice is not None:
        items.append(("tool_choice", tree_of(FLAT.write_choice(choice.value), choice.origin)))
    return items


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


def _settings(envelope: ChatEnvelope, endpoint: Endpoint, notes: list[Note]) -> Items:
    parameters, namespace = envelope.parameters, envelope.semantics.namespace(ResponsesSettings)
    captured = envelope.semantics.source is _RESPONSES
    facts = endpoint.facts_of(parameters.model.value)
    unchanged = is_same_model(envelope, _RESPONSES)
    items: Items = []
    effort = parameters.effort if unchanged else openai_effort(parameters, facts, notes)
    limit = reply_limit(envelope, endpoint, notes)
    if limit is not None and not captured:
        limit = _raise_limit(limit, notes)
    items += write_scalars(SCALARS, envelope, endpoint, notes, max_tokens=limit, effort=effort)
    missing = ("stop", "seed", "top_k", "presence_penalty", "frequency_penalty", "replies")
    notes += missing_notes(_RESPONSES, parameters, *missing)
    reasoning: Items = [] if effort is None else [("effort", setting_value(effort))]
    summary = parameters.reasoning_summary
    if summary is not None and not captured:
        is_default = summary.value == "none"
        if facts.efforts == () or is_default:
            why = f"{parameters.model.value} does not reason"
            why = "no summary is sent without it" if is_default else why
            level = Level.INFO if is_default else Level.WARNING
            name = f"the reasoning summary “{summary.value}”"
            notes.append(setting_note(summary, name, why, level))
        else:
            reasoning.append(("summary", setting_value(summary)))
    if reasoning:
        items.append(("reasoning", Obj(tuple(reasoning))))
    form = (
        parameters.response_format
        if captured
        else openai_format(parameters.response_format, envelope, notes)
    )
    text: Items = []
    if form is not None:
        text.append(("format", tree_of(FLAT.write_format(form.value), form.origin)))
    if parameters.verbosity is not None and not captured:
        text.append(("verbosity", setting_value(parameters.verbosity)))
    if text:
        items.append(("text", Obj(tuple(text))))
    if parameters.stream:
        items.append(("stream", Lit(True, _STREAM)))
    previous = envelope.semantics.session.previous_response_id
    if previous and envelope.semantics.source in (None, _RESPONSES):
        items.append(
            ("previous_response_id", tree_of(previous, captured_origin("previous_response_id")))
        )
    if not captured and parameters.store is not None:
        items.append(("store", setting_value(parameters.store)))
    elif not captured:
        items.append(("store", Lit(endpoint.provider_keeps, _STORE)))
        if envelope.semantics.source is not None:
            encoded = "true" if endpoint.provider_keeps else "false"
            sentence = (
                f"The endpoint decides whether OpenAI keeps the conversation: store {encoded}."
            )
            notes.append(default_note(_STORE, sentence))
    if not captured:
        if (top := parameters.logprobs) is not None:
            if top.value:
                items.append(("top_logprobs", setting_value(top)))
            items.append(("include", tree_of([LOGPROBS], top.origin)))
        items += tier_items(envelope, _RESPONSES, "service_tier", _TIERS, notes)
        items += [*user_items(envelope, notes), *shared_items(envelope, notes)]
    if not captured and envelope.semantics.source is not None:
        return items
    skip = ("reasoning", "text", *(("stream",) if parameters.stream else ()))
    items = override(items, namespace_items(namespace, skip))
    for key in ("reasoning", "text"):
        value = getattr(namespace, key)
        if value is not UNSET:
            items = override(items, iter([(key, _merge_objects(dict(items).get(key), key, value))]))
    return items


_TIERS = {
    word: word for word in ("auto", "default", "flex", "scale", "priority", "fast", "ultrafast")
}


def _merge_objects(functions: Tree | None, key: str, value: Any) -> Tree:
    """Return an object merged from a unified setting and the namespace."""
    rest = tree_of(value, captured_origin(key))
    if isinstance(functions, Obj) and isinstance(rest, Obj):
        return Obj((*functions.items, *rest.items), functions.origin)
    return rest


def _raise_limit(limit: Sourced[int], notes: list[Note]) -> Sourced[int]:
    if limit.value >= _LEAST_TOKENS:
        return limit
    name = with_key(f"The reply limit of {limit.value}", limit.origin)
    sentence = f"{name} is raised to {_LEAST_TOKENS}, the minimum."
    notes.append(Note(Level.WARNING, "limit-raised", sentence, limit.origin))
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
