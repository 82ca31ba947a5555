"""The preset as a list that looks like the context it makes.

1. Every message of the preset has one row, at the place where the context builder will put it:
   the system messages first (where they are hoisted), what is anchored at its anchor, what has
   a depth at its depth in a sketch of the history.
2. A disabled message stands, as `off`, where it would stand if it were enabled; an empty one,
   where it would with a word in it. A message that the builder does not place (the second of
   two anchors) stands where it is in the list.
3. Ghosts are rows for what is not of the preset: the role's prompt, the messages of the history
   between which depths lie, the draft.
4. The history is drawn as one that is long enough for every depth, until it is known to be
   shorter: then each depth stands where that history has it, clamped to the end it passes.
5. A note stands on the row it concerns: of a message, of the role's prompt, of the history; what
   concerns everything (too much for the budget) on the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from operator import is_
from typing import Literal

from tui_chat.context.core import wanted_place
from tui_chat.context.listed import Listed
from tui_chat.context.scan import Beside, Groups, scan
from tui_chat.models.envelope import Note
from tui_chat.models.preset import CHAT_HISTORY, Preset, PresetMessage
from tui_chat.models.text import OriginKind

Ghost = Literal["role", "oldest", "between", "message", "newest", "draft", "history"]
"""`message`: the one of the history that a depth counts from; `between`: those left out;
`history`: where a preset without an anchor for it has the history."""
Standing = Literal["system", "skeleton", "before", "after", "depth", "anchor", "unplaced", "ghost"]


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the sketch."""

    standing: Standing
    message: PresetMessage | None = None
    """None for a ghost."""
    index: int = -1
    """Where the message stands in the preset's list, from 0."""
    anchor: str = ""
    """The anchor it stands at, for `before`, `after` and `depth`; an anchor's own id."""
    depth: int | None = None
    """For `depth`; for a ghost `message`, the depth in front of it (or behind, from 0 on)."""
    ghost: Ghost | None = None
    skipped: int = 0
    """For a ghost `between`: how many messages it stands for; 0 where that is not known."""
    off: bool = False
    """Whether it is disabled."""
    notes: tuple[Note, ...] = ()
    """What there is to say about it."""

    @property
    def indent(self) -> int:
        """Levels: what stands at an anchor is one in from it."""
        inside = self.standing in ("before", "after", "depth")
        of_history = self.ghost in ("oldest", "between", "message", "newest", "draft")
        return int(inside or of_history)


@dataclass(frozen=True, slots=True)
class Sketch:
    """The rows, in the order of the context."""

    preset: Preset
    rows: tuple[Row, ...]
    notes: tuple[Note, ...]
    """What there is to say about the preset as a whole."""

    def row_of(self, index: int) -> int:
        """Return the number of the row of the preset's message `index`."""
        return next(number for number, row in enumerate(self.rows) if row.index == index)


def sketch(
    preset: Preset, notes: Sequence[Note] | None = None, length: int | None = None
) -> Sketch:
    """Draw a preset.

    `notes` of a composed request are put on the rows they concern; without them, those that the
    preset alone gives cause for are. `length` is that of the history that is sent, in messages.
    """
    return _Drawing(preset, scan(preset).notes if notes is None else notes, length).drawn()


def _as_if_enabled(preset: Preset) -> Iterator[tuple[int, PresetMessage]]:
    """Yield, by index, what would be there if all but anchors were enabled and said something."""
    seen: set[int] = set()
    for index, message in enumerate(preset.messages):
        if message.is_anchor and not message.enabled:
            continue
        if not message.enabled or not message.content or id(message) in seen:
            # Each is known again by its identity.
            yield index, replace(message, enabled=True, content=message.content or "…")
        else:
            yield index, message
        seen.add(id(message))


_FIRST, _HISTORY, _PROFILE = "\0first", "\0history", "\0profile"
"""Places of notes that are no message's; no id begins like this."""
_OF_ANCHORS = {"chat_history": _HISTORY, "user_profile": _PROFILE}
_OF_THE_HISTORY = ("no-history-anchor", "history-dropped")


def _place_of(note: Note, ids: set[str]) -> str | None:
    """Return where a note belongs: the id of a message, another place, None for nowhere."""
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
        case None if note.code in _OF_THE_HISTORY:
            return _HISTORY
        case _:
            return None


