"""The preset as a list that looks like the context it makes.

1. Every message of the preset has one row, at the place where the context builder will put it:
   the system messages first (where they are hoisted), what is anchored at its anchor, what has
   a depth at its depth in a sketch of the history.
2. A disabled message stands, as `off`, where it would stand if it were enabled; an empty one,
   where it would with a word in it. A message that the builder does not place (the second of
   two anchors) stands where it is in the list.
3. Ghosts are rows for what is not of the preset: the role's prompt, the messages of the history
   between which depths lie, the draft.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from operator import is_
from typing import Literal

from tui_chat.context.listed import Listed
from tui_chat.context.scan import Beside, Groups, scan
from tui_chat.model.envelope import Note
from tui_chat.model.preset import CHAT_HISTORY, Preset, PresetMessage

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


def sketch(preset: Preset, notes: tuple[Note, ...] = ()) -> Sketch:
    """Draw a preset; `notes` (of a composed request) are put on the rows they concern."""
    return _Drawing(preset, notes or scan(preset).notes).drawn()


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


class _Drawing:
    def __init__(self, preset: Preset, notes: tuple[Note, ...] | list[Note]) -> None:
        self.preset = preset
        enabled = list(_as_if_enabled(preset))
        messages = tuple(message for _, message in enabled)
        same = len(messages) == len(preset.messages) and all(map(is_, messages, preset.messages))
        self.groups: Groups = scan(preset if same else replace(preset, messages=messages))
        # The builder keeps the messages' own objects and the list's order.
        self.index_of = {id(message): index for index, message in enabled}
        self.notes: dict[str, list[Note]] = {}
        self.others: list[Note] = []
        ids = {message.id for message in preset.messages}
        for note in notes:
            origin = note.origin
            while origin is not None and origin.within is not None:
                origin = origin.within
            if origin is not None and origin.kind == "preset" and origin.id in ids:
                self.notes.setdefault(origin.id, []).append(note)
            else:
                self.others.append(note)

    def drawn(self) -> Sketch:
        rows = [Row("ghost", ghost="role"), *self._lines(self.groups.system, "system")]
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
            notes=tuple(self.notes.get(own.id, ())),
        )

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
            yield Row("ghost", ghost="history", anchor=CHAT_HISTORY)
        if message.type == "chat_history":
            yield from self._history()
        yield from self._lines(beside.after, "after", message.anchor_id)

    def _history(self) -> Iterator[Row]:
        """Yield the depths between ghosts of the messages that they lie between."""
        from_oldest: dict[int, list[Listed]] = {}
        from_newest: dict[int, list[Listed]] = {}
        for line in self.groups.deep:
            depth = line.message.insertion_point or 0
            (from_oldest if depth >= 0 else from_newest).setdefault(depth, []).append(line)
        yield from self._lines(from_oldest.pop(0, []), "depth", CHAT_HISTORY)
        yield Row("ghost", ghost="oldest", anchor=CHAT_HISTORY)
        for depth in sorted(from_oldest):
            if depth > 1:
                yield Row("ghost", ghost="message", anchor=CHAT_HISTORY, depth=depth)
            yield from self._lines(from_oldest[depth], "depth", CHAT_HISTORY)
        yield Row("ghost", ghost="between", anchor=CHAT_HISTORY)
        last = from_newest.pop(-1, [])
        for depth in sorted(from_newest):
            yield from self._lines(from_newest[depth], "depth", CHAT_HISTORY)
            if depth < -2:
                yield Row("ghost", ghost="message", anchor=CHAT_HISTORY, depth=depth)
        yield Row("ghost", ghost="newest", anchor=CHAT_HISTORY)
        yield from self._lines(last, "depth", CHAT_HISTORY)
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
