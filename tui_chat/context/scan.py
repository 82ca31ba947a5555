"""Phases 1 and 3: put each message into its group, then walk the skeleton and fill the anchors.

1. Anchors are found first; all `chat_history` messages are the one anchor `CHAT_HISTORY`, which
   can also be named by their own ids. The profile stands at the first `user_profile` anchor.
2. Each enabled message that is not an anchor goes to the first group that fits: system, deep,
   anchored, skeleton.
3. The history always has a place: without an enabled `chat_history` anchor, it goes last.
4. A message whose target does not exist stays at its own place, with a note. Only an empty message
   is left out.
5. In phase 3 system messages precede everything. Then the skeleton in its order; at an anchor: what
   stands before it, what it stands for (the history, the profile, or nothing), what stands after.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Literal

from tui_chat.context.resolved_message import (
    ResolvedMessage,
    origin_of,
    resolve_preset_message,
    resolve_profile,
)
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.envelope import Level, Note, Placement
from tui_chat.models.generation import GenerationKind
from tui_chat.models.memo import Memo
from tui_chat.models.preset import CHAT_HISTORY, Preset, PresetMessage
from tui_chat.models.role import Profile

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


@Memo
def scan(preset: Preset, kind: GenerationKind, needs_anchor: bool) -> MessageGroups:
    """Sort the messages of a preset into their groups.

    Done once for the same messages: the result depends on neither history nor draft. Messages
    without the trigger `kind` are left out. If the conversation `needs_anchor`, it is not sent
    without one.
    """
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
        if not line.message.is_anchor:
            if _has_content(line, groups):
                _group(line, groups, hoist=preset.system_placement == "hoist")
        elif anchors[line.message.anchor_id] is line:
            groups.skeleton.append(line)
            if line.message.type == "user_profile" and groups.profile_anchor is None:
                groups.profile_anchor = line
            elif line.message.type == "user_profile":  # only a target: the profile is sent once
                first = groups.profile_anchor or line
                sentence = (
                    f"{line.called} is another anchor for the profile, which is sent once: at "
                    f"{first.called}."
                )
                groups.add_note(Level.WARNING, "doubled-anchor", sentence, line)
    if not has_history and not needs_anchor:
        groups.skeleton.append(ResolvedMessage(_HISTORY_GOES_LAST, origin_of(_HISTORY_GOES_LAST)))
    places = [groups.deep]
    for beside in groups.beside.values():
        places += beside.before, beside.after
    for place in places:
        place.sort(key=lambda line: line.order)  # equal orders keep the preset's order
    groups.marks = any(line.message.cache_control is not None for line in lines)
    for line in groups.skeleton:
        beside = groups.beside.get(line.message.id)
        if line.message.type == "placeholder" and beside and not (beside.before or beside.after):
            # A typing error, or a place kept free.
            sentence = f"No message is anchored to {line.called}."
            groups.add_note(Level.INFO, "idle-anchor", sentence, line)
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


def _has_content(line: ResolvedMessage, groups: MessageGroups) -> bool:
    content = line.message.content
    if line.pieces:
        return True
    if not content and not line.message.card_field:  # else it is the place of the card's prompt
        sentence = f"{line.called} is empty and is not sent."
        groups.add_note(Level.INFO, "empty-content", sentence, line)
    elif content and not content.strip():
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
    elif has_anchor and (beside := groups.beside.get(message.anchor_target or CHAT_HISTORY)):
        (beside.before if message.anchor_point == "before" else beside.after).append(line)
    else:
        if has_anchor:
            sentence = (
                f"{line.called} targets “{message.anchor_target}”, which is not an enabled anchor "
                "of this preset; it stays at its place in the list."
            )
            groups.add_note(Level.WARNING, "unknown-anchor", sentence, line)
        groups.skeleton.append(line)


# --- phase 3 ---------------------------------------------------------------------------------

Placed = tuple[ResolvedMessage, Placement]
"""A message and its placement."""

_FIRST = Placement("system", rule="System messages go first.")
_ROLE_FIRST = Placement("system", rule="The role's system prompt goes first.")
_IN_PLACE = Placement("skeleton", rule="This is its place in the preset.")
_UNPLACED = Placement("skeleton", rule="Without a position of its own, it goes before the history.")


def populate(
    groups: MessageGroups,
    role_prompt: ResolvedMessage | None,
    profile: Profile | None,
    *,
    with_neighbors: bool = True,
) -> tuple[list[Placed], list[Placed]]:
    """Place all messages but the history; return those before it, and those after it.
    `role_prompt` goes first.

    An anchor of example dialogues is placed itself: a plugin's builder fills it. `with_neighbors`:
    also place what stands before and after the history.
    """
    before: list[Placed] = [] if role_prompt is None else [(role_prompt, _ROLE_FIRST)]
    before += ((line, _FIRST) for line in groups.system)
    after: list[Placed] = []
    side = before
    for line in groups.skeleton:
        message = line.message
        is_history = message.type == "chat_history"
        if not message.is_anchor:
            side.append((line, _UNPLACED if line.why else _IN_PLACE))
            continue
        if not is_history or with_neighbors:
            side += _beside(groups, line, "before")
        if is_history:
            side = after
        elif message.type == "example_dialogues":
            side.append((line, _IN_PLACE))
        elif line is groups.profile_anchor and profile is not None and profile.content:
            rule = f"The anchor {line.called} is the place of the profile."
            name = message.name or message.id
            if profile.placement == "anchor":
                place = Placement("skeleton", message.id, rule=rule, anchor_name=name)
                side.append((resolve_profile(message, profile), place))
        if not is_history or with_neighbors:
            side += _beside(groups, line, "after")
    return before, after


def _beside(
    groups: MessageGroups, anchor: ResolvedMessage, side: Literal["before", "after"]
) -> Iterator[Placed]:
    message = anchor.message
    is_history = message.type == "chat_history"
    rule = f"It is anchored {side} {'the history' if is_history else anchor.called}."
    name = "history" if is_history else message.name or message.id
    placement = Placement(side, message.anchor_id, rule=rule, anchor_name=name)
    beside = groups.beside[message.anchor_id]
    for line in beside.before if side == "before" else beside.after:
        yield line, placement
