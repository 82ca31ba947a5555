"""The outline of a preset: its messages in the order of the context that they make.

1. Every preset message has one row, at the place where the context builder will put it: system
   messages first (if they are hoisted), anchored messages at their anchor, deep messages at their
   depth in a schematic history.
2. A disabled message has the place it would have if it were enabled, an empty one the place it
   would have with content. A message that the builder does not place (the second of two equal
   anchors) stays at its index in the list.
3. Ghost rows stand for what is not part of the preset: the role's prompt, the history messages
   between which depths lie, the draft.
4. At one depth the rows have the order in which they are sent: some builders sort them by role.
5. The schematic history is long enough for every depth, unless the real one is known to be
   shorter: then a depth that passes an end is clamped to it.
6. A note is on the row of the message, role prompt or history that it is about. A note about the
   whole context (over budget) is on the first row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import is_
from typing import Literal

from tui_chat.context.history import requested_position
from tui_chat.context.resolved_message import ResolvedMessage
from tui_chat.context.rules import rules_of
from tui_chat.context.scan import MessageGroups, scan
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.envelope import Note
from tui_chat.models.preset import CHAT_HISTORY, Preset, PresetMessage
from tui_chat.models.text import OriginKind

Ghost = Literal["role", "oldest", "between", "message", "newest", "draft", "history"]
"""`message`: the history message that a depth counts from; `between`: the messages left out;
`history`: the place of the history in a preset that has no anchor for it."""
RowPlacement = Literal[
    "system", "skeleton", "before", "after", "depth", "anchor", "unplaced", "ghost"
]


@dataclass(frozen=True, slots=True)
class OutlineRow:
    """A row of the outline: a preset message or a ghost."""

    placement: RowPlacement
    message: PresetMessage | None = None
    """None for a ghost."""
    index: int = -1
    """The message's index in the preset, from 0; -1 for a ghost."""
    anchor: str = ""
    """The target anchor, for `before`, `after` and `depth`; an anchor's own id."""
    depth: int | None = None
    """For `depth`; for a ghost `message`, the depth in front of it (or behind, from 0 on)."""
    ghost: Ghost | None = None
    skipped: int = 0
    """For a ghost `between`: the number of messages it stands for; 0 if unknown."""
    disabled: bool = False
    notes: tuple[Note, ...] = ()

    @property
    def indent(self) -> int:
        """Levels of indentation: 1 for what is attached to an anchor."""
        inside = self.placement in ("before", "after", "depth")
        of_history = self.ghost in ("oldest", "between", "message", "newest", "draft")
        return int(inside or of_history)


@dataclass(frozen=True, slots=True)
class Outline:
    """The rows of a preset, in the order of the context."""

    preset: Preset
    rows: tuple[OutlineRow, ...]
    notes: tuple[Note, ...]
    """Notes that belong to no row."""

    def row_of(self, index: int) -> int:
        """Return the number of the row of preset message `index`."""
        return next(number for number, row in enumerate(self.rows) if row.index == index)


def outline_preset(
    preset: Preset, notes: Sequence[Note] | None = None, length: int | None = None
) -> Outline:
    """Return the outline of a preset.

    `notes` are those of a composed request; None for the notes about the preset alone. `length`
    is the number of history messages that are sent, None if unknown.
    """
    return _OutlineBuilder(
        preset, scan(preset, "normal", False).notes if notes is None else notes, length
    ).build()


def _all_enabled(preset: Preset) -> Iterator[tuple[int, PresetMessage]]:
    """Yield index and message, with disabled messages enabled and empty ones filled in.

    A disabled anchor is left out. Each message is a distinct object, so that it can be found
    again by identity.
    """
    seen: set[int] = set()
    for index, message in enumerate(preset.messages):
        if message.is_anchor and not message.enabled:
            continue
        if not message.enabled or not message.content or id(message) in seen:
            yield index, replace(message, enabled=True, content=message.content or "…")
        else:
            yield index, message
        seen.add(id(message))


_FIRST, _HISTORY, _PROFILE = "\0first", "\0history", "\0profile"
"""Places of notes about no preset message; no id begins with NUL."""
_ANCHOR_PLACES = {"chat_history": _HISTORY, "user_profile": _PROFILE}
_HISTORY_CODES = ("no-history-anchor", "history-dropped", "history-summarized")


def _note_place(note: Note, ids: set[str]) -> str | None:
    """Return the place of a note: a message id, another place, or None for no row."""
    origin = note.origin
    while origin is not None and origin.within is not None:
        origin = origin.within
    match origin.kind if origin is not None else None:
        case OriginKind.PRESET if origin is not None and origin.id in ids:
            return origin.id
        case OriginKind.SYSTEM:
            return _FIRST
        case OriginKind.PROFILE:
            return _PROFILE
        case None if note.code == "over-budget":
            return _FIRST
        case None if note.code in _HISTORY_CODES:
            return _HISTORY
        case _:
            return None


