"""The preset messages that are not in a request, each with the reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from tui_chat.compose import Composed
from tui_chat.context.sent_texts import preset_ids, split_turn
from tui_chat.models.generation import only_on
from tui_chat.models.preset import PresetMessage
from tui_chat.models.sanitize import one_line
from tui_chat.models.text import OriginKind

_UNFIT = ("over-budget", "injections-dropped")
"""The notes of requests in which preset messages may not fit."""
_EMPTY = {"user_profile": "no profile", "example_dialogues": "no example dialogues"}
"""The reasons for anchors that are filled from elsewhere."""
_MOST = 4
"""Variables that are named."""


def sets(variables: Sequence[str]) -> str:
    """Return which variables a message sets, in words."""
    more = f" and {len(variables) - _MOST} more" if len(variables) > _MOST else ""
    return f"sets {', '.join(one_line(name, 24) for name in variables[:_MOST])}{more}"


def unsent_messages(composed: Composed) -> list[tuple[PresetMessage, str]]:
    """Return the preset messages that are not in a request, with a reason in a few words."""
    messages = composed.inputs.preset.messages if composed.inputs is not None else ()
    sent, anchors = Counter[str](), Counter[str]()
    for turn in composed.envelope.turns if messages else ():
        if turn.pieces or turn.origin.kind is not OriginKind.HISTORY:
            sent.update(preset_ids(turn))
            anchors.update(piece.placement.anchor for piece in split_turn(turn))
    unsent = [message for message in messages if not (message.enabled and sent.get(message.id))]
    reasons = [(message, _reason(message, composed, anchors)) for message in unsent]
    return [(message, why) for message, why in reasons if why]


def _reason(message: PresetMessage, composed: Composed, anchors: Mapping[str, int]) -> str:
    """Return why a message is not sent; empty for an anchor that is filled."""
    inputs, envelope = composed.inputs, composed.envelope
    assert inputs is not None
    if not message.enabled:
        return "disabled"
    if message.is_anchor:
        is_empty = message.type != "chat_history" and not anchors.get(message.anchor_id)
        return _EMPTY.get(message.type, "no message is anchored to it") if is_empty else ""
    if message.triggers and inputs.chat.kind not in message.triggers:
        return only_on(message.triggers)
    if names := envelope.set_variables.get(message.id):
        return sets(names)
    role, field = inputs.active_role, message.card_field
    has_fields = role and role.character and field in inputs.rules.card_prompts
    if role and has_fields and getattr(role.character, field).strip():
        return f"the {field.replace('_', ' ')} of “{one_line(role.name, 30)}” replaces it"
    place = OriginKind.PRESET, message.id
    of_origin = ((note.code, note.origin) for note in envelope.notes)
    codes = {code for code, origin in of_origin if origin and (origin.kind, origin.id) == place}
    if message.id in envelope.without_value:
        return f"“{one_line(message.requires, 30)}” has no value"
    if "empty-content" in codes or not message.content.strip():
        return "it is empty once its macros are expanded" if message.content else "it is empty"
    is_unfit = any(note.code in _UNFIT for note in envelope.notes)
    return "left out to fit" if is_unfit else "not sent"
