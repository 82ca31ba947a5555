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
from tui_chat.protocols.common.encoding import captured_origin
from tui_chat.protocols.common.request_fields import to_json
from tui_chat.protocols.common.tool_pairing import variant
from tui_chat.protocols.openai_chat.reasoning_fields import write_reasoning

_CHAT = Protocol.OPENAI_CHAT
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
    known: dict[str, Any] = {}
    for key, value in _load_extras(extras).items():
        if key not in _DOCUMENTED:
            continue
        if isinstance(value, dict) and key in _INNER:
            inner = cast("dict[str, Any]", value)
            value = {name: inner[name] for name in inner if name in _INNER[key]}
            if not value:
                continue
        known[key] = value
    return to_json(known) if known else ""


def _load_extras(extras: str) -> dict[str, Any]:
    return cast("dict[str, Any]", json.loads(extras)) if extras else {}