class _OutlineBuilder:
    def __init__(self, preset: Preset, notes: Sequence[Note], length: int | None) -> None:
        self.preset = preset
        self.length = length
        enabled = list(_all_enabled(preset))
        messages = tuple(message for _, message in enabled)
        same = len(messages) == len(preset.messages) and all(map(is_, messages, preset.messages))
        self.groups: MessageGroups = scan(
            preset if same else replace(preset, messages=messages),
            "normal",
            rules_of(preset).needs_anchor,
        )
        # The builder keeps the messages' own objects and the list's order.
        self.index_of = {id(message): index for index, message in enabled}
        self.notes: dict[str, list[Note]] = {}
        """By message id, `_FIRST`, `_HISTORY` or `_PROFILE`."""
        self.others: list[Note] = []
        ids = {message.id for message in preset.messages}
        for note in notes:
            place = _note_place(note, ids)
            (self.others if place is None else self.notes.setdefault(place, [])).append(note)

    def build(self) -> Outline:
        first = OutlineRow("ghost", ghost="role", notes=self._notes_of(_FIRST))
        is_shown = first.notes or rules_of(self.preset).role_prompt == "first"
        rows = [first] if is_shown else []
        rows += self._message_rows(self.groups.system, "system")
        rows += self._skeleton()
        return Outline(self.preset, tuple(rows), tuple(self.others))

    def _row(
        self, message: PresetMessage, index: int, placement: RowPlacement, anchor: str = ""
    ) -> OutlineRow:
        own = self.preset.messages[index]
        notes = self._notes_of(own.id)
        if placement == "anchor" and own.enabled:
            notes += self._notes_of(_ANCHOR_PLACES.get(own.type, ""))
        return OutlineRow(
            placement,
            own,
            index,
            anchor=anchor or (own.anchor_id if own.is_anchor else ""),
            depth=own.insertion_point if placement == "depth" else None,
            disabled=not own.enabled,
            notes=notes,
        )

    def _notes_of(self, place: str) -> tuple[Note, ...]:
        return tuple(self.notes.get(place, ()))

    def _message_rows(
        self, lines: list[ResolvedMessage], placement: RowPlacement, anchor: str = ""
    ) -> Iterator[OutlineRow]:
        for line in lines:
            index = self.index_of.get(id(line.message))
            if index is not None:
                yield self._row(line.message, index, placement, anchor)

    def _skeleton(self) -> Iterator[OutlineRow]:
        """Yield the skeleton with its anchors filled, and left-out messages at their index."""
        left_out = self._left_out()
        for line in self.groups.skeleton:
            index = self.index_of.get(id(line.message), len(self.preset.messages))
            while left_out and left_out[0].index < index:
                yield left_out.pop(0)
            yield from self._skeleton_rows(line, index)
        yield from left_out

    def _skeleton_rows(self, line: ResolvedMessage, index: int) -> Iterator[OutlineRow]:
        message = line.message
        if not message.is_anchor:
            yield self._row(message, index, "skeleton")
            return
        beside = self.groups.beside[message.anchor_id]
        yield from self._message_rows(beside.before, "before", message.anchor_id)
        if index < len(self.preset.messages):
            yield self._row(message, index, "anchor")
        else:
            notes = self._notes_of(_HISTORY)
            yield OutlineRow("ghost", ghost="history", anchor=CHAT_HISTORY, notes=notes)
        if message.type == "chat_history":
            yield from self._history_rows()
        after = beside.after
        if message.type == "chat_history":
            after = sorted(after, key=self._by_role)
        yield from self._message_rows(after, "after", message.anchor_id)

    def _by_role(self, line: ResolvedMessage) -> tuple[int, int]:
        """Return what the messages at one depth are sorted by, before their order in the list."""
        roles = rules_of(self.preset).depth_roles
        return line.order, roles.index(line.message.role) if roles else 0

    def _history_rows(self) -> Iterator[OutlineRow]:
        """Yield the deep messages between ghosts of the history messages around them."""
        depths = [line.message.insertion_point or 0 for line in self.groups.deep]
        ahead, behind = max([0, *depths]), max([0, *(-depth - 1 for depth in depths)])
        # Long enough for every depth, with one spare message that is next to none of them.
        spare, length = ahead + 2, ahead + behind + 3
        if self.length is not None and 2 <= self.length < length:
            spare, length = 0, self.length
        places: dict[int, list[ResolvedMessage]] = {}
        beside = {1, length}
        deep = [(requested_position(depth, length), depth) for depth in depths]
        pairs = sorted(
            zip(deep, self.groups.deep, strict=True), key=lambda pair: self._by_role(pair[1])
        )
        lines = sorted(pairs, key=lambda pair: pair[0][0])
        for (wanted, depth), line in lines:
            place = min(max(wanted, 0), length)
            places.setdefault(place, []).append(line)
            beside.add(max(place, 1) if depth >= 0 else min(place + 1, length))
        yield from self._message_rows(places.get(0, []), "depth", CHAT_HISTORY)
        last = 0
        for number in sorted({*beside, *places} - {0}):
            is_shown = number in beside
            if hidden := number - last - is_shown:
                shown = 0 if last < spare < number else hidden
                yield OutlineRow("ghost", ghost="between", anchor=CHAT_HISTORY, skipped=shown)
            if is_shown:
                depth = number if number <= ahead else number - length - 2
                name = "oldest" if number == 1 else "newest" if number == length else "message"
                yield OutlineRow("ghost", ghost=name, anchor=CHAT_HISTORY, depth=depth)
            yield from self._message_rows(places.get(number, []), "depth", CHAT_HISTORY)
            last = number
        yield OutlineRow("ghost", ghost="draft", anchor=CHAT_HISTORY)

    def _left_out(self) -> list[OutlineRow]:
        """Return the rows of messages that are in no group, in list order."""
        groups = self.groups
        beside = [line for b in groups.beside.values() for line in (*b.before, *b.after)]
        placed = (*groups.system, *groups.deep, *groups.skeleton, *beside)
        placed_indices = {self.index_of.get(id(line.message)) for line in placed}
        rows: list[OutlineRow] = []
        for index, message in enumerate(self.preset.messages):
            if index not in placed_indices:
                is_off_anchor = message.is_anchor and not message.enabled
                rows.append(self._row(message, index, "anchor" if is_off_anchor else "unplaced"))
        return rows
