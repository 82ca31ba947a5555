"""Warnings about the texts of a role and of lore that a request does not carry.

What counts is the request: a text is carried if a message has it, whichever anchor, macro or
variable brought it there; see `context.sent_texts`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tui_chat.context.inputs import Inputs
from tui_chat.context.macros.expansion import Expander
from tui_chat.context.resolved_message import resolve_role_prompt, text_of
from tui_chat.context.sent_texts import carries, literal_pieces
from tui_chat.context.session_texts import Places
from tui_chat.models.envelope import Level, Note, Turn
from tui_chat.models.preset import Preset
from tui_chat.models.role import CARD_PRESET, Role

_PLACES = {
    "description": "{{description}}",
    "personality": "{{personality}}",
    "scenario": "{{scenario}}",
    "example dialogues": "an anchor for example dialogues with lines “{{char}}: …”",
    "system prompt": "{{charPrompt}}",
    "post-history instructions": "{{charInstruction}}",
    "depth prompt": "{{charDepthPrompt}}",
}
"""The fields of a character card, and what a preset can have to send them."""


def role_notes(inputs: Inputs, turns: Sequence[Turn], examples: Iterable[Turn]) -> Iterator[Note]:
    """Yield warnings about the fields of the role's card that a request does not carry; `examples`
    are its example dialogues, whether or not they fit.
    """
    role, preset = inputs.active_role, inputs.preset
    if role is None or role.character is None:
        return
    origin = resolve_role_prompt(role).origin
    lost = [called for called, text in _texts_of(role) if not carries(turns, text)]
    own = f"{role.role_id}/example dialogues"
    if "example dialogues" in lost and any(turn.origin.id == own for turn in examples):
        lost.remove("example dialogues")
    if lost:
        sentence = (
            f"The {_listed(lost)} of “{role.name}” {_are(lost)} not sent: the preset "
            f"“{preset.name}” has no enabled place for {'it' if len(lost) == 1 else 'them'}. Add "
            f"{_listed([_PLACES[each] for each in lost])} (F3).{_other_preset(preset)}"
        )
        yield Note(Level.WARNING, "character-not-sent", sentence, origin)
    character = role.character
    if character.world and character.book is None and not inputs.lorebooks:
        sentence = (
            f"The lorebook “{character.world}”, to which the character is linked, is not searched. "
            "/lorebook chooses it; import it first if it is not in the list."
        )
        yield Note(Level.WARNING, "lore-not-sent", sentence, origin)


def prompt_notes(inputs: Inputs, turns: Sequence[Turn]) -> Iterator[Note]:
    """Yield a warning about the role's own prompt if a request does not carry it."""
    role, preset = inputs.active_role, inputs.preset
    if role is None or not role.system_prompt.strip() or carries(turns, role.system_prompt):
        return
    cure = _other_preset(preset) if role.character else " Add a message with {{description}} to it."
    sentence = (
        f"The system prompt of the role “{role.name}” is not sent: the preset “{preset.name}” has "
        f"no place for it.{cure}"
    )
    yield Note(Level.WARNING, "role-prompt-skipped", sentence, resolve_role_prompt(role).origin)


def lore_notes(
    places: Places, expander: Expander, turns: Sequence[Turn], preset: Preset
) -> Iterator[Note]:
    """Yield warnings about active lore entries that a request does not carry."""
    spans = (span for turn in (turns if places else ()) for span in turn.text.spans)
    sent = {span.origin.lore_entry for span in spans}
    for place, lines in places.items():
        for line in lines:
            text = text_of(line, expander.texts)
            if not text.plain.strip() or line.origin in sent or carries(turns, text.plain):
                continue
            if place in ("note_top", "note_bottom"):
                sentence = f"{line.called} is active, but its author's note is not due."
                yield Note(Level.INFO, "lore-not-sent", sentence, line.origin)
                continue
            sentence = (
                f"The lore entry {line.called} is active and not sent: the preset “{preset.name}” "
                f"has no place “{place.replace('_', ' ')}”. Add one to it, or choose another."
            )
            yield Note(Level.WARNING, "lore-not-sent", sentence, line.origin)


def _texts_of(role: Role) -> Iterator[tuple[str, str]]:
    """Yield the fields of a role's card that have a text, each with what is looked for."""
    card = role.character
    assert card is not None  # the caller has asked
    depth = card.depth_prompt.content if card.depth_prompt is not None else ""
    texts = (card.description, card.personality, card.scenario, card.example_dialogues)
    texts += (card.system_prompt, card.post_history, depth)
    for called, text in zip(_PLACES, texts, strict=True):
        if called == "example dialogues":  # their lines are put elsewhere
            lines = [piece for line in text.splitlines() for piece in literal_pieces(line)]
            text = max((line for line in lines if line.upper() != "<START>"), key=len, default="")
        if text.strip():
            yield called, text


def _are(words: Sequence[str]) -> str:
    return "is" if len(words) == 1 and not words[0].endswith("s") else "are"


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _other_preset(preset: Preset) -> str:
    if preset.name == CARD_PRESET:
        return ""
    return f" The preset “{CARD_PRESET}” (/preset {CARD_PRESET}) sends all of a character."
