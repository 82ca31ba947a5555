"""Phase 1: find the anchors, then put each message into its group.

1. Anchors are found first; all `chat_history` messages are the one anchor `CHAT_HISTORY`, which
   can also be named by their own ids. The profile stands at the first `user_profile` anchor, the
   example dialogues at the first `example_dialogues` anchor.
2. Contributed messages stand directly before the history.
3. Each enabled message that is not an anchor goes to the first group that fits: system, deep,
   anchored, skeleton.
4. The history always has a place: without an enabled `chat_history` anchor, it goes last.
5. A message whose target does not exist stays at its own place, with a note. Only an empty message
   is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace

from tui_chat.context.resolved_message import (
    ResolvedMessage,
    card_origin,
    origin_of,
    resolve_preset_message,
)
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.envelope import Level, Note
from tui_chat.models.generation import GenerationKind
from tui_chat.models.memo import Memo
from tui_chat.models.preset import CHAT_HISTORY, CardField, Preset, PresetMessage
from tui_chat.models.role import Role

MAIN = "main"
"""The id of the preset's message that the author's note can stand beside."""
CARD_FIELDS: tuple[CardField, ...] = ("system_prompt", "post_history")
"""The prompts of a character card that replace those of the preset."""
_HISTORY_GOES_LAST = PresetMessage(
    id=CHAT_HISTORY, role="user", type="chat_history", name="the history, which goes last"
)
"""Stands for the anchor that a preset lacks."""


@dataclass(slots=True)
class AnchorNeighbors:
    """The messages before and after one anchor, in the order in which they are sent."""

    before: list[ResolvedMessage] = field(default_factory=list[ResolvedMessage])
    after: list[ResolvedMessage] = field(default_factory=list[ResolvedMessage])


@dataclass(slots=True)
class MessageGroups:
    """The messages by group. Immutable once `scan` has returned it."""

    listed: list[ResolvedMessage] = field(default_factory=list[ResolvedMessage])
    """All enabled messages, anchors included, in their order."""
    system: list[ResolvedMessage] = field(default_factory=list[ResolvedMessage])
    deep: list[ResolvedMessage] = field(default_factory=list[ResolvedMessage])
    """Sorted by `order`; the depth is applied in phase 2."""
    beside: dict[str, AnchorNeighbors] = field(default_factory=dict[str, AnchorNeighbors])
    """By anchor id, for every anchor of the skeleton; the history's has every name it goes by."""
    profile_anchor: ResolvedMessage | None = None
    """The anchor that is the place of the profile."""
    examples_anchor: ResolvedMessage | None = None
    """The anchor that stands for the example dialogues."""
    skeleton: list[ResolvedMessage] = field(default_factory=list[ResolvedMessage])
    """Plain messages and anchors, in their order."""
    notes: list[Note] = field(default_factory=list[Note])
    marks: bool = False
    """True if a message has a cache mark."""

    @property
    def has_history(self) -> bool:
        """True if the conversation is sent."""
        return any(line.message.type == "chat_history" for line in self.skeleton)

    def add_note(self, level: Level, code: str, sentence: str, about: ResolvedMessage) -> None:
        """Add a note about a message."""
        self.notes.append(Note(level, code, sentence, about.origin))


def scan(
    preset: Preset,
    contributed: tuple[ResolvedMessage, ...] = (),
    kind: GenerationKind = "normal",
    role: Role | None = None,
    *,
    card_fields: tuple[CardField, ...] = CARD_FIELDS,
    needs_anchor: bool = False,
) -> MessageGroups:
    """Sort the messages of a preset and the contributed ones into their groups.

    Done once for the same messages: the result depends on neither history nor draft. Messages
    without the trigger `kind` are left out. Prompts of the role's character card, `card_fields`,
    replace those of the preset. If the conversation `needs_anchor`, it is not sent without one.
    """
    role = role if role and role.character else None
    return _scan(preset, contributed, kind, role, card_fields, needs_anchor)


