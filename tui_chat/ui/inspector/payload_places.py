"""Where something is in a laid-out body: words that are sought, and what came from one source."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import islice
from json.encoder import encode_basestring as quoted  # type: ignore[attr-defined]

from tui_chat.models.envelope import Note
from tui_chat.models.json_tree import Lit, Str, body_of
from tui_chat.models.pretty import Piece
from tui_chat.models.text import Origin, OriginKind
from tui_chat.ui.inspector.drawn_row import Place, Spot
from tui_chat.ui.inspector.hostile import shown
from tui_chat.ui.inspector.payload_layout import Layout

MOST = 1_000
"""Hits that are counted at most."""


def pattern(words: str) -> re.Pattern[str]:
    """Return what matches words as they are drawn, whatever their case."""
    return re.compile(re.escape(shown(quoted(words)[1:-1])), re.IGNORECASE)


def hits(layout: Layout, words: str) -> list[int]:
    """Return the rows on which words stand, in order, at most `MOST` of them."""
    return list(islice(_hits(layout, words), MOST))


def _hits(layout: Layout, words: str) -> Iterator[int]:
    quick = re.compile(re.escape(words), re.IGNORECASE)
    drawn = pattern(words)
    hidden = -1
    for row, key, value in layout.values():
        text = "" if value is None else _said(value)
        if quick.search(text) is None and (key is None or quick.search(key) is None):
            continue
        spot = layout.spot(row)
        if spot.folded:
            if row != hidden:
                yield row
            hidden = row
            continue
        line = layout.line(spot)
        at = -1
        for found in drawn.finditer(line.text):
            now = row + bisect_right(line.breaks, found.start())
            if now != at:
                yield now
            at = now


def _said(value: Str | Lit) -> str:
    return value.text.plain if isinstance(value, Str) else body_of(value).decode()


def comes_from(origin: Origin, source: Origin) -> bool:
    """Whether something came from a source, or stood in what came from it."""
    around: Origin | None = origin
    while around is not None:
        if around.kind is source.kind and around.id == source.id:
            return True
        around = around.within
    return False


def places(layout: Layout, source: Origin) -> list[int]:
    """Return the rows on which something begins that came from a source, in order."""
    rows: set[int] = set()
    for row, leaf in layout.leaves_of(source):
        spans = leaf.text.spans if isinstance(leaf, Str) else (leaf,)
        if any(comes_from(part.origin, source) for part in spans):
            rows.add(_row_in(layout, row, source))
    return sorted(rows)


def _row_in(layout: Layout, row: int, source: Origin) -> int:
    """Return the row of a line on which what came from a source begins."""
    spot = layout.spot(row)
    line = layout.line(spot)
    for run in line.runs:
        if is_quoted(run.piece) and comes_from(run.piece.origin, source):
            return row + bisect_right(line.breaks, run.start)
    return row


def is_quoted(piece: Piece) -> bool:
    """Whether a piece is a value and no key."""
    return not piece.is_key


def home_row(layout: Layout) -> int:
    """Return the row of the draft's end; without one, of the newest message; else the last."""
    for kind in (OriginKind.DRAFT, OriginKind.HISTORY):
        row = layout.last_row(kind)
        if row is not None:
            return row
    return layout.rows - 1


def place_at(layout: Layout, row: int) -> Place | None:
    """Return what a row begins with, so that it is found in a later layout; None outside."""
    if not 0 <= row < layout.rows:
        return None
    spot = layout.spot(row)
    if spot.place.part != "leaf":
        return spot.place
    offset = layout.line(spot).slice(spot.row)[0]
    return Place(spot.place.steps, "leaf", offset)


class NotePlaces:
    """Notes by what they are about. Looked up for the rows that are drawn; nothing is laid out
    anew when the rows move.
    """

    def __init__(self, notes: Sequence[Note] = ()) -> None:
        self.notes = notes
        self._about: dict[tuple[OriginKind, str], Note] = {}
        """For each source the worst note about it."""
        for note in notes:
            if note.origin is not None and note.origin.kind is not OriginKind.GLUE:
                self._about.setdefault((note.origin.kind, note.origin.id), note)

    def at(self, layout: Layout, spot: Spot) -> Note | None:
        """Return the worst note about what begins on a row: a message that is folded or one of
        all the messages that are, or the first of the characters that came from there.
        """
        if not self._about or spot.place.part == "close":
            return None
        if spot.folded:
            inside = (note for source, note in self._about.items() if layout.hides(spot, *source))
            return self._of(spot.owner) or next(inside, None)
        if spot.place.part == "open":
            return None
        line = layout.line(spot)
        start, end = line.slice(spot.row)
        first = max(bisect_right(line.starts, start) - 1, 0)
        before = _written(line.runs[first - 1].piece) if first else None
        for run in line.runs_in(start, end):
            source = _written(run.piece)
            begins = source is not None and (before is None or not _same(source, before))
            if begins and run.start >= start and (note := self._of(source)) is not None:
                return note
            before = source
        return None

    def _of(self, origin: Origin | None) -> Note | None:
        return None if origin is None else self._about.get((origin.kind, origin.id))


def _written(piece: Piece) -> Origin | None:
    """Return what a person wrote, of a macro in it; None for what the protocol says of itself and
    for a field that is not the text: an id, the name of a call.
    """
    origin = piece.origin
    while origin.kind is OriginKind.MACRO and origin.within is not None:
        origin = origin.within
    is_field = origin.kind is not OriginKind.SETTING and origin.within is not None
    return None if piece.is_key or origin.kind is OriginKind.GLUE or is_field else origin


def _same(one: Origin, other: Origin) -> bool:
    return one.kind is other.kind and one.id == other.id