class _Drawing:
    def __init__(self, preset: Preset, notes: Sequence[Note], length: int | None) -> None:
        self.preset = preset
        self.length = length
        enabled = list(_as_if_enabled(preset))
        messages = tuple(message for _, message in enabled)
        same = len(messages) == len(preset.messages) and all(map(is_, messages, preset.messages))
        self.groups: Groups = scan(preset if same else replace(preset, messages=messages))
        # The builder keeps the messages' own objects and the list's order.
        self.index_of = {id(message): index for index, message in enabled}
        self.notes: dict[str, list[Note]] = {}
        """By the id of a message, and by what else has a row."""
        self.others: list[Note] = []
        ids = {message.id for message in preset.messages}
        for note in notes:
            place = _place_of(note, ids)
            (self.others if place is None else self.notes.setdefault(place, [])).append(note)

    def drawn(self) -> Sketch:
        first = Row("ghost", ghost="role", notes=self._told(_FIRST))
        rows = [first, *self._lines(self.groups.system, "system")]
        rows += self._skeleton()
        return Sketch(self.preset, tuple(rows), tuple(self.others))

    def _row(self, message: PresetMessage, index: int, standing: Standing, anchor: str = "") -> Row:
        own = self.preset.messages[index]
        return Row(
            standing,
            own,
            index,
            anchor=anchor or (own.anchor_id if own.is_anchor else ""),
            depth=own.insertion_point if standing == "depth" else None,
            off=not own.enabled,
            notes=self._told(own.id) + (self._told_at(own) if standing == "anchor" else ()),
        )

    def _told_at(self, anchor: PresetMessage) -> tuple[Note, ...]:
        return self._told(_OF_ANCHORS.get(anchor.type, "")) if anchor.enabled else ()

    def _told(self, place: str) -> tuple[Note, ...]:
        return tuple(self.notes.get(place, ()))

    def _lines(self, lines: list[Listed], standing: Standing, anchor: str = "") -> Iterator[Row]:
        for line in lines:
            index = self.index_of.get(id(line.message))
            if index is not None:
                yield self._row(line.message, index, standing, anchor)

    def _skeleton(self) -> Iterator[Row]:
        """Yield the list with its anchors filled, what the builder leaves out at its place."""
        left_out = self._left_out()
        for line in self.groups.skeleton:
            index = self.index_of.get(id(line.message), len(self.preset.messages))
            while left_out and left_out[0].index < index:
                yield left_out.pop(0)
            yield from self._line(line, index)
        yield from left_out

    def _line(self, line: Listed, index: int) -> Iterator[Row]:
        message = line.message
        if not message.is_anchor:
            yield self._row(message, index, "skeleton")
            return
        beside = self.groups.beside.get(message.anchor_id, Beside())
        yield from self._lines(beside.before, "before", message.anchor_id)
        if index < len(self.preset.messages):
            yield self._row(message, index, "anchor")
        else:
            notes = self._told(_HISTORY)
            yield Row("ghost", ghost="history", anchor=CHAT_HISTORY, notes=notes)
        if message.type == "chat_history":
            yield from self._history()
        yield from self._lines(beside.after, "after", message.anchor_id)

    def _history(self) -> Iterator[Row]:
        """Yield the depths between ghosts of the messages that they lie between."""
        asked = [line.message.insertion_point or 0 for line in self.groups.deep]
        ahead, behind = max([0, *asked]), max([0, *(-depth - 1 for depth in asked)])
        # Long enough for every depth, with a message to spare that none of them is beside.
        spare, length = ahead + 2, ahead + behind + 3
        if self.length is not None and 2 <= self.length < length:
            spare, length = 0, self.length
        places: dict[int, list[Listed]] = {}
        beside = {1, length}
        deep = [(wanted_place(depth, length), depth) for depth in asked]
        lines = sorted(zip(deep, self.groups.deep, strict=True), key=lambda each: each[0][0])
        for (wanted, depth), line in lines:
            place = min(max(wanted, 0), length)
            places.setdefault(place, []).append(line)
            beside.add(max(place, 1) if depth >= 0 else min(place + 1, length))
        yield from self._lines(places.get(0, []), "depth", CHAT_HISTORY)
        last = 0
        for number in sorted({*beside, *places} - {0}):
            is_shown = number in beside
            if hidden := number - last - is_shown:
                known = 0 if last < spare < number else hidden
                yield Row("ghost", ghost="between", anchor=CHAT_HISTORY, skipped=known)
            if is_shown:
                depth = number if number <= ahead else number - length - 2
                name = "oldest" if number == 1 else "newest" if number == length else "message"
                yield Row("ghost", ghost=name, anchor=CHAT_HISTORY, depth=depth)
            yield from self._lines(places.get(number, []), "depth", CHAT_HISTORY)
            last = number
        yield Row("ghost", ghost="draft", anchor=CHAT_HISTORY)

    def _left_out(self) -> list[Row]:
        """Return rows for what is in no group, in the list's order."""
        groups = self.groups
        beside = [line for b in groups.beside.values() for line in (*b.before, *b.after)]
        placed = (*groups.system, *groups.deep, *groups.skeleton, *beside)
        there = {self.index_of.get(id(line.message)) for line in placed}
        return [
            self._row(message, index, "anchor" if self._is_off_anchor(message) else "unplaced")
            for index, message in enumerate(self.preset.messages)
            if index not in there
        ]

    def _is_off_anchor(self, message: PresetMessage) -> bool:
        return message.is_anchor and not message.enabled