@Memo
def _scan(
    preset: Preset,
    contributed: tuple[ResolvedMessage, ...],
    kind: GenerationKind,
    role: Role | None,
    card_fields: tuple[CardField, ...],
    needs_anchor: bool,
) -> MessageGroups:
    groups = MessageGroups()
    groups.listed = [
        with_card_prompt(line, role, card_fields)
        for line in _resolve_all(preset, contributed, kind, groups.notes)
    ]
    anchors = _find_anchors(groups)
    if CHAT_HISTORY not in anchors and needs_anchor:
        sentence = "The preset has no enabled chat_history anchor, so no conversation is sent."
        groups.notes.append(Note(Level.WARNING, "no-history-anchor", sentence))
    elif CHAT_HISTORY not in anchors and preset.messages:
        sentence = "The preset has no enabled chat_history anchor, so the history goes last."
        groups.notes.append(Note(Level.WARNING, "no-history-anchor", sentence))
    for line in groups.listed:
        if line.message.is_anchor:
            if anchors[line.message.anchor_id] is line:
                _add_anchor(line, groups)
        elif _has_content(line, groups):
            _group(line, groups, hoist=preset.system_placement == "hoist")
    if CHAT_HISTORY not in anchors and not needs_anchor:
        groups.skeleton.append(ResolvedMessage(_HISTORY_GOES_LAST, origin_of(_HISTORY_GOES_LAST)))
    _sort(groups)
    groups.marks = any(line.message.cache_control is not None for line in groups.listed)
    groups.notes += _unused_anchors(groups)
    return groups


def _resolve_all(
    preset: Preset,
    contributed: tuple[ResolvedMessage, ...],
    kind: GenerationKind,
    notes: list[Note],
) -> list[ResolvedMessage]:
    """Return the messages that are sent with this kind of generation.

    The contributed ones stand beside the message that they target, or before the first history
    anchor.
    """
    lines: list[ResolvedMessage] = []
    seen: set[int] = set()
    beside, others = _attached(preset, contributed, notes)
    for message in preset.messages:
        before, after = beside.get(id(message), _NONE)
        lines += (_placed_like(line, message) for line in before)
        if message.enabled and (not message.triggers or kind in message.triggers):
            # A message listed twice is two resolved messages, which are compared by identity.
            again = id(message) in seen
            line = (
                ResolvedMessage(message, origin_of(message))
                if again
                else resolve_preset_message(message)
            )
            lines.append(line)
            seen.add(id(message))
        lines += (_placed_like(line, message) for line in after)
    place = next(
        (i for i, line in enumerate(lines) if line.message.type == "chat_history"), len(lines)
    )
    return [*lines[:place], *others, *lines[place:]]


_NONE: tuple[list[ResolvedMessage], list[ResolvedMessage]] = ([], [])


def _attached(
    preset: Preset, contributed: tuple[ResolvedMessage, ...], notes: list[Note]
) -> tuple[dict[int, tuple[list[ResolvedMessage], list[ResolvedMessage]]], list[ResolvedMessage]]:
    """Return the contributed messages that stand before and after a message of the preset, by its
    identity, and the others. Those of a session's texts whose target is missing are left out.
    """
    beside: dict[int, tuple[list[ResolvedMessage], list[ResolvedMessage]]] = {}
    others: list[ResolvedMessage] = []
    targets: dict[str, PresetMessage] = {}
    for message in preset.messages:
        if not message.is_anchor:
            targets.setdefault(message.id, message)
    for line in contributed:
        target = line.message.anchor_target if line.slot else None
        if target is None or target == CHAT_HISTORY:
            others.append(line)
        elif (message := targets.get(target)) is not None:
            sides = beside.setdefault(id(message), ([], []))
            if line.message.anchor_point == "before":
                sides[0].insert(0, line)  # each goes to the beginning
            else:
                sides[1].append(line)
        else:
            sentence = f"{line.called} is anchored to “{target}”, which the preset does not have; "
            sentence += "it is not sent."
            notes.append(Note(Level.WARNING, "unknown-anchor", sentence, line.origin))
    return beside, others


def _placed_like(line: ResolvedMessage, target: PresetMessage) -> ResolvedMessage:
    """Return a contributed message at the place of the preset's message beside it."""
    message = replace(line.message, anchor_point=None, anchor_target=None)
    if target.insertion_point is None and target.anchor_target is None:
        return replace(line, message=message)
    message = replace(
        message,
        role=target.role,
        order=target.order,
        insertion_point=target.insertion_point,
        anchor_point=target.anchor_point,
        anchor_target=target.anchor_target,
    )
    return replace(line, message=message, slot="")


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


