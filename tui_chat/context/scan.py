"""Phase 1: find the anchors, then put each line of the list into its group.

1. Anchors are found first; all `chat_history` messages are the one anchor `CHAT_HISTORY`, which
   can also be named by their own ids. The profile stands at the first `user_profile` anchor.
2. What contributors add stands in the list directly before the history.
3. Each enabled message that is no anchor goes to the first group that fits: system, deep,
   anchored, skeleton.
4. The history always has a place: where no enabled `chat_history` anchor stands, it goes last.
5. A message that cannot be put where it wants stays at its own place in the list, and a
   note says so. Only an empty message is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tui_chat.context.listed import Listed, origin_of, preset_line
from tui_chat.models.envelope import Level, Note
from tui_chat.models.memo import Memo
from tui_chat.models.preset import CHAT_HISTORY, Preset, PresetMessage

_HISTORY_GOES_LAST = PresetMessage(
    id=CHAT_HISTORY, role="user", type="chat_history", name="the history, which goes last"
)
"""Stands for the anchor that a preset lacks."""


@dataclass(slots=True)
class Beside:
    """What stands next to one anchor, in the order in which it is sent."""

    before: list[Listed] = field(default_factory=list[Listed])
    after: list[Listed] = field(default_factory=list[Listed])


@dataclass(slots=True)
class Groups:
    """A list, sorted out. Not to be changed once `scan` has returned it."""

    listed: list[Listed] = field(default_factory=list[Listed])
    """Everything enabled, anchors included, in the list's order."""
    system: list[Listed] = field(default_factory=list[Listed])
    deep: list[Listed] = field(default_factory=list[Listed])
    """Sorted by `order`; the depth is applied in phase 2."""
    beside: dict[str, Beside] = field(default_factory=dict[str, Beside])
    """By anchor id, for every anchor of the skeleton; the history's has every name it goes by."""
    profile_anchor: Listed | None = None
    """Where the profile stands."""
    skeleton: list[Listed] = field(default_factory=list[Listed])
    """Plain messages and anchors, in the list's order."""
    notes: list[Note] = field(default_factory=list[Note])
    marks: bool = False
    """Whether a line places a cache mark."""

    def tell(self, level: Level, code: str, sentence: str, about: Listed) -> None:
        """Add a note about a line."""
        self.notes.append(Note(level, code, sentence, about.origin))


def scan(preset: Preset, contributed: tuple[Listed, ...] = ()) -> Groups:
    """Sort a preset's messages, and what was added to them, into their groups.

    Done once for the same preset and the same lines: neither history nor draft plays a part.
    """
    return _scan(preset, contributed)


@Memo
def _scan(preset: Preset, contributed: tuple[Listed, ...]) -> Groups:
    groups = Groups(listed=_whole_list(preset, contributed))
    anchors = _find_anchors(groups)
    if CHAT_HISTORY not in anchors and preset.messages:
        sentence = "The preset has no enabled chat_history anchor, so the history goes last."
        groups.notes.append(Note(Level.WARNING, "no-history-anchor", sentence))
    for line in groups.listed:
        if line.message.is_anchor:
            if anchors[line.message.anchor_id] is line:
                _add_anchor(line, groups)
        elif _says_something(line, groups):
            _group(line, groups, hoist=preset.system_placement == "hoist")
    if CHAT_HISTORY not in anchors:
        groups.skeleton.append(Listed(_HISTORY_GOES_LAST, origin_of(_HISTORY_GOES_LAST)))
    _sort(groups)
    groups.marks = any(line.message.cache_control is not None for line in groups.listed)
    groups.notes += _idle_anchors(groups)
    return groups


def _whole_list(preset: Preset, contributed: tuple[Listed, ...]) -> list[Listed]:
    """Return what is enabled, the contributed lines before the first history anchor."""
    lines: list[Listed] = []
    seen: set[int] = set()
    for message in preset.messages:
        if message.enabled:
            # One that stands there twice is two lines: lines are compared by identity.
            again = id(message) in seen
            lines.append(Listed(message, origin_of(message)) if again else preset_line(message))
            seen.add(id(message))
    place = next(
        (i for i, line in enumerate(lines) if line.message.type == "chat_history"), len(lines)
    )
    return [*lines[:place], *contributed, *lines[place:]]


