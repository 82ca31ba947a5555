"""Saying an envelope as OpenAI Chat Completions wants it.

1. `POST /chat/completions`; roles as they are, `developer` where the model wants it; system
   messages may stand anywhere, consecutive equal roles are allowed.
2. Every tool call is answered by tool messages right behind it.
3. `stream_options.include_usage` asks for the usage that a stream otherwise lacks; a server that
   refuses the setting is not asked.
4. A captured request is said as it was, what nobody documents included (see `unknown_keys`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import ChatEnvelope, Level, Note, ToolDefinition, Turn
from tui_chat.models.json_tree import Arr, Obj, Tree, tree_of
from tui_chat.models.model_facts import is_openai_model
from tui_chat.models.namespaces import UNSET
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
from tui_chat.protocols.common.plain_turns import openai_roles, plain_turns
from tui_chat.protocols.common.segments import run_memo, segments
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
from tui_chat.protocols.openai_chat.tools import write_choice, write_format
from tui_chat.protocols.openai_chat.turn_content import messages
from tui_chat.protocols.openai_chat.unknown_keys import about_unknown, unknown_keys, without_unknown

_CHAT = Protocol.OPENAI_CHAT
_STREAM = default_origin("stream", "the reply is shown as it arrives")
_RULES = PairingRules(NAMES_64)
_STRICT_RULES = PairingRules(NAMES_64, longest_id=40)
"""“Expected a string with maximum length 40” (vercel/ai#5171)."""
_OWN_RULES = PairingRules(NAMES_64, in_call_order=False)
_MOST_STOPS = 4


def encode(envelope: ChatEnvelope, endpoint: Endpoint) -> Encoded:
    """Encode an envelope; see the module's rules."""
    own = envelope.semantics.source is _CHAT
    model = envelope.parameters.model
    facts = endpoint.facts_of(model.value)
    about_keys: list[Note] = []
    if own and facts.strict_keys is not False and (keys := unknown_keys(envelope)):
        about_keys.append(about_unknown(keys, left_out=facts.strict_keys is True))
        if facts.strict_keys:
            envelope = without_unknown(envelope)
    tools = envelope.tools or ()
    paired = pair_tools(
        envelope.turns,
        _OWN_RULES if own else _rules(envelope, endpoint),
        [tool.name for tool in tools],
        envelope.semantics.tools.alias_map,
    )
    notes = [*about_keys, *paired.notes, *envelope_notes(envelope, _CHAT)]
    segment = _segment(bool(facts.developer_role))
    said: list[Tree] = []
    for turns in segments(paired.turns):
        messages_of, told = segment(turns)
        said += messages_of
        notes += told
    body: Items = [("model", setting_value(model))] if model.value or not own else []
    body.append(("messages", Arr(tuple(said))))
    body += _tools(envelope, paired.aliases, notes, may_be_empty=not facts.strict_keys)
    body += _settings(envelope, endpoint, notes)
    if own:
        body = override(body, extra_items(envelope, _CHAT))
    if not said:
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


@lru_cache(maxsize=2)
def _segment(developer: bool) -> Callable[[Sequence[Turn]], tuple[list[Tree], list[Note]]]:
    """Return the encoder of segments, which remembers what it encoded."""
    plainly, say = plain_turns(_CHAT, openai_roles(developer)), messages(developer)

    def encode_segment(turns: Sequence[Turn]) -> tuple[list[Tree], list[Note]]:
        said: list[Tree] = []
        notes: list[Note] = []
        following: list[Tree] = []
        for turn in turns:
            if following and turn.role != "tool":
                said += following
                following = []
            if (plain := plainly(turn)) is not None:
                said.append(plain)
                continue
            message = say(turn)
            said.append(message.tree)
            notes += message.notes
            if message.follows is not None:
                following.append(message.follows)
        return said + following, notes

    return run_memo(encode_segment)


def _tools(
    envelope: ChatEnvelope, aliases: dict[str, str], notes: list[Note], *, may_be_empty: bool
) -> Items:
    """Return the tools and the choice among them."""
    own = envelope.semantics.source is _CHAT
    given = envelope.tools or ()
    ours = [rename_tool(tool, aliases) for tool in (given if own else unique_tools(given, notes))]
    said = all_tools([_tool(tool, own) for tool in ours], envelope.semantics.tools.native, _CHAT)
    items: Items = []
    if said:
        items.append(("tools", Arr(said)))
    elif envelope.tools is not None and (own or envelope.semantics.source is None):
        sentence = "An empty list of tools is sent; OpenAI itself refuses one."
        if may_be_empty:
            items.append(("tools", Arr(said)))
        else:
            sentence = "An empty list of tools is left out: this server refuses one."
        notes.append(Note(Level.WARNING, "tools-empty", sentence, captured_origin("tools")))
    parallel = envelope.parameters.parallel_tool_calls
    if parallel is not None and (said or own):
        items.append(("parallel_tool_calls", setting_value(parallel)))
    elif parallel is not None:
        why = "no tools are sent"
        notes.append(setting_note(parallel, "parallel_tool_calls", why, Level.INFO))
    if own and envelope.semantics.openai_chat.tool_choice is not UNSET:
        return items  # said by the namespace
    choice = usable_tool_choice(envelope, _CHAT, [tool.name for tool in ours], aliases, notes)
    if choice is not None:
        items.append(("tool_choice", tree_of(write_choice(choice.value), choice.origin)))
    return items


def _tool(tool: ToolDefinition, own: bool) -> Obj:
    function: dict[str, Any] = {"name": tool.name}
    if tool.description:
        function["description"] = tool.description
    if tool.parameters:
        function["parameters"] = json_schema(tool.parameters, tool.dialect)
    if tool.strict is not None:
        function["strict"] = tool.strict
    items: Items = [("type", constant("function")), ("function", tree_of(function))]
    return Obj(tuple(merge_extras(items, tool.extras, captured_origin("tools")) if own else items))


def _settings(envelope: ChatEnvelope, endpoint: Endpoint, notes: list[Note]) -> Items:
    asked, namespace = envelope.parameters, envelope.semantics.openai_chat
    own = envelope.semantics.source is _CHAT
    facts = endpoint.facts_of(asked.model.value)
    items: Items = []
    limit = reply_limit(envelope, endpoint, notes)
    if limit is not None:
        key = namespace.max_tokens_key if own and namespace.max_tokens_key else ""
        key = (
            key if isinstance(key, str) and key else facts.max_tokens_key or endpoint.max_tokens_key
        )
        items.append((key, setting_value(limit)))
    wanted = [
        ("temperature", asked.temperature, 0, 2),
        ("top_p", asked.top_p, 0, 1),
        ("presence_penalty", asked.presence_penalty, -2, 2),
        ("frequency_penalty", asked.frequency_penalty, -2, 2),
    ]
    items += sampling_settings(wanted, asked, facts, notes, own=own)
    items += numeric_settings([("seed", asked.seed, -math.inf, math.inf)], notes, own=own)
    notes += unsupported_notes(_CHAT, [("top_k", asked.top_k)])
    stop = asked.stop if own else stop_sequences(asked.stop, _MOST_STOPS, notes)
    if stop is not None:
        items.append(("stop", tree_of(stop.value, stop.origin)))
    if (reasoning := openai_effort(asked, notes, own=own)) is not None:
        items.append(("reasoning_effort", setting_value(reasoning)))
    form = asked.response_format if own else openai_format(asked.response_format, envelope, notes)
    if form is not None:
        items.append(("response_format", tree_of(write_format(form.value), form.origin)))
    if asked.stream:
        items.append(("stream", boolean(True, _STREAM)))
        if not own and facts.stream_usage is not False:
            usage = Obj((("include_usage", boolean(True, _STREAM)),), _STREAM)
            items.append(("stream_options", usage))
            if envelope.semantics.source is not None:
                sentence = "The stream is asked to tell the tokens it took (include_usage)."
                notes.append(default_note(_STREAM, sentence))
    if own:
        skip = ("max_tokens_key", *(("stream",) if asked.stream else ()))
        items = override(items, namespace_items(namespace, skip))
    return items
