"""Origins of which nothing is in a request: why that is, and what an anchor stands for."""

from __future__ import annotations

from collections.abc import Iterable

from tui_chat.analysis.unsent_messages import unsent_messages
from tui_chat.compose import Composed
from tui_chat.context.turn_sources import split_turns
from tui_chat.models.envelope import Dropped
from tui_chat.models.preset import PresetMessage
from tui_chat.models.text import Origin, OriginKind


def is_left_out(composed: Composed, origin: Origin) -> bool:
    """Return True if a message was dropped to fit the budget, or is muted."""
    return _is_among(composed.envelope.dropped, origin) or _is_muted(composed, origin)


def _is_muted(composed: Composed, origin: Origin) -> bool:
    return _is_among(composed.envelope.muted, origin)


def _is_among(messages: Iterable[Dropped], origin: Origin) -> bool:
    return any((one.origin.kind, one.origin.id) == (origin.kind, origin.id) for one in messages)


def filling_of(composed: Composed, origin: Origin) -> Origin:
    """Return the origin of the first message at an anchor; that of any other is itself."""
    anchor = _anchor(composed, origin)
    if anchor is None:
        return origin
    kinds = {"chat_history": OriginKind.HISTORY, "user_profile": OriginKind.PROFILE}
    kind = kinds.get(anchor.type)
    origins = (
        piece.origin
        for piece in split_turns(composed.envelope.turns)
        if (piece.origin.kind is kind)
        or (kind is None and piece.placement.anchor == anchor.anchor_id)
    )
    return next(origins, origin)


def why_unsent(composed: Composed, origin: Origin) -> str:
    """Return a sentence about an origin of which nothing is in the request."""
    if origin.kind is OriginKind.PRESET:
        for message, why in unsent_messages(composed):
            if message.id == origin.id:
                return f"It is not in this request: {why}."
    if _is_muted(composed, origin):
        return "It is muted, and not sent; m in the transcript unmutes it."
    if is_left_out(composed, origin):
        return "It was left out to fit; the newest messages are kept."
    if (anchor := _anchor(composed, origin)) is not None and anchor.type == "chat_history":
        return "No stored message is in this request."
    return "None of it is in this request."


def _anchor(composed: Composed, origin: Origin) -> PresetMessage | None:
    """Return the enabled anchor that an origin names; None for any other origin."""
    if composed.inputs is None or origin.kind is not OriginKind.PRESET:
        return None
    anchors = (m for m in composed.inputs.preset.messages if m.is_anchor and m.enabled)
    return next((anchor for anchor in anchors if anchor.id == origin.id), None)
