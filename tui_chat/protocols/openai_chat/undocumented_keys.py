"""Keys of a captured request that OpenAI does not document: vendors' own, and cache marks.

Many servers of this protocol have additional keys, so they are passed on, with a warning. For a
server that is known to refuse unknown keys they are left out, with a warning.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import ChatEnvelope, Level, Note, Turn
from tui_chat.models.json_text import to_json
from tui_chat.models.model_facts import ModelFacts
from tui_chat.protocols.common.encoding import captured_origin
from tui_chat.protocols.common.tool_pairing import variant
from tui_chat.protocols.openai_chat.reasoning_fields import (
    PLAIN_FIELDS,
    THINKING_PART,
    THINKING_TEXT,
    can_be_sent_back,
    write_reasoning,
)

_CHAT = Protocol.OPENAI_CHAT
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


def with_accepted_keys(
    envelope: ChatEnvelope, facts: ModelFacts
) -> tuple[ChatEnvelope, list[Note]]:
    """Return a request without undocumented keys if its server refuses them, and a note."""
    if envelope.semantics.source is not _CHAT or facts.strict_keys is False:
        return envelope, []
    if not (keys := ", ".join(_undocumented(envelope))):
        return envelope, []
    sentence = f"Sent unchanged, although OpenAI itself refuses them: {keys}."
    if facts.strict_keys:
        sentence = f"Left out, since this server refuses unknown keys: {keys}."
        envelope = _without_undocumented(envelope)
    origin = captured_origin("unknown keys")
    return envelope, [Note(Level.WARNING, "unknown-keys", sentence, origin)]


def _undocumented(envelope: ChatEnvelope) -> dict[str, None]:
    """Return the undocumented keys in order, each once."""
    keys = dict.fromkeys(envelope.semantics.provider_extras.get(_CHAT, {}))
    for turn in envelope.turns:
        keys |= dict.fromkeys(_undocumented_in_turn(turn))
    for tool in envelope.tools or ():
        keys |= dict.fromkeys(_split(tool.extras)[1])
    return keys


def _undocumented_in_turn(turn: Turn) -> Iterator[str]:
    form, layout = turn.semantics.wire, turn.semantics.layout
    pieces = layout.pieces if layout is not None else ()
    for extras in (form.extras if form else "", *(piece.extras for piece in pieces)):
        yield from _split(extras)[1]
    if any(piece.signature for piece in pieces):
        yield "extra_content"
    yield from write_reasoning(turn.semantics.reasoning)
    if any(piece.cache for piece in pieces):
        yield "cache_control"


def undocumented_reply_keys(turn: Turn) -> dict[str, None]:
    """Return the undocumented keys that a reply brought and would have in a request."""
    keys: dict[str, None] = {}
    layout = turn.semantics.layout
    if turn.semantics.wire is not None:
        return keys
    if layout is not None and layout.protocol is _CHAT:
        for piece in layout.pieces:
            keys |= dict.fromkeys(_split(piece.extras)[1])
            keys |= {"extra_content": None} if piece.signature else {}
            keys |= {piece.name: None} if piece.kind == "other" else {}
    blocks = [block for block in turn.semantics.reasoning if can_be_sent_back(block)]
    if any(block.kind in (THINKING_PART, THINKING_TEXT) for block in blocks):
        keys["thinking"] = None
    fields = write_reasoning(blocks)
    return keys | {k: None for k in fields if turn.tool_calls or k not in PLAIN_FIELDS}


def _without_undocumented(envelope: ChatEnvelope) -> ChatEnvelope:
    turns = tuple(
        variant(turn, "documented", documented_turn) if any(_undocumented_in_turn(turn)) else turn
        for turn in envelope.turns
    )
    tools = envelope.tools
    if tools is not None:
        tools = tuple(replace(tool, extras=_split(tool.extras)[0]) for tool in tools)
    semantics = replace(envelope.semantics, provider_extras={})
    return replace(envelope, turns=turns, tools=tools, semantics=semantics)


def documented_turn(turn: Turn) -> Turn:
    """Return a turn without its undocumented keys and its reasoning."""
    form, layout = turn.semantics.wire, turn.semantics.layout
    if form is not None:
        form = replace(form, extras=_split(form.extras)[0])
    if layout is not None:
        pieces = (
            replace(piece, extras=_split(piece.extras)[0], cache="", signature="")
            for piece in layout.pieces
            if piece.kind != "reasoning" and (form is not None or piece.kind != "other")
        )
        layout = replace(layout, pieces=tuple(pieces))
    semantics = replace(turn.semantics, wire=form, layout=layout, reasoning=())
    return replace(turn, semantics=semantics)


def _split(extras: str) -> tuple[str, list[str]]:
    """Return an object's documented extras, and the other keys: `function.key` one level down."""
    documented: dict[str, Any] = {}
    undocumented: list[str] = []
    fields = cast("dict[str, Any]", json.loads(extras)) if extras else {}
    for key, value in fields.items():
        if key not in _DOCUMENTED:
            undocumented.append(key)
        elif isinstance(value, dict) and key in _INNER:
            inner = cast("dict[str, Any]", value)
            undocumented += [f"{key}.{name}" for name in inner if name not in _INNER[key]]
            if kept := {name: inner[name] for name in inner if name in _INNER[key]}:
                documented[key] = kept
        else:
            documented[key] = value
    return to_json(documented) if documented else "", undocumented