def _find_anchors(groups: MessageGroups) -> dict[str, ResolvedMessage]:
    found: dict[str, ResolvedMessage] = {}
    for line in groups.listed:
        if not line.message.is_anchor:
            continue
        anchor_id = line.message.anchor_id
        if found.setdefault(anchor_id, line) is not line:
            what = "the history" if line.message.type == "chat_history" else f"“{anchor_id}”"
            sentence = f"There are two anchors for {what}; the first one counts."
            groups.add_note(Level.WARNING, "doubled-anchor", sentence, line)
    groups.beside = {anchor_id: AnchorNeighbors() for anchor_id in (*found, CHAT_HISTORY)}
    for line in groups.listed:
        if line.message.type == "chat_history":  # the id of another anchor means that one
            groups.beside.setdefault(line.message.id, groups.beside[CHAT_HISTORY])
    return found


def _add_anchor(line: ResolvedMessage, groups: MessageGroups) -> None:
    """Put an anchor into the skeleton. A second profile anchor is only a target for others: the
    profile is sent once, and so are the example dialogues.
    """
    groups.skeleton.append(line)
    if line.message.type == "example_dialogues" and groups.examples_anchor is None:
        groups.examples_anchor = line
    if line.message.type != "user_profile":
        return
    if groups.profile_anchor is None:
        groups.profile_anchor = line
    else:
        sentence = (
            f"{line.called} is another anchor for the profile, which is sent once: at "
            f"{groups.profile_anchor.called}."
        )
        groups.add_note(Level.WARNING, "doubled-anchor", sentence, line)


def _has_content(line: ResolvedMessage, groups: MessageGroups) -> bool:
    content = line.message.content
    if line.pieces:
        return True
    if not content and line.message.card_field:
        return False  # it is the place of the card's prompt
    if not content:
        sentence = f"{line.called} is empty and is not sent."
        groups.add_note(Level.INFO, "empty-content", sentence, line)
    elif not content.strip():
        sentence = f"{line.called} is only white space; it is sent, but some providers refuse that."
        groups.add_note(Level.WARNING, "blank-content", sentence, line)
    return bool(content)


def _group(line: ResolvedMessage, groups: MessageGroups, *, hoist: bool) -> None:
    """Put a message into the first group that fits."""
    message = line.message
    has_depth = message.insertion_point is not None
    has_anchor = message.anchor_point is not None or message.anchor_target is not None
    if message.role == "system" and hoist and not line.stays:
        if has_anchor or has_depth:
            sentence = (
                f"{line.called} is a system message and goes first; its position is "
                "ignored (systemPlacement “in_place” would keep it)."
            )
            groups.add_note(Level.INFO, "position-ignored", sentence, line)
        groups.system.append(line)
    elif has_depth:
        if has_anchor:
            sentence = f"{line.called} has a depth and an anchor; the depth wins."
            groups.add_note(Level.INFO, "position-ignored", sentence, line)
        groups.deep.append(line)
    elif has_anchor:
        _anchor(line, message.anchor_target or CHAT_HISTORY, groups)
    else:
        groups.skeleton.append(line)


def _anchor(line: ResolvedMessage, target: str, groups: MessageGroups) -> None:
    beside = groups.beside.get(target)
    if beside is None:
        sentence = (
            f"{line.called} targets “{target}”, which is not an enabled anchor of this preset; "
            "it stays at its place in the list."
        )
        groups.add_note(Level.WARNING, "unknown-anchor", sentence, line)
        groups.skeleton.append(line)
    elif line.message.anchor_point == "before":
        beside.before.append(line)
    else:
        beside.after.append(line)


def _sort(groups: MessageGroups) -> None:
    """Sort the messages at one point by `order`; equal orders keep the preset's order."""
    groups.deep.sort(key=lambda line: line.order)
    for beside in groups.beside.values():
        beside.before.sort(key=lambda line: line.order)
        beside.after.sort(key=lambda line: line.order)


def _unused_anchors(groups: MessageGroups) -> Iterator[Note]:
    """Yield notes about unused placeholders: a typing error, or a place kept free."""
    for line in groups.skeleton:
        if line.message.type == "placeholder":
            beside = groups.beside[line.message.id]
            if not beside.before and not beside.after:
                sentence = f"No message is anchored to {line.called}."
                yield Note(Level.INFO, "idle-anchor", sentence, line.origin)