def _find_anchors(groups: Groups) -> dict[str, Listed]:
    found: dict[str, Listed] = {}
    for line in groups.listed:
        if not line.message.is_anchor:
            continue
        anchor_id = line.message.anchor_id
        if found.setdefault(anchor_id, line) is not line:
            what = "the history" if line.message.type == "chat_history" else f"“{anchor_id}”"
            sentence = f"There are two anchors for {what}; the first one counts."
            groups.tell(Level.WARNING, "doubled-anchor", sentence, line)
    groups.beside = {anchor_id: Beside() for anchor_id in (*found, CHAT_HISTORY)}
    for line in groups.listed:
        if line.message.type == "chat_history":  # the id of another anchor means that one
            groups.beside.setdefault(line.message.id, groups.beside[CHAT_HISTORY])
    return found


def _add_anchor(line: Listed, groups: Groups) -> None:
    """Put an anchor into the skeleton. A second one for the profile is a place and no more: the
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
        groups.tell(Level.WARNING, "doubled-anchor", sentence, line)


def _says_something(line: Listed, groups: Groups) -> bool:
    content = line.message.content
    if not content:
        sentence = f"{line.called} is empty and is not sent."
        groups.tell(Level.INFO, "empty-content", sentence, line)
    elif not content.strip():
        sentence = f"{line.called} is nothing but white space; it is sent, but some refuse that."
        groups.tell(Level.WARNING, "blank-content", sentence, line)
    return bool(content)


def _group(line: Listed, groups: Groups, *, hoist: bool) -> None:
    """Put a line into the first group that fits."""
    message = line.message
    has_depth = message.insertion_point is not None
    has_anchor = message.anchor_point is not None or message.anchor_target is not None
    if message.role == "system" and hoist:
        if has_anchor or has_depth:
            sentence = (
                f"{line.called} is a system message and goes first; its position is "
                "ignored (systemPlacement “in_place” would keep it)."
            )
            groups.tell(Level.INFO, "position-ignored", sentence, line)
        groups.system.append(line)
    elif has_depth:
        if has_anchor:
            sentence = f"{line.called} has a depth and an anchor; the depth wins."
            groups.tell(Level.INFO, "position-ignored", sentence, line)
        groups.deep.append(line)
    elif has_anchor:
        _put_beside(line, message.anchor_target or CHAT_HISTORY, groups)
    else:
        groups.skeleton.append(line)


def _put_beside(line: Listed, target: str, groups: Groups) -> None:
    beside = groups.beside.get(target)
    if beside is None:
        sentence = (
            f"{line.called} wants to stand beside “{target}”, which is not an enabled "
            "anchor of this preset; it stays at its own place in the list."
        )
        groups.tell(Level.WARNING, "unknown-anchor", sentence, line)
        groups.skeleton.append(line)
    elif line.message.anchor_point == "before":
        beside.before.append(line)
    else:
        beside.after.append(line)


def _sort(groups: Groups) -> None:
    """Sort by `order` those at one point; `sort` is stable, so equal ones keep the list's."""
    groups.deep.sort(key=lambda line: line.order)
    for beside in groups.beside.values():
        beside.before.sort(key=lambda line: line.order)
        beside.after.sort(key=lambda line: line.order)


def _idle_anchors(groups: Groups) -> Iterator[Note]:
    """Tell of placeholders at which nothing stands: a typing error, or a place kept free."""
    for line in groups.skeleton:
        if line.message.type == "placeholder":
            beside = groups.beside[line.message.id]
            if not beside.before and not beside.after:
                sentence = f"Nothing is put at the placeholder {line.called}."
                yield Note(Level.INFO, "idle-anchor", sentence, line.origin)
