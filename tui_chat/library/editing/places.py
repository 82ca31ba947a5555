"""The place of a preset message in a request, in words.

The form of a message, the list and the inspector say the same sentence, from the built request: a
sentence begins with `→`, one about something wrong with `▲`, and one about a message that is off
with `–`.
"""

from __future__ import annotations

from typing import NamedTuple

from tui_chat.compose import Composed
from tui_chat.context.sent_texts import split_turns
from tui_chat.library.editing.outline import Outline, OutlineRow, outline_preset
from tui_chat.library.editing.slots import depth_of
from tui_chat.models.envelope import Turn
from tui_chat.models.generation import only_on
from tui_chat.models.preset import CHAT_HISTORY, PresetMessage
from tui_chat.models.sanitize import one_line
from tui_chat.models.text import OriginKind

_ANCHOR_NAMES = {
    "chat_history": "Chat history",
    "user_profile": "User profile",
    "placeholder": "Placeholder",
    "example_dialogues": "Example dialogues",
}
_QUOTED = 24
"""Characters of a message that are quoted."""


def display_name(message: PresetMessage) -> str:
    """Return the name of a message on the screen."""
    generic = message.type == "chat_history" or message.id == message.type
    named = message.name or (_ANCHOR_NAMES.get(message.type, "") if generic else "")
    return one_line(named or message.id, 80) or "(no name)"


class SentChat(NamedTuple):
    """The messages of a request that are not the preset's: conversation and role."""

    history: tuple[Turn, ...] = ()
    """Oldest first, without the message that is answered."""
    answered: Turn | None = None
    """The draft, or the stored message that takes its place; None for neither."""

    has_role_prompt: bool = False
    """True if the role's prompt is sent."""

    @property
    def is_typed(self) -> bool:
        """False if a stored message takes the draft's place."""
        return self.answered is None or self.answered.origin.kind is OriginKind.DRAFT


def sent_chat(composed: Composed) -> SentChat:
    """Return the messages of a request that are not the preset's."""
    history: list[Turn] = []
    answered: Turn | None = None
    has_role_prompt = False
    for turn in split_turns(composed.envelope.turns):
        kind = turn.origin.kind
        if kind is OriginKind.DRAFT or (
            kind is OriginKind.HISTORY and turn.placement.kind == "draft"
        ):
            answered = turn
        elif kind is OriginKind.HISTORY:
            history.append(turn)
        elif kind is OriginKind.SYSTEM and "/" not in turn.origin.id:
            has_role_prompt = True
    return SentChat(tuple(history), answered, has_role_prompt)


def place_in_request(composed: Composed, message_id: str) -> str:
    """Return the sentence about a preset message of a request; empty if its preset has none of this
    id.
    """
    if composed.inputs is None:
        return ""
    chat = sent_chat(composed)
    outline = outline_preset(composed.inputs.preset, composed.notes, len(chat.history))
    rows = (row for row in outline.rows if row.message is not None and row.message.id == message_id)
    return next((place_sentence(outline, row, chat) for row in rows), "")


def place_sentence(outline: Outline, row: OutlineRow, chat: SentChat) -> str:
    """Return where the message of a row goes among what is sent."""
    message = row.message
    assert message is not None
    if (fault := _fault(outline, row, message)) and message.enabled:
        return f"▲ {fault}"
    words = _place(outline, row, message, chat)
    if row.disabled:
        return f"– Off; when it is on: {words[:1].lower()}{words[1:]}"
    return f"→ {words}"


def _fault(outline: Outline, row: OutlineRow, message: PresetMessage) -> str:
    """Return why a message is not at the place that it names; empty if it is."""
    if any(note.code == "unknown-anchor" for note in row.notes):
        target = message.anchor_target or ""
        ids = {target, *(m.id for m in outline.preset.messages if m.anchor_id == target)}
        named = [m for m in outline.preset.messages if m.is_anchor and m.id in ids]
        if named:
            return f"“{display_name(named[0])}” is off: the message stays at its place in the list."
        name = one_line(target, 40)
        return f"There is no anchor “{name}”: the message stays at its place in the list."
    if row.placement == "unplaced" and not message.triggers:
        return "Not sent: another anchor has this id."
    return ""


def _place(outline: Outline, row: OutlineRow, message: PresetMessage, chat: SentChat) -> str:
    depth = depth_of(message)
    match row.placement:
        case "unplaced":
            return f"Sent {only_on(message.triggers)}."
        case "system":
            return f"Goes with the system messages, before the chat{_after(outline, row, chat)}."
        case "depth" if depth is None:
            return _from_start(message.insertion_point or 0, chat)
        case "depth":
            return _at_depth(depth or 0, chat)
        case "after" if row.anchor == CHAT_HISTORY:
            last = outline.rows[-1] is row
            return f"Goes after your message{': the last thing the model reads' if last else ''}."
        case "before" | "after":
            return f"Goes directly {row.placement} {_anchor_name(outline, row.anchor)}."
        case "anchor":
            return "Other messages can go before or after it."
        case _:
            history = (n for n, r in enumerate(outline.rows) if r.anchor == CHAT_HISTORY)
            is_before = outline.rows.index(row) < next(history, 0)
            side = "before" if is_before else "after"
            return f"Goes {side} the chat history{_after(outline, row, chat)}."


def _after(outline: Outline, row: OutlineRow, chat: SentChat) -> str:
    """Return what comes directly before a row, with the words that join it to a sentence."""
    number = outline.rows.index(row)
    before = outline.rows[number - 1] if number else None
    if before is None or (before.ghost == "role" and not chat.has_role_prompt):
        return ": first of all"
    if before.ghost == "role":
        return ", after the role's prompt"
    if before.message is None or before.anchor == CHAT_HISTORY:
        return ""
    return f", after “{display_name(before.message)}”"


def _anchor_name(outline: Outline, anchor_id: str) -> str:
    if anchor_id == CHAT_HISTORY:
        return "the chat history"
    anchors = (m for m in outline.preset.messages if m.is_anchor and m.anchor_id == anchor_id)
    return f"“{next(map(display_name, anchors), one_line(anchor_id, 40))}”"


def _at_depth(depth: int, chat: SentChat) -> str:
    """Return the place of a message that `depth` messages follow, the answered one among them."""
    sent = len(chat.history) + (chat.answered is not None)
    if sent and depth > len(chat.history) + 1:
        whole = "it" if sent == 1 else "all of them"
        return f"Only {_messages(sent)} sent: goes before {whole}."
    at = len(chat.history) - depth + 1
    if not chat.history:
        where = ""
    elif at:
        words = one_line(chat.history[at - 1].text.plain, _QUOTED + 1)
        is_cut = len(words) > _QUOTED
        where = f": after “{words[:_QUOTED].rstrip()}{'…' * is_cut}”"
    else:
        where = ": before all of them" if depth > 1 else ""
    if depth == 1:
        return f"Goes directly before your message{where}."
    yours = "your draft" if chat.is_typed else "the message to answer"
    return f"Goes before the last {depth:,} messages, {yours} included{where}."


def _from_start(point: int, chat: SentChat) -> str:
    count = len(chat.history)
    if count and point > count:
        return f"Only {_messages(count)} before yours: goes after all of them."
    if point <= 1:
        return f"Goes {'after' if point else 'before'} the first message of the chat history."
    return f"Goes after message {point:,} of the chat history."


def _messages(count: int) -> str:
    return "1 message is" if count == 1 else f"{count:,} messages are"
