"""Encoding an envelope as an OpenAI Chat Completions request.

1. `POST /chat/completions`; roles as they are, `developer` where the model wants it; system
   messages may stand anywhere, consecutive equal roles are allowed.
2. Every tool call is answered by tool messages right behind it.
3. `stream_options.include_usage` asks for the usage that a stream otherwise lacks; a server that
   refuses the setting is not asked.
4. A captured request is encoded as it was, what nobody documents included (see `unknown_keys`).
"""

from __future__ import annotations

import math
from typing import Any

from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import ChatEnvelope, Level, Note, ToolDefinition
from tui_chat.models.json_tree import Arr, Obj, tree_of
from tui_chat.models.model_facts import is_openai_model
from tui_chat.models.semantics import UNSET
from tui_chat.protocols.base import Encoded
from tui_chat.protocols.common.encoding import (
    NOTHING_TO_SEND,
    Items,
    boolean,
    captured_origin,
    constant,
    default_origin,
    merge_extras,
    setting_value,
)
from tui_chat.protocols.common.loss_notes import (
    default_note,
    envelope_notes,
    setting_note,
    unsupported_notes,
)
from tui_chat.protocols.common.settings import (
    all_tools,
    extra_items,
    json_schema,
    namespace_items,
    numeric_settings,
    openai_effort,
    openai_format,
    override,
    reply_limit,
    sampling_settings,
    stop_sequences,
    usable_tool_choice,
)
from tui_chat.protocols.common.tool_names import NAMES_64, rename_tool, unique_tools
from tui_chat.protocols.common.tool_pairing import PairingRules, pair_tools
from tui_chat.protocols.openai_chat.messages import encode_messages
from tui_chat.protocols.openai_chat.tools import write_choice, write_format
from tui_chat.protocols.openai_chat.unknown_keys import (
    remove_unknown_keys,
    unknown_keys,
    unknown_keys_note,
)

_CHAT = Protocol.OPENAI_CHAT
_STREAM = default_origin("stream", "the reply is shown as it arrives")
_RULES = PairingRules(NAMES_64)
_STRICT_RULES = PairingRules(NAMES_64, longest_id=40)
"""“Expected a string with maximum length 40” (vercel/ai#5171)."""
_CAPTURED_RULES = PairingRules(NAMES_64, in_call_order=False)
_MAX_STOPS = 4


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
    paired = pair_tools(
        envelope.turns,
        _CAPTURED_RULES if captured else _rules(envelope, endpoint),
        [tool.name for tool in tools],
        envelope.semantics.tools.alias_map,
    )
    notes = [*key_notes, *paired.notes, *envelope_notes(envelope, _CHAT)]
    messages, message_notes = encode_messages(paired.turns, developer=bool(facts.developer_role))
    notes += message_notes
    body: Items = [("model", setting_value(model))] if model.value or not captured else []
    body.append(("messages", Arr(tuple(messages))))
    body += _tools(envelope, paired.aliases, notes, may_be_empty=not facts.strict_keys)
    body += _settings(envelope, endpoint, notes)
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
    """Return what calls and results have to be like. Gateways put signatures into long call ids
    and want them back whole, so the ids of a conversation of ours are cut for OpenAI only.
    """
    model = envelope.parameters.model.value
    is_strict = endpoint.facts_of(model).strict_keys is True or is_openai_model(model)
    return _STRICT_RULES if is_strict or envelope.semantics.source is not None else _RULES


