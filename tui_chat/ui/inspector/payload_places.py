"""Places in a laid-out body: words, the text of one source, the draft, the notes, the cursor, and
what the mouse selects.

The rows of a selection are rows of the layout, its columns characters of a row's text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from json.encoder import encode_basestring as quoted  # type: ignore[attr-defined]

from textual.geometry import Offset
from textual.selection import Selection

from tui_chat.models.envelope import Note
from tui_chat.models.payload import LinePiece, Lit, Str, body_of
from tui_chat.models.request_edit import EDITED
from tui_chat.models.sanitize import sanitize
from tui_chat.models.text import Origin, OriginKind
from tui_chat.ui.inspector.drawn_row import BodyPosition, BodyRow, CursorTarget, run_at, target_at
from tui_chat.ui.inspector.payload_layout import PayloadLayout
from tui_chat.ui.widgets.mouse_selection import Span, character_at, column_at

MOST_HITS = 1_000
"""Most hits counted."""


@lru_cache(8)
def search_pattern(words: str) -> re.Pattern[str]:
    """Return a pattern for words as they are drawn, in any case."""
    return re.compile(re.escape(sanitize(quoted(words)[1:-1], "exact")), re.IGNORECASE)


def find_rows(layout: PayloadLayout, words: str) -> list[int]:
    """Return the rows that contain words, in order, at most `MOST_HITS`."""
    return list(islice(_find_rows(layout, words), MOST_HITS))


def _find_rows(layout: PayloadLayout, words: str) -> Iterator[int]:
    raw = re.compile(re.escape(words), re.IGNORECASE)
    drawn = search_pattern(words)
    hidden = -1
    for row, key, value in layout.values():
        text = "" if value is None else _value_text(value)
        if raw.search(text) is None and (key is None or raw.search(key) is None):
            continue
        spot = layout.spot(row)
        if spot.folded:
            if row != hidden:
                yield row
            hidden = row
            continue
        line = layout.line(spot)
        at = -1
        for match in drawn.finditer(line.text):
            now = row + bisect_right(line.breaks, match.start())
            if now != at:
                yield now
            at = now


def _value_text(value: Str | Lit) -> str:
    return value.text.plain if isinstance(value, Str) else body_of(value).decode()


def comes_from(origin: Origin, source: Origin) -> bool:
    """Return True if an origin is a source, or lies in one."""
    return any(each.kind is source.kind and each.id == source.id for each in origin.lineage())


def origin_rows(layout: PayloadLayout, source: Origin) -> list[int]:
    """Return the rows on which text from a source begins, in order."""
    return sorted({_row_in(layout, row, source) for row in layout.leaves_of(source)})


def _row_in(layout: PayloadLayout, row: int, source: Origin) -> int:
    """Return the row of a line on which the text of a source begins."""
    spot = layout.spot(row)
    line = layout.line(spot)
    for run in line.runs:
        if not run.piece.is_key and comes_from(run.piece.origin, source):
            return row + bisect_right(line.breaks, run.start)
    return row


def draft_row(layout: PayloadLayout) -> int:
    """Return the row where the draft ends, else the newest message, else the last row."""
    for kind in (OriginKind.DRAFT, OriginKind.HISTORY):
        row = layout.last_row(kind)
        if row is not None:
            return row
    return layout.rows - 1


def position_at(layout: PayloadLayout, row: int) -> BodyPosition | None:
    """Return the position at which a row begins, to find it in a later layout; None outside."""
    if not 0 <= row < layout.rows:
        return None
    spot = layout.spot(row)
    if spot.place.part != "leaf":
        return spot.place
    offset = layout.line(spot).slice(spot.row)[0]
    return BodyPosition(spot.place.steps, "leaf", offset)


class NotePlaces:
    """Finds the note of a row. Notes are looked up by origin as rows are drawn, so nothing must be
    laid out again when rows move.
    """

    def __init__(self, notes: Sequence[Note] = ()) -> None:
        self.notes = notes
        self._about: dict[tuple[OriginKind, str], Note] = {}
        """The worst note about each source."""
        self._edits: dict[str, Note] = {}
        """Notes of edits by hand by their JSON pointers: of what is removed there is no text."""
        for note in notes:
            if note.code == EDITED:
                self._edits[note.place] = note
            elif note.origin is not None and note.origin.kind is not OriginKind.GLUE:
                self._about.setdefault((note.origin.kind, note.origin.id), note)

    def at(self, layout: PayloadLayout, spot: BodyRow) -> Note | None:
        """Return the worst note about what begins on a row: the first character from a source, or
        a message in what is folded there.
        """
        if not (self._about or self._edits) or spot.place.part == "close":
            return None
        if self._edits and not spot.row and (edit := self._edit_at(spot)) is not None:
            return edit
        if spot.folded:
            inside = (note for source, note in self._about.items() if layout.hides(spot, source))
            return self._of(spot.owner) or next(inside, None)
        if spot.place.part == "open":
            return None
        line = layout.line(spot)
        start, end = line.slice(spot.row)
        first = max(bisect_right(line.starts, start) - 1, 0)
        before = _written_origin(line.runs[first - 1].piece) if first else None
        for run in line.runs_in(start, end):
            source = _written_origin(run.piece)
            begins = source is not None and (before is None or not _same(source, before))
            if begins and run.start >= start and (note := self._of(source)) is not None:
                return note
            before = source
        return None

    def _edit_at(self, spot: BodyRow) -> Note | None:
        """Return the note of an edit of a value that begins on a row, or is folded there."""
        pointer = spot.place.pointer
        inside = (
            note for place, note in self._edits.items() if place.startswith(f"{pointer}/")
        ) if spot.folded else iter(())  # fmt: skip
        return self._edits.get(pointer) or next(inside, None)

    def _of(self, origin: Origin | None) -> Note | None:
        return None if origin is None else self._about.get((origin.kind, origin.id))


def _written_origin(piece: LinePiece) -> Origin | None:
    """Return the origin of a piece that a person wrote, for a macro the text it lies in.

    Returns None for text of the protocol, and for fields other than the text, such as ids.
    """
    origin = piece.origin
    while origin.kind is OriginKind.MACRO and origin.within is not None:
        origin = origin.within
    is_field = origin.kind is not OriginKind.SETTING and origin.within is not None
    return None if piece.is_key or origin.kind is OriginKind.GLUE or is_field else origin


def _same(one: Origin, other: Origin) -> bool:
    return one.kind is other.kind and one.id == other.id


class BodyCursor:
    """A place in a body, found again in each new layout."""

    def __init__(self) -> None:
        self.row = 0
        self._place: BodyPosition | None = None

    @property
    def is_on_draft(self) -> bool:
        """True if the user has not moved it, or has returned to the draft."""
        return self._place is None

    def return_to_draft(self) -> None:
        """Stay on the draft from the next layout on."""
        self._place = None

    def follow(self, layout: PayloadLayout) -> None:
        """Go to where its place is in another layout."""
        self.row = draft_row(layout) if self._place is None else layout.row_of(self._place)

    def put(self, layout: PayloadLayout, row: int) -> None:
        """Put it on a row, or the nearest one."""
        self.row = max(0, min(row, layout.rows - 1))
        self._place = position_at(layout, self.row)

    def target(self, layout: PayloadLayout) -> CursorTarget | None:
        """Return what is under it."""
        return target_at(*layout.seen(min(self.row, layout.rows - 1)), None)

    def source(self, layout: PayloadLayout) -> Origin | None:
        """Return the origin under it."""
        target = self.target(layout)
        return target.origin if target is not None else None


def target_under(layout: PayloadLayout, row: int, x: int) -> CursorTarget | None:
    """Return what is at a column of a row, counted from behind the gutter."""
    spot, line = layout.seen(row)
    return target_at(spot, line, run_at(spot, line, x - layout.lead(spot)))


def place_at(layout: PayloadLayout, row: int, x: int) -> Span:
    """Return the character at a place of a row, `x` cells behind the gutter."""
    spot, line = layout.seen(row)
    start, end = line.slice(spot.row)
    text = line.text[start:end]
    return character_at(text, column_at(text, x - layout.lead(spot)), row)


def selected_text(layout: PayloadLayout, selection: Selection) -> str:
    """Return the selected text as it is drawn; lines that were wrapped are one again."""
    first = selection.start or Offset(0, 0)
    last = selection.end or Offset(len(layout.payload.body), layout.rows - 1)
    pieces: list[str] = []
    for row in range(first.y, min(last.y, layout.rows - 1) + 1):
        spot, line = layout.seen(row)
        start, end = line.slice(spot.row)
        end = min(end, start + last.x) if row == last.y else end
        start += first.x if row == first.y else 0
        indent = "" if row == first.y else "\n" + " " * layout.lead(spot)
        pieces += "" if spot.row else indent, line.text[start:end]
    return "".join(pieces)
