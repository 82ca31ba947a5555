"""An envelope as JSON, for programs: what `build --show envelope` prints."""

from __future__ import annotations

from typing import Any

from tui_chat.compose import Composed
from tui_chat.models.envelope import Budget, Note, Turn
from tui_chat.models.text import Origin


def envelope_json(composed: Composed) -> dict[str, Any]:
    """Return `{"turns", "dropped", "notes", "tokens", "parameters"}`."""
    envelope = composed.envelope
    asked = envelope.parameters
    settings = {
        "model": asked.model,
        "temperature": asked.temperature,
        "max_tokens": asked.max_tokens,
    }
    return {
        "turns": [
            _turn(turn, tokens)
            for turn, tokens in zip(envelope.turns, envelope.tokens, strict=True)
        ],
        "dropped": [
            {
                "role": dropped.role,
                "preview": dropped.preview,
                "tokens": dropped.tokens,
                "origin": _origin(dropped.origin),
            }
            for dropped in envelope.dropped
        ],
        "notes": [note_json(note) for note in composed.notes],
        "tokens": _budget(envelope.budget),
        "parameters": {
            name: {"value": sourced.value, "origin": _origin(sourced.origin)}
            for name, sourced in settings.items()
            if sourced is not None
        },
    }


def _turn(turn: Turn, tokens: int) -> dict[str, Any]:
    body: dict[str, Any] = {
        "role": turn.role,
        "content": turn.text.plain,
        "origin": _origin(turn.origin),
        "placement": _placement(turn),
        "tokens": tokens,
    }
    if len(turn.text.spans) > 1:
        body["spans"] = [
            {"text": span.text, "origin": _origin(span.origin), "start": span.start}
            for span in turn.text.spans
        ]
    if turn.tool_calls:
        body["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in turn.tool_calls
        ]
    if turn.tool_call_id:
        body["tool_call_id"] = turn.tool_call_id
    return body


def _placement(turn: Turn) -> dict[str, Any]:
    placement = turn.placement
    body: dict[str, Any] = {"kind": placement.kind, "rule": placement.rule}
    if placement.anchor:
        body["anchor"] = placement.anchor
    if placement.depth is not None:
        body["depth"] = placement.depth
    return body


def _origin(origin: Origin) -> dict[str, Any]:
    body: dict[str, Any] = {"kind": origin.kind.value, "id": origin.id, "name": origin.name}
    if origin.within is not None:
        body["within"] = _origin(origin.within)
    return body


def note_json(note: Note) -> dict[str, Any]:
    """Return a note as `{"level", "code", "sentence", "origin", "place"}`."""
    return {
        "level": note.level.value,
        "code": note.code,
        "sentence": note.sentence,
        "origin": _origin(note.origin) if note.origin else None,
        "place": note.place,
    }


def _budget(budget: Budget | None) -> dict[str, Any]:
    if budget is None:
        return {}
    return {
        "total": budget.total,
        "fixed": budget.fixed,
        "history": budget.history,
        "dropped": budget.dropped,
        "limit": budget.limit,
        "reserve": budget.reserve,
        "free": budget.free,
        "counter": budget.counter,
        "exact": budget.exact,
    }
