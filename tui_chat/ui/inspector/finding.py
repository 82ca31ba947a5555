"""Where something is in a laid-out body: words that are sought, and what came from one source."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import islice
from json.encoder import encode_basestring as quoted  # type: ignore[attr-defined]

from tui_chat.models.json_tree import Lit, Str, body_of
from tui_chat.models.pretty import Piece
from tui_chat.models.text import Origin
from tui_chat.ui.inspector.hostile import shown
from tui_chat.ui.inspector.layout import Layout

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
