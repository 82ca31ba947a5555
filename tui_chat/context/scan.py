"""Phase 1: find the anchors, then put each message into its group.

1. Anchors are found first; all `chat_history` messages are the one anchor `CHAT_HISTORY`, which
   can also be named by their own ids. The profile stands at the first `user_profile` anchor.
2. Each enabled message that is not an anchor goes to the first group that fits: system, deep,
   anchored, skeleton.
3. The history always has a place: without an enabled `chat_history` anchor, it goes last.
4. A message whose target does not exist stays at its own place, with a note. Only an empty message
   is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from tui_chat.context.resolved_message import (
    ResolvedMessage,
    origin_of,
    resolve_preset_message,
)
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.envelope import Level, Note
from tui_chat.models.generation import GenerationKind
from tui_chat.models.memo import Memo
from tui_chat.models.preset import CHAT_HISTORY, Preset, PresetMessage

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
    preset: Preset, kind: GenerationKind = "normal", *, needs_anchor: bool = False
) -> MessageGroups:
    """Sort the messages of a preset into their groups.

    Done once for the same messages: the result depends on neither history nor draft. Messages
    without the trigger `kind` are left out. If the conversation `needs_anchor`, it is not sent
    without one.
    """
    return _scan(preset, kind, needs_anchor)


@Memo
def _scan(preset: Preset, kind: GenerationKind, needs_anchor: bool) -> MessageGroups:
    return group_messages(preset, resolve_messages(preset, kind), needs_anchor=needs_anchor)


def resolve_messages(preset: Preset, kind: GenerationKind) -> list[ResolvedMessage]:
    """Return the messages of a preset that are sent with a kind of generation."""
    lines: list[ResolvedMessage] = []
    seen: set[int] = set()
    for message in preset.messages:
        if is_sent(message, kind):
            # A message listed twice is two resolved messages, which are compared by identity.
            again = id(message) in seen
            line = ResolvedMessage(message, origin_of(message)) if again else None
            lines.append(line or resolve_preset_message(message))
            seen.add(id(message))
    return lines


def is_sent(message: PresetMessage, kind: GenerationKind) -> bool:
    """True if a message is sent with a kind of generation."""
    return message.enabled and (not message.triggers or kind in message.triggers)


def group_messages(
    preset: Preset, lines: list[ResolvedMessage], *, needs_anchor: bool = False
) -> MessageGroups:
    """Sort messages into their groups by the rules of their preset."""
    groups = MessageGroups(lines)
    anchors = _find_anchors(groups)
    has_history = CHAT_HISTORY in anchors
    if not has_history and (needs_anchor or preset.messages):
        what = "no conversation is sent" if needs_anchor else "the history goes last"
        sentence = f"The preset has no enabled chat_history anchor, so {what}."
        groups.notes.append(Note(Level.WARNING, "no-history-anchor", sentence))
    for line in lines:
        if line.message.is_anchor:
            if anchors[line.message.anchor_id] is line:
                _add_anchor(line, groups)
        elif _has_content(line, groups):
            _group(line, groups, hoist=preset.system_placement == "hoist")
    if not has_history and not needs_anchor:
        groups.skeleton.append(ResolvedMessage(_HISTORY_GOES_LAST, origin_of(_HISTORY_GOES_LAST)))
    _sort(groups)
    groups.marks = any(line.message.cache_control is not None for line in lines)
    groups.notes += _unused_anchors(groups)
    return groups


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
    profile is sent once.
    """
    groups.skeleton.append(line)
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
