"""Checks of a request before it is sent: expectations that a case has of parts of it.

    {"id": "reminder", "at": "depth -2"}    a message of the preset is sent, there
    {"id": "style", "before": "history"}    … before another one (or "after")
    {"id": "notes", "sent": false}          it is not sent
    {"lore": "Pool"}                        a lore entry is active (or "active": false)
    {"maxTokens": 900}                      the request has at most so many tokens
    {"noNotes": "warning"}                  nothing of this level, or worse, is reported
    {"body": {...}}                         the body is equal to this JSON

1. A check is a test, so a message or entry that does not exist fails it: it may be misspelled.
2. `at` is the number of a turn, from 0, below 0 from the last one; or a placement in the words of
   `placement_words`. A depth is the one after clamping, or as the preset has it.
3. Without a colon an id is that of a preset message, or a kind of origin: `history`, `draft`,
   `profile`. With a colon it is that of another origin: `history:3`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Annotated, Any, Literal, TypeAlias

from tui_chat.compose import Composed
from tui_chat.context.sent_texts import split_turn
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.boundary import Range
from tui_chat.models.envelope import Level, Placement, Turn
from tui_chat.models.sanitize import one_line
from tui_chat.models.text import Origin, OriginKind

_MOST_NOTES = 3
"""Notes that the fault of a check has."""


@dataclass(frozen=True, slots=True)
class SentCheck:
    """A message is sent, and where; or it is not sent."""

    id: str
    at: int | str | None = None
    before: str = ""
    after: str = ""
    sent: bool = True

    def fault(self, composed: Composed) -> str:
        places = _places(composed.envelope.turns, self.id)
        if not self.sent:
            if places:
                return f"{_quoted(self.id)} is sent, {_where(places[0])}."
            return _unknown(composed, self.id)
        if not places:
            return _why_unsent(composed, self.id)
        if self.at is not None and not any(self._is_at(place, composed) for place in places):
            return f"{_quoted(self.id)} is {_where(places[0])}, not {_asked(self.at)}."
        for other, is_before in ((self.before, True), (self.after, False)):
            if other and (fault := self._order_fault(composed, places, other, is_before)):
                return fault
        return ""

    def _is_at(self, place: _Place, composed: Composed) -> bool:
        if isinstance(self.at, int):
            count = len(composed.envelope.turns)
            return place.turn == (self.at if self.at >= 0 else count + self.at)
        return self.at in _placement_forms(place.piece.placement)

    def _order_fault(
        self, composed: Composed, places: list[_Place], other: str, is_before: bool
    ) -> str:
        theirs = _places(composed.envelope.turns, other)
        if not theirs:
            return _why_unsent(composed, other)
        own = places[-1] if is_before else places[0]
        limit = theirs[0] if is_before else theirs[-1]
        if own.number < limit.number if is_before else own.number > limit.number:
            return ""
        word = "before" if is_before else "after"
        return f"{_quoted(self.id)} is {_where(own)}, not {word} {_quoted(other)}."


@dataclass(frozen=True, slots=True)
class LoreCheck:
    """A lore entry is active, or it is not. It is named by its name or its id."""

    lore: str
    active: bool = True

    def fault(self, composed: Composed) -> str:
        books = composed.inputs.lorebooks if composed.inputs is not None else ()
        entries = [entry for book in books for entry in book.entries]
        if not any(self.lore in (entry.name, entry.id) for entry in entries):
            names = [entry.name or entry.id for entry in entries]
            return f"No lorebook has an entry {_quoted(self.lore)}.{_meant(self.lore, names)}"
        active = [origin for origin in _lore_origins(composed) if self._is_named(origin)]
        if bool(active) is self.active:
            return ""
        return f"{_quoted(self.lore)} is {'active' if active else 'not active'}."

    def _is_named(self, origin: Origin) -> bool:
        book = origin.within.id if origin.within is not None else ""
        return self.lore in (origin.name, origin.id.removeprefix(f"{book}/"))


def _lore_origins(composed: Composed) -> Iterator[Origin]:
    """Yield the lore entries that a request sends."""
    for turn in composed.envelope.turns:
        for span in turn.text.spans:
            if (origin := span.origin.lore_entry) is not None:
                yield origin


@dataclass(frozen=True, slots=True)
class TokenCheck:
    """The request has at most so many tokens."""

    max_tokens: Annotated[int, Range(1)]

    def fault(self, composed: Composed) -> str:
        budget = composed.envelope.budget
        tokens = budget.total if budget is not None else sum(composed.envelope.tokens)
        if tokens <= self.max_tokens:
            return ""
        return f"The request has {tokens:,} tokens, {tokens - self.max_tokens:,} too many."


@dataclass(frozen=True, slots=True)
class NoteCheck:
    """The request has no note of a level, or a worse one."""

    no_notes: Literal["info", "warning", "error"]

    def fault(self, composed: Composed) -> str:
        levels = tuple(Level)
        unwanted = levels[levels.index(Level(self.no_notes)) :]
        notes = [note for note in composed.notes if note.level in unwanted]
        words = " ".join(f"{note.level}: {note.sentence}" for note in notes[:_MOST_NOTES])
        more = f" … and {len(notes) - _MOST_NOTES:,} more" if len(notes) > _MOST_NOTES else ""
        return words + more


@dataclass(frozen=True, slots=True)
class BodyCheck:
    """The whole body is equal to some JSON."""

    body: dict[str, Any]

    def fault(self, composed: Composed) -> str:
        body = json.loads(composed.payload.body)
        keys = dict.fromkeys((*self.body, *body))
        other = [key for key in keys if _text(self.body, key) != _text(body, key)]
        return f"The body differs in {', '.join(map(_quoted, other))}." if other else ""


RequestCheck: TypeAlias = SentCheck | LoreCheck | TokenCheck | NoteCheck | BodyCheck
"""Its `fault` is what is wrong, as a sentence; empty for nothing."""
CHECKS: Mapping[str, type[RequestCheck]] = {
    "id": SentCheck,
    "lore": LoreCheck,
    "max_tokens": TokenCheck,
    "no_notes": NoteCheck,
    "body": BodyCheck,
}
"""The check that an object is, by the field that it must have."""


def _text(body: Mapping[str, Any], key: str) -> str:
    return json.dumps(body[key], sort_keys=True) if key in body else ""


def origin_words(origin: Origin) -> str:
    """Return an origin as a case writes it: `preset:reminder`, `history:3`, `draft`."""
    if origin.kind is OriginKind.DRAFT or not origin.id:
        return origin.kind.value
    return f"{origin.kind.value}:{origin.id}"


def placement_words(placement: Placement) -> str:
    """Return a placement as a case writes it: `system`, `depth 3`, `before world`."""
    if placement.depth is not None:
        return f"{placement.kind} {placement.depth}"
    return f"{placement.kind} {placement.anchor}".strip()


def _placement_forms(placement: Placement) -> set[str]:
    forms = {placement.kind, placement_words(placement)}
    return forms if placement.asked is None else forms | {f"{placement.kind} {placement.asked}"}


@dataclass(frozen=True, slots=True)
class _Place:
    """A message in a request."""

    number: int
    """Its number among all messages, those of joined turns each by itself."""
    turn: int
    piece: Turn


def _places(turns: tuple[Turn, ...], name: str) -> list[_Place]:
    """Return the messages that an id names, or in which its text is, in their order."""
    pieces = ((index, piece) for index, turn in enumerate(turns) for piece in split_turn(turn))
    places = [_Place(number, *piece) for number, piece in enumerate(pieces)]
    named = f"{OriginKind.PRESET}:{name}"
    own = [place for place in places if named in _names(place.piece)]
    return own or [place for place in places if name in _names(place.piece)]


def _names(piece: Turn) -> set[str]:
    origins = {piece.origin, *(span.origin.outermost for span in piece.text.spans)}
    return {name for origin in origins for name in (origin_words(origin), origin.kind.value)}


def _where(place: _Place) -> str:
    return f"in turn {place.turn} ({placement_words(place.piece.placement)})"


def _asked(at: int | str) -> str:
    return f"turn {at}" if isinstance(at, int) else at


def _unknown(composed: Composed, name: str) -> str:
    """Return that a preset has no message with an id; empty if it may have one."""
    kinds = [kind.value for kind in OriginKind]
    messages = composed.inputs.preset.messages if composed.inputs is not None else ()
    ids = [message.id for message in messages]
    if name in ids or name.partition(":")[0] in kinds:
        return ""
    return f"The preset has no message {_quoted(name)}.{_meant(name, ids)}"


def _why_unsent(composed: Composed, name: str) -> str:
    from tui_chat.analysis.unsent_messages import unsent_messages

    if unknown := _unknown(composed, name):
        return unknown
    reasons = [why for message, why in unsent_messages(composed) if message.id == name]
    return f"{_quoted(name)} is not sent{f': {reasons[0]}' if reasons else ''}."


def _meant(name: str, names: list[str]) -> str:
    close = get_close_matches(name, names, n=1)
    return f" Did you mean {_quoted(close[0])}?" if close else ""


def _quoted(name: str) -> str:
    return f"“{one_line(name, 60)}”"
