"""A composed request as JSON: `build --show envelope`, and what the tap prints."""

from __future__ import annotations

from typing import Any

from tui_chat.analysis.settings_report import parameter_json, set_parameters
from tui_chat.analysis.token_shares import Share, token_shares
from tui_chat.compose import Composed
from tui_chat.models.envelope import ChatEnvelope, Dropped, Note, Turn
from tui_chat.models.text import Origin, OriginKind


def envelope_json(composed: Composed) -> dict[str, Any]:
    """Return `{"turns", "dropped", "muted", "notes", "tokens", "parameters"}`."""
    envelope = composed.envelope
    parameters = envelope.parameters
    return {
        "turns": [
            _turn_json(turn, tokens)
            for turn, tokens in zip(envelope.turns, envelope.tokens, strict=True)
        ],
        "dropped": [_dropped_json(dropped) for dropped in envelope.dropped],
        "muted": [_dropped_json(muted) for muted in envelope.muted],
        "notes": [note_json(note) for note in composed.notes],
        "tokens": _tokens_json(envelope),
        "parameters": {
            name: {"value": parameter_json(sourced.value), "origin": origin_json(sourced.origin)}
            for name, sourced in set_parameters(parameters)
        },
    }


def _dropped_json(dropped: Dropped) -> dict[str, Any]:
    return {
        "role": dropped.role,
        "preview": dropped.preview,
        "tokens": dropped.tokens,
        "origin": origin_json(dropped.origin),
    }


def _turn_json(turn: Turn, tokens: int) -> dict[str, Any]:
    body: dict[str, Any] = {
        "role": turn.role,
        "content": turn.text.plain,
        "origin": origin_json(turn.origin),
        "placement": _placement_json(turn),
        "tokens": tokens,
    }
    if len(turn.text.spans) > 1:
        body["spans"] = [
            {"text": span.text, "origin": origin_json(span.origin), "start": span.start}
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


def _placement_json(turn: Turn) -> dict[str, Any]:
    placement = turn.placement
    body: dict[str, Any] = {"kind": placement.kind, "rule": placement.rule}
    if placement.anchor:
        body["anchor"] = placement.anchor
    if placement.depth is not None:
        body["depth"] = placement.depth
    return body


def origin_json(origin: Origin) -> dict[str, Any]:
    """Return an origin as `{"kind", "id", "name"}`, and `within` where it has that."""
    body: dict[str, Any] = {"kind": origin.kind.value, "id": origin.id, "name": origin.name}
    if origin.within is not None:
        body["within"] = origin_json(origin.within)
    return body


def note_json(note: Note) -> dict[str, Any]:
    """Return a note as `{"level", "code", "sentence", "origin", "place"}`."""
    return {
        "level": note.level.value,
        "code": note.code,
        "sentence": note.sentence,
        "origin": origin_json(note.origin) if note.origin else None,
        "place": note.place,
    }


def _tokens_json(envelope: ChatEnvelope) -> dict[str, Any]:
    """Return the budget, the shares that add up to its total with `framing`, and the tokens that
    each user message brought with what follows it, by the index of its turn.
    """
    budget = envelope.budget
    if budget is None:
        return {}
    shares = token_shares(envelope)
    return {
        "total": budget.total,
        "fixed": budget.fixed,
        "history": budget.history,
        "edits": budget.edits,
        "dropped": budget.dropped,
        "muted": budget.muted,
        "limit": budget.limit,
        "reserve": budget.reserve,
        "free": budget.free,
        "counter": budget.counter,
        "exact": budget.exact,
        "counted": budget.how,
        "shares": [_share_json(share) for share in shares.shares],
        "framing": shares.framing,
        "growth": [{"turn": each.first, "tokens": each.tokens} for each in shares.exchanges],
    }


def _share_json(share: Share) -> dict[str, Any]:
    is_tools = share.kind is OriginKind.TOOL
    count = "calls" if is_tools else "turns"
    items = [
        {"name": item.name, "tokens": item.tokens, count: item.count}
        | ({"server": item.server or None} if is_tools else {})
        for item in share.items
    ]
    return {
        "origin": share.kind.value,
        "part": share.part.value if share.part is not None else None,
        "tokens": share.tokens,
        ("tools" if is_tools else "turns"): share.turns,
        **({"items": items} if items else {}),
    }
