"""Keys that OpenAI does not document: vendors' own, and cache marks.

Many servers of this protocol have additional keys, so those of a captured request are passed on,
with a warning. For a server that is known to refuse unknown keys they are left out, with a warning.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import cast

from tui_chat.models.block_turn import BlockTurn
from tui_chat.models.blocks import (
    Block,
    Extras,
    Json,
    JsonObject,
    OpaqueBlock,
    ReasoningBlock,
    form_of,
    own,
)
from tui_chat.models.envelope import ChatEnvelope, Level, Note
from tui_chat.models.json_text import to_json
from tui_chat.protocols.common.call_pairing import variant
from tui_chat.protocols.common.encoding import captured_origin
from tui_chat.protocols.common.request_encoder import RequestEncoder
from tui_chat.protocols.common.turn_fit import without
from tui_chat.protocols.openai_chat.messages import (
    CHAT,
    FIELD,
    PLAIN_FIELDS,
    THINKING,
    THINKING_TEXT,
    can_be_sent_back,
)

_DOCUMENTED = frozenset(
    {"refusal", "audio", "annotations", "tool_calls", "function_call", "name", "content"}
    | {"id", "tool_call_id", "text"}
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


def accepted_turns(request: RequestEncoder, turns: Sequence[BlockTurn]) -> Sequence[BlockTurn]:
    """Return the turns of a captured request without undocumented keys if its server refuses them,
    and take them from the rest of the request. A note names them.
    """
    facts, envelope = request.facts, request.envelope
    if not request.captured or facts.strict_keys is False:
        return turns
    keys = dict.fromkeys(envelope.semantics.provider_extras.get(CHAT, {}))
    for turn in turns:
        keys |= undocumented_keys(turn)
    for tool in envelope.tools or ():
        keys |= dict.fromkeys(_split(json.loads(tool.extras or "{}"))[1])
    if not keys:
        return turns
    sentence = f"Sent unchanged, although OpenAI itself refuses them: {', '.join(keys)}."
    if facts.strict_keys:
        sentence = f"Left out, since this server refuses unknown keys: {', '.join(keys)}."
        request.envelope = _without_undocumented(envelope)
        turns = [documented_turn(turn) if undocumented_keys(turn) else turn for turn in turns]
    origin = captured_origin("unknown keys")
    request.notes.insert(0, Note(Level.WARNING, "unknown-keys", sentence, origin))
    return turns


def _without_undocumented(envelope: ChatEnvelope) -> ChatEnvelope:
    tools = envelope.tools
    if tools is not None:
        documented = (_split(json.loads(tool.extras or "{}"))[0] for tool in tools)
        tools = tuple(
            replace(tool, extras=to_json(keys) if keys else "")
            for tool, keys in zip(tools, documented, strict=True)
        )
    semantics = replace(envelope.semantics, provider_extras={})
    return replace(envelope, tools=tools, semantics=semantics)


def undocumented_keys(turn: BlockTurn) -> dict[str, None]:
    """Return the undocumented keys that a turn has in a request, each once."""
    keys = dict.fromkeys(_of_extras(turn.extras))
    for block in turn.blocks:
        keys |= dict.fromkeys(_of_block(block, is_reply=not turn.captured_from(CHAT)))
    if turn.captured_from(CHAT) or turn.calls:
        return keys
    return {key: None for key in keys if key not in PLAIN_FIELDS}


def _of_extras(extras: Extras | None) -> list[str]:
    return _split(extras.keys)[1] if extras is not None and extras.protocol is CHAT else []


def _of_block(block: Block, *, is_reply: bool) -> Iterator[str]:
    form = form_of(block, CHAT)
    if isinstance(block, ReasoningBlock):
        if not can_be_sent_back(block):
            return
        is_part = form in (THINKING, THINKING_TEXT)
        yield "thinking" if is_part else "reasoning_details" if "." in form else form
        extras = own(block, CHAT)
        if extras is not None and "reasoning_opaque" in extras.keys:
            yield "reasoning_opaque"
    elif isinstance(block, OpaqueBlock):
        if is_reply and form == FIELD:
            yield block.name
    else:
        yield from _of_extras(block.extras)


def documented_turn(turn: BlockTurn) -> BlockTurn:
    """Return a turn without its undocumented keys and its reasoning."""
    return variant(turn, "documented", _documented_turn)


def _documented_turn(turn: BlockTurn) -> BlockTurn:
    kept = without(
        turn, lambda block: isinstance(block, ReasoningBlock) or form_of(block, CHAT) == FIELD
    )
    blocks = tuple(replace(b, extras=_documented(b.extras)) for b in kept.blocks)
    return replace(kept, blocks=blocks, extras=_documented(kept.extras))


def _documented(extras: Extras | None) -> Extras | None:
    if extras is None or extras.protocol is not CHAT:
        return extras
    return replace(extras, keys=_split(extras.keys)[0])


def _split(keys: Mapping[str, Json]) -> tuple[JsonObject, list[str]]:
    """Return the documented ones of keys, and the others: `function.key` one level down."""
    documented: JsonObject = {}
    undocumented: list[str] = []
    for key, value in keys.items():
        if key not in _DOCUMENTED:
            undocumented.append(key)
        elif isinstance(value, dict) and key in _INNER:
            inner = cast("JsonObject", value)
            undocumented += [f"{key}.{name}" for name in inner if name not in _INNER[key]]
            if kept := {name: inner[name] for name in inner if name in _INNER[key]}:
                documented[key] = kept
        else:
            documented[key] = value
    return documented, undocumented
