"""Phase 1: find the anchors, then put each preset message into its group.

1. Anchors are found first; all `chat_history` messages are the one anchor `CHAT_HISTORY`.
2. Each enabled message that is no anchor goes to the first group that fits: system, deep,
   anchored, skeleton.
3. The history always has a place: where no enabled `chat_history` anchor stands, it goes last.
4. A message that cannot be put where it wants stays at its own place in the list, and a
   note says so. Only an empty message is left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tui_chat.model.envelope import Level, Note, Turn
from tui_chat.model.memo import Memo
from tui_chat.model.preset import CHAT_HISTORY, Preset, PresetMessage
from tui_chat.model.text import Origin, OriginKind

HISTORY_GOES_LAST = PresetMessage(
    id=CHAT_HISTORY, role="user", type="chat_history", name="the history, which goes last"
)
"""Stands for the anchor that a preset lacks."""


@dataclass(slots=True)
class Beside:
    """What stands next to one anchor, in the order in which it is sent."""

    before: list[PresetMessage] = field(default_factory=list[PresetMessage])
    after: list[PresetMessage] = field(default_factory=list[PresetMessage])


@dataclass(slots=True)
class Groups:
    """A preset, sorted out. Not to be changed once `scan` has returned it."""

    system: list[PresetMessage] = field(default_factory=list[PresetMessage])
    deep: list[PresetMessage] = field(default_factory=list[PresetMessage])
    """Sorted by `order`; the depth is applied in phase 2."""
    beside: dict[str, Beside] = field(default_factory=dict[str, Beside])
    """By anchor id, for every anchor of the skeleton."""
    skeleton: list[PresetMessage] = field(default_factory=list[PresetMessage])
    """Plain messages and anchors, in the preset's order."""
    notes: list[Note] = field(default_factory=list[Note])
    turns: dict[int, Turn] = field(default_factory=dict[int, Turn])
    """The turns of system, anchored and skeleton messages, by identity, made in phase 3."""


def origin_of(message: PresetMessage) -> Origin:
    """Return the origin of what a preset message says."""
    return Origin(OriginKind.PRESET, message.id, message.name)


def _scan(preset: Preset) -> Groups:
    groups = Groups()
    anchors = _anchors(preset.messages, groups)
    hoist = preset.system_placement == "hoist"
    for message in preset.messages:
        if not message.enabled:
            continue
        if message.is_anchor:
            if anchors[message.anchor_id] is message:
                groups.skeleton.append(message)
        elif not message.content:
            note = f"{_called(message)} is empty and is not sent."
            _tell(groups, Level.INFO, "empty-content", note, message)
        else:
            _put(message, groups, hoist)
    if CHAT_HISTORY not in anchors:
        groups.skeleton.append(HISTORY_GOES_LAST)
    groups.deep.sort(key=_order)
    for beside in groups.beside.values():
        beside.before.sort(key=_order)
        beside.after.sort(key=_order)
    return groups


scan: Memo[Preset, Groups] = Memo(_scan)
"""`scan(preset)`: phase 1. Depends on the preset alone, so it is done once for each."""


def _anchors(messages: Iterable[PresetMessage], groups: Groups) -> dict[str, PresetMessage]:
    found: dict[str, PresetMessage] = {}
    for message in messages:
        if not (message.enabled and message.is_anchor):
            continue
        if found.setdefault(message.anchor_id, message) is not message:
            what = "history" if message.type == "chat_history" else f"“{message.anchor_id}”"
            sentence = f"There are two anchors for {what}; the first one counts."
            _tell(groups, Level.WARNING, "doubled-anchor", sentence, message)
    if CHAT_HISTORY not in found:
        sentence = "The preset has no enabled chat_history anchor, so the history goes last."
        groups.notes.append(Note(Level.WARNING, "no-history-anchor", sentence))
    groups.beside = {anchor_id: Beside() for anchor_id in (*found, CHAT_HISTORY)}
    return found


def _put(message: PresetMessage, groups: Groups, hoist: bool) -> None:
    has_anchor = message.anchor_point is not None or message.anchor_target is not None
    has_depth = message.insertion_point is not None
    if message.role == "system" and hoist:
        if has_anchor or has_depth:
            sentence = (
                f"{_called(message)} is a system message and goes first; its position is "
                "ignored (systemPlacement “in_place” would keep it)."
            )
            _tell(groups, Level.INFO, "position-ignored", sentence, message)
        groups.system.append(message)
        return
    if has_depth:
        if has_anchor:
            sentence = f"{_called(message)} has a depth and an anchor; the depth wins."
            _tell(groups, Level.INFO, "position-ignored", sentence, message)
        groups.deep.append(message)
        return
    if not has_anchor:
        groups.skeleton.append(message)
        return
    target = message.anchor_target or CHAT_HISTORY
    beside = groups.beside.get(target)
    if beside is None:
        sentence = (
            f"{_called(message)} wants to stand beside “{target}”, which is not an enabled "
            "anchor of this preset; it stays at its own place in the list."
        )
        _tell(groups, Level.WARNING, "unknown-anchor", sentence, message)
        groups.skeleton.append(message)
    elif message.anchor_point == "before":
        beside.before.append(message)
    else:
        beside.after.append(message)


def _tell(groups: Groups, level: Level, code: str, sentence: str, about: PresetMessage) -> None:
    groups.notes.append(Note(level, code, sentence, origin_of(about)))


def _called(message: PresetMessage) -> str:
    return f"“{message.name or message.id}”"


def _order(message: PresetMessage) -> int:
    return message.order
