"""Encoding an envelope as an OpenAI Responses request.

1. `POST /responses`; `input` is a list of items. A message is `{role, content}`; a tool call
   and its result are items of their own, tied by `call_id`.
2. Reasoning items are replayed before what they led to, with their encrypted content.
3. `store` is false unless the endpoint or a captured request has another word: a conversation
   is kept here and not on the provider's side for a month. Where it is, see `kept`.
4. With `previous_response_id` or a kept conversation the calls of earlier turns are on the other
   side, so their outputs may stand alone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import ChatEnvelope, Level, Note, Sourced, ToolDefinition
from tui_chat.models.json_tree import Arr, Lit, Obj, Tree, tree_of
from tui_chat.models.semantics import UNSET, SessionSemantics
from tui_chat.protocols.base import Encoded
from tui_chat.protocols.common.encoding import (
    Items,
    boolean,
    captured_origin,
    constant,
    default_origin,
    merge_extras,
    setting_value,
)
from tui_chat.protocols.common.loss_notes import default_note, envelope_notes, unsupported_notes
from tui_chat.protocols.common.settings import (
    all_tools,
    extra_items,
    json_schema,
    namespace_items,
    openai_effort,
    openai_format,
    override,
    reply_limit,
    sampling_settings,
    usable_tool_choice,
)
from tui_chat.protocols.common.tool_names import NAMES_64, NAMES_128, rename_tool, unique_tools
from tui_chat.protocols.common.tool_pairing import PairingRules, pair_tools
from tui_chat.protocols.openai_responses.messages import encode_messages
from tui_chat.protocols.openai_responses.tools import write_choice, write_format

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
    paired = pair_tools(
        envelope.turns,
        rules,
        [tool.name for tool in tools],
        envelope.semantics.tools.alias_map,
    )
    notes = [*kept_notes, *paired.notes, *envelope_notes(envelope, _RESPONSES)]
    model = envelope.parameters.model
    body: Items = [("model", setting_value(model))] if model.value or not captured else []
    messages, message_notes = encode_messages(
        envelope, paired.turns, endpoint, may_be_empty=rules.open_ended
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
    settings = semantics.responses
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


def _tools(envelope: ChatEnvelope, aliases: dict[str, str], notes: list[Note]) -> Items:
    """Return the tools and the choice among them."""
    captured = envelope.semantics.source is _RESPONSES
    given = envelope.tools or ()
    functions = [
        rename_tool(tool, aliases) for tool in (given if captured else unique_tools(given, notes))
    ]
    native = envelope.semantics.tools.native
    encoded = all_tools([_tool(tool, captured) for tool in functions], native, _RESPONSES)
    loose = [tool.name for tool in functions if tool.strict is None and not captured]
    if loose and envelope.semantics.source is not None:
        sentence = "Nobody said whether these tools are strict, and Responses takes them to be: "
        sentence += f"strict false is sent for {', '.join(loose)}."
        notes.append(default_note(captured_origin("tools"), sentence))
    items: Items = []
    if encoded or (envelope.tools is not None and (captured or envelope.semantics.source is None)):
        items.append(("tools", Arr(encoded)))
    parallel = envelope.parameters.parallel_tool_calls
    if parallel is not None:
        items.append(("parallel_tool_calls", setting_value(parallel)))
    if captured and envelope.semantics.responses.tool_choice is not UNSET:
        return items  # the namespace has it
    choice = usable_tool_choice(
        envelope, _RESPONSES, [tool.name for tool in functions], aliases, notes
    )
    if choice is not None:
        items.append(("tool_choice", tree_of(write_choice(choice.value), choice.origin)))
    return items


def _tool(tool: ToolDefinition, captured: bool) -> Obj:
    items: Items = [("type", constant("function")), ("name", tree_of(tool.name))]
    if tool.description:
        items.append(("description", tree_of(tool.description)))
    if tool.parameters:
        items.append(("parameters", tree_of(json_schema(tool.parameters, tool.dialect))))
    elif not captured:
        items.append(("parameters", tree_of({"type": "object", "properties": {}})))
    if tool.strict is not None:
        items.append(("strict", Lit(tool.strict)))
    elif not captured:  # strict is what Responses takes a tool to be that says nothing
        items.append(("strict", Lit(False)))
    return Obj(
        tuple(merge_extras(items, tool.extras, captured_origin("tools")) if captured else items)
    )


def _settings(envelope: ChatEnvelope, endpoint: Endpoint, notes: list[Note]) -> Items:
    parameters, namespace = envelope.parameters, envelope.semantics.responses
    captured = envelope.semantics.source is _RESPONSES
    facts = endpoint.facts_of(parameters.model.value)
    items: Items = []
    wanted = [("temperature", parameters.temperature, 0, 2), ("top_p", parameters.top_p, 0, 1)]
    items += sampling_settings(wanted, parameters, facts, notes, captured=captured)
    limit = reply_limit(envelope, endpoint, notes)
    if limit is not None:
        limit = limit if captured else _raise_limit(limit, notes)
        items.append(("max_output_tokens", setting_value(limit)))
    missing = [
        ("stop", parameters.stop),
        ("seed", parameters.seed),
        ("top_k", parameters.top_k),
        ("presence_penalty", parameters.presence_penalty),
        ("frequency_penalty", parameters.frequency_penalty),
    ]
    notes += unsupported_notes(_RESPONSES, missing)
    if (reasoning := openai_effort(parameters, notes, captured=captured)) is not None:
        encoded = Obj((("effort", setting_value(reasoning)),), reasoning.origin)
        items.append(("reasoning", encoded))
    form = (
        parameters.response_format
        if captured
        else openai_format(parameters.response_format, envelope, notes)
    )
    if form is not None:
        encoded = tree_of(write_format(form.value), form.origin)
        items.append(("text", Obj((("format", encoded),), form.origin)))
    if parameters.stream:
        items.append(("stream", boolean(True, _STREAM)))
    previous = envelope.semantics.session.previous_response_id
    if previous and envelope.semantics.source in (None, _RESPONSES):
        items.append(
            ("previous_response_id", tree_of(previous, captured_origin("previous_response_id")))
        )
    if not captured:
        items.append(("store", boolean(endpoint.provider_keeps, _STORE)))
        if envelope.semantics.source is not None:
            encoded = "true" if endpoint.provider_keeps else "false"
            sentence = (
                f"Whether OpenAI keeps the conversation is said by the endpoint: store {encoded}."
            )
            notes.append(default_note(_STORE, sentence))
    if not captured and envelope.semantics.source is not None:
        return items
    skip = ("input_shape", "reasoning", "text", *(("stream",) if parameters.stream else ()))
    items = override(items, namespace_items(namespace, skip))
    for key in ("reasoning", "text"):
        value = getattr(namespace, key)
        if value is not UNSET:
            items = override(items, iter([(key, _merge_objects(dict(items).get(key), key, value))]))
    return items


def _merge_objects(functions: Tree | None, key: str, value: Any) -> Tree:
    """Return an object of which the namespace holds what no unified field does."""
    rest = tree_of(value, captured_origin(key))
    if isinstance(functions, Obj) and isinstance(rest, Obj):
        return Obj((*functions.items, *rest.items), functions.origin)
    return rest


def _raise_limit(limit: Sourced[int], notes: list[Note]) -> Sourced[int]:
    if limit.value >= _LEAST_TOKENS:
        return limit
    sentence = f"The reply limit of {limit.value} is raised to {_LEAST_TOKENS}, the least there is."
    notes.append(Note(Level.WARNING, "limit-raised", sentence, limit.origin))
    return Sourced(_LEAST_TOKENS, limit.origin)


def continue_from_kept(envelope: ChatEnvelope) -> tuple[ChatEnvelope, list[Note]]:
    """Return what is new since the newest reply that the provider keeps, tied to that reply, and
    a note about the rest. The envelope itself where there is no such reply, or nothing new.
    """
    turns = envelope.turns
    for index in range(len(turns) - 2, -1, -1):
        turn = turns[index]
        kept = turn.semantics.kept_as
        if turn.role == "assistant" and kept is not None and kept.fits(turn.text.plain):
            session = SessionSemantics(previous_response_id=kept.id)
            semantics = replace(envelope.semantics, session=session)
            sentence = (
                f"What came before is not sent again: the provider keeps it, as it was sent then, "
                f"under {kept.id}."
            )
            note = Note(Level.INFO, "kept-by-provider", sentence, turn.origin)
            return replace(envelope, turns=turns[index + 1 :], semantics=semantics), [note]
    return envelope, []