def _tools(
    envelope: ChatEnvelope, aliases: dict[str, str], notes: list[Note], *, may_be_empty: bool
) -> Items:
    """Return the tools and the choice among them."""
    captured = envelope.semantics.source is _CHAT
    given = envelope.tools or ()
    functions = [
        rename_tool(tool, aliases) for tool in (given if captured else unique_tools(given, notes))
    ]
    encoded = all_tools(
        [_tool(tool, captured) for tool in functions], envelope.semantics.tools.native, _CHAT
    )
    items: Items = []
    if encoded:
        items.append(("tools", Arr(encoded)))
    elif envelope.tools is not None and (captured or envelope.semantics.source is None):
        sentence = "An empty list of tools is sent; OpenAI itself refuses one."
        if may_be_empty:
            items.append(("tools", Arr(encoded)))
        else:
            sentence = "An empty list of tools is left out: this server refuses one."
        notes.append(Note(Level.WARNING, "tools-empty", sentence, captured_origin("tools")))
    parallel = envelope.parameters.parallel_tool_calls
    if parallel is not None and (encoded or captured):
        items.append(("parallel_tool_calls", setting_value(parallel)))
    elif parallel is not None:
        why = "no tools are sent"
        notes.append(setting_note(parallel, "parallel_tool_calls", why, Level.INFO))
    if captured and envelope.semantics.openai_chat.tool_choice is not UNSET:
        return items  # the namespace has it
    choice = usable_tool_choice(envelope, _CHAT, [tool.name for tool in functions], aliases, notes)
    if choice is not None:
        items.append(("tool_choice", tree_of(write_choice(choice.value), choice.origin)))
    return items


def _tool(tool: ToolDefinition, captured: bool) -> Obj:
    function: dict[str, Any] = {"name": tool.name}
    if tool.description:
        function["description"] = tool.description
    if tool.parameters:
        function["parameters"] = json_schema(tool.parameters, tool.dialect)
    if tool.strict is not None:
        function["strict"] = tool.strict
    items: Items = [("type", constant("function")), ("function", tree_of(function))]
    return Obj(
        tuple(merge_extras(items, tool.extras, captured_origin("tools")) if captured else items)
    )


def _settings(envelope: ChatEnvelope, endpoint: Endpoint, notes: list[Note]) -> Items:
    parameters, namespace = envelope.parameters, envelope.semantics.openai_chat
    captured = envelope.semantics.source is _CHAT
    facts = endpoint.facts_of(parameters.model.value)
    items: Items = []
    limit = reply_limit(envelope, endpoint, notes)
    if limit is not None:
        key = namespace.max_tokens_key if captured and namespace.max_tokens_key else ""
        key = (
            key if isinstance(key, str) and key else facts.max_tokens_key or endpoint.max_tokens_key
        )
        items.append((key, setting_value(limit)))
    wanted = [
        ("temperature", parameters.temperature, 0, 2),
        ("top_p", parameters.top_p, 0, 1),
        ("presence_penalty", parameters.presence_penalty, -2, 2),
        ("frequency_penalty", parameters.frequency_penalty, -2, 2),
    ]
    items += sampling_settings(wanted, parameters, facts, notes, captured=captured)
    items += numeric_settings(
        [("seed", parameters.seed, -math.inf, math.inf)], notes, captured=captured
    )
    notes += unsupported_notes(_CHAT, [("top_k", parameters.top_k)])
    stop = parameters.stop if captured else stop_sequences(parameters.stop, _MAX_STOPS, notes)
    if stop is not None:
        items.append(("stop", tree_of(stop.value, stop.origin)))
    if (reasoning := openai_effort(parameters, notes, captured=captured)) is not None:
        items.append(("reasoning_effort", setting_value(reasoning)))
    form = (
        parameters.response_format
        if captured
        else openai_format(parameters.response_format, envelope, notes)
    )
    if form is not None:
        items.append(("response_format", tree_of(write_format(form.value), form.origin)))
    if parameters.stream:
        items.append(("stream", boolean(True, _STREAM)))
        if not captured and facts.stream_usage is not False:
            usage = Obj((("include_usage", boolean(True, _STREAM)),), _STREAM)
            items.append(("stream_options", usage))
            if envelope.semantics.source is not None:
                sentence = "The stream is asked to tell the tokens it took (include_usage)."
                notes.append(default_note(_STREAM, sentence))
    if captured:
        skip = ("max_tokens_key", *(("stream",) if parameters.stream else ()))
        items = override(items, namespace_items(namespace, skip))
    return items
