"""The texts of character cards: those that replace the preset's, and messages put together.

1. A prompt of the card replaces the preset's message that is its place; `{{original}}` in it is the
   text of that message, once. If nothing is left of it, the preset's text is sent.
2. A session's own texts go before those of the card.
3. The author's note, injected texts and lore can stand beside the main prompt; they go where it is.
4. What scripts change in a lore entry is changed once its macros are expanded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import fields, replace

from tui_chat.context.inputs import Inputs
from tui_chat.context.macros.expansion import Expander
from tui_chat.context.resolved_message import ResolvedMessage, card_origin
from tui_chat.models.envelope import Level, Note
from tui_chat.models.memo import recent_memo
from tui_chat.models.preset import CHAT_HISTORY, CardField, PresetMessage
from tui_chat.models.role import Role
from tui_chat.models.settings import CharacterTexts
from tui_chat.models.text import OriginKind, Text
from tui_chat.plugins.sillytavern.context.macros import ORIGINAL
from tui_chat.plugins.sillytavern.context.scripts import RequestScripts
from tui_chat.plugins.sillytavern.policies import policies_of

MAIN = "main"
"""The id of the preset's message that the author's note can stand beside."""
_BREAKS = re.compile(r"\n{2,}")
_COLLAPSED = (
    *("description", "personality", "scenario", "example_dialogues"),
    *("system_prompt", "post_history"),
)


def with_own_texts(inputs: Inputs) -> Inputs:
    """Return inputs whose role has the session's texts for those of its card."""
    role, texts = inputs.active_role, inputs.first("character")
    collapses = policies_of(inputs.preset).collapse_newlines
    if role is None or role.character is None or not (texts or collapses):
        return inputs
    return replace(inputs, role=_as_sent(role, texts, collapses))


@recent_memo()
def _as_sent(role: Role, texts: CharacterTexts | None, collapses: bool) -> Role:
    """Return a role with the session's texts for its card's, perhaps with single line breaks."""
    character = role.character
    assert character is not None
    found = {name: getattr(character, name) for name in _COLLAPSED}
    for each in fields(texts) if texts is not None else ():
        found[each.name] = getattr(texts, each.name) or found[each.name]
    if collapses:
        found = {name: _BREAKS.sub("\n", text.replace("\r", "")) for name, text in found.items()}
    return replace(role, character=replace(character, **found))


def with_card_prompt(
    line: ResolvedMessage, role: Role | None, card_fields: tuple[CardField, ...]
) -> ResolvedMessage:
    """Return the prompt of the role's card in the message's place, or the message itself."""
    field = line.message.card_field
    if role is None or role.character is None or field not in card_fields:
        return line
    content: str = getattr(role.character, field)
    if not content.strip():
        return line
    return ResolvedMessage(
        replace(line.message, content=content.strip()),
        card_origin(role, field.replace("_", " ")),
        is_card=True,
        replaced=line,
    )


def with_attached(
    places: Iterable[tuple[PresetMessage, ResolvedMessage | None]],
    added: Iterable[ResolvedMessage],
    notes: list[Note],
) -> tuple[list[ResolvedMessage], list[ResolvedMessage]]:
    """Return the preset's messages that are sent with those that stand beside one of them, and the
    others. `places` are all messages, with what is sent of them; without its target in the preset a
    message is not sent.
    """
    places = tuple(places)
    known = {message.id for message, _ in places if not message.is_anchor}
    beside: dict[str, tuple[list[ResolvedMessage], list[ResolvedMessage]]] = {}
    others: list[ResolvedMessage] = []
    for line in added:
        target = line.message.anchor_target if line.slot else None
        if target is None or target == CHAT_HISTORY:
            others.append(line)
        elif target in known:
            sides = beside.setdefault(target, ([], []))
            if line.message.anchor_point == "before":
                sides[0].insert(0, line)  # each goes to the beginning
            else:
                sides[1].append(line)
        else:
            sentence = f"{line.called} is anchored to “{target}”, which the preset does not have; "
            sentence += "it is not sent."
            notes.append(Note(Level.WARNING, "unknown-anchor", sentence, line.origin))
    placed: list[ResolvedMessage] = []
    for message, line in places:
        before, after = ([], []) if message.is_anchor else beside.pop(message.id, ([], []))
        placed += (_placed_like(each, message) for each in before)
        placed += () if line is None else (line,)
        placed += (_placed_like(each, message) for each in after)
    return placed, others


def _placed_like(line: ResolvedMessage, place: PresetMessage) -> ResolvedMessage:
    """Return a message at the place of the preset's message beside it."""
    message = replace(line.message, anchor_point=None, anchor_target=None)
    if place.insertion_point is None and place.anchor_target is None:
        return replace(line, message=message)
    message = replace(
        message,
        role=place.role,
        order=place.order,
        insertion_point=place.insertion_point,
        anchor_point=place.anchor_point,
        anchor_target=place.anchor_target,
    )
    return replace(line, message=message, slot="")


class CardExpander(Expander):
    """Also expands messages put together from others and prompts of cards, and runs scripts."""

    def __init__(self, inputs: Inputs, notes: list[Note], scripts: RequestScripts) -> None:
        super().__init__(inputs, notes)
        self._scripts = scripts

    def expand(self, line: ResolvedMessage) -> Text:
        """Return the expanded text of a message."""
        if line.pieces:
            texts = ((self.expand(piece), piece) for piece in line.pieces)
            kept = (text for text, piece in texts if text.plain or not _is_lore(piece))
            text = self.texts[id(line)] = Text.join(line.separator, kept)
            return text
        if line.replaced is None:
            text = super().expand(line)
        else:
            original = self.expand(line.replaced)
            self.set(ORIGINAL, original)
            text = super().expand(line)
            self.set(ORIGINAL, None)
            if not text.plain:
                text = self.texts[id(line)] = original
        if _is_lore(line):
            text = self.texts[id(line)] = self._scripts.change_lore(self, line, text)
        return text


def _is_lore(line: ResolvedMessage) -> bool:
    """True if a message is an entry of a lorebook."""
    return line.origin.kind is OriginKind.LORE and line.origin.within is not None
