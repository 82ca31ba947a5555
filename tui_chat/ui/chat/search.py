"""Finding words in the shown branch: which messages have them, and where they are on rows.

1. Messages are searched as they were written, so that counting in ten thousand of them lays
   nothing out. Rows are searched as they are drawn, once they are laid out.
2. A hit may continue on the next wrapped row: wrapped rows are joined for the search.
3. Reasoning, tool calls and attached texts are searched too. A message whose rows show fewer hits
   than it has is unfolded when the search comes to it. If it shows none all the same, since
   Markdown hides them, its first row stands for them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from tui_chat.ui.widgets.block_view import START, LinePosition

if TYPE_CHECKING:
    from tui_chat.models.message import Message
    from tui_chat.ui.chat.branch import BranchLayout
    from tui_chat.ui.chat.rows import Row

CACHED_PARTS = 4000
"""Parts of messages whose hits are cached."""

_SEPARATOR = "\0"
"""Stands between texts so that no hit spans two of them; no text contains it."""

Hit = tuple[LinePosition, int]
"""The row where a hit begins, and its first character there."""

Spans = dict[int, list[tuple[int, int]]]
"""Hits by index of the row: first character and the one after the last."""


class TranscriptSearch:
    """The hits in a branch and the current one; only messages that have hits are laid out."""

    def __init__(self, layouts: BranchLayout) -> None:
        self.current: Hit | None = None
        """The hit that is shown."""
        self.is_from_elsewhere = False
        """True if the words were searched for elsewhere, and led to a message here."""
        self._layouts = layouts
        self._start = START
        """The start of the search; typing finds the first hit from there."""
        self._pattern: re.Pattern[str] | None = None
        self._counts: list[int] = []
        self._spans_of_part: dict[tuple[int, int], tuple[object, Spans]] = {}

    @property
    def is_on(self) -> bool:
        """True while words are being searched for."""
        return self._pattern is not None

    @property
    def count(self) -> int:
        """The number of hits."""
        return sum(self._counts)

    @property
    def number(self) -> int:
        """The number of the current hit, from 1; 0 if there is none."""
        if self.current is None or not self.count:
            return 0
        message = self.current[0].block
        hits = self._hits(message)
        index = hits.index(self.current) if self.current in hits else 0
        return sum(self._counts[:message]) + min(index + 1, self._counts[message])

    def find(self, words: Iterable[str]) -> None:
        """Search for any of these words; without any, end the search."""
        self._pattern = word_pattern(words)
        self.current = None
        self._spans_of_part.clear()
        self.entries_changed()

    def find_from(self, top: LinePosition, words: str) -> LinePosition | None:
        """Search for typed words from the row of the start (`top` if it is now), none end it;
        return the row to show.
        """
        self.is_from_elsewhere = False
        if not self.is_on:
            self._start = top
        self.find((words,))
        entries = self._layouts.entries
        if not words or self._start.block >= len(entries):
            return None
        for message in range(self._start.block, len(entries)):
            found = (hit for hit in self._hits(message) if hit[0] >= self._start)
            self.current = next(found, None)
            if self.current is not None:
                return self.current[0]
        self.current = (self._start, 0)
        return self.go(-1) or self._start

    def find_in(self, message: int, words: Sequence[str]) -> LinePosition | None:
        """Search for words found elsewhere; without words, or a hit in the branch, end it. Return
        the row of the first hit in a message.
        """
        self.find(words)
        if not self.count:
            self.find(())
        self.is_from_elsewhere = self.is_on
        self.current = next(iter(self._hits(message)), None)
        return self.current and self.current[0]

    def go(self, direction: int) -> LinePosition | None:
        """Go to the next hit (1) or the previous one (-1), around the ends; return its row."""
        if not self.count:
            self.current = None
            return None
        before = self.current or (LinePosition(0, 0, -1), 0)
        message, size = before[0].block, len(self._counts)
        hits = self._hits(message)
        hits = [hit for hit in hits if (hit > before if direction > 0 else hit < before)]
        while not hits:
            message = (message + direction) % size
            hits = self._hits(message)
        self.current = hits[0] if direction > 0 else hits[-1]
        return self.current[0]

    def refind(self, message: int, direction: int) -> None:
        """Go to the first hit of a message that was unfolded, to the last if it is negative."""
        hits = self._hits(message)
        self.current = hits[0 if direction > 0 else -1] if hits else self.current

    def hiding_folds(self, message: int) -> list[str]:
        """Return the keys of what is folded of a message, if its rows do not show all hits."""
        if self._shown(message) >= self._counts[message]:
            return []
        folds = self._layouts(message).folds
        return [key for *_, key in folds if key not in self._layouts.unfolded]

    def marks(self, position: LinePosition) -> list[tuple[int, int, bool]]:
        """Return the hits on a row: first character, end, and True for the current hit."""
        if self._pattern is None:
            return []
        spans = self._spans(position.block, position.part).get(position.line, [])
        return [(start, end, self.current == (position, start)) for start, end in spans]

    def entries_changed(self) -> None:
        """Count again: the branch changed."""
        pattern, entries = self._pattern, self._layouts.entries
        self._counts = [
            0 if pattern is None else len(pattern.findall(_all_text(entry.message).lower()))
            for entry in entries
        ]
        if self.current is not None and self.current[0].block >= len(entries):
            self.current = None

    def _shown(self, message: int) -> int:
        """Return how many hits the rows of a message show."""
        parts = range(len(self._layouts(message).parts))
        return sum(len(at) for part in parts for at in self._spans(message, part).values())

    def _hits(self, message: int) -> list[Hit]:
        if not 0 <= message < len(self._counts) or not self._counts[message]:
            return []
        layout = self._layouts(message)
        hits: list[Hit] = [
            (LinePosition(message, part, row), start)
            for part in range(len(layout.parts))
            for row, spans in self._spans(message, part).items()
            for start, _ in spans
        ]
        if not hits:
            part, row = next(((part, row) for part, row, _ in layout.folds), (0, 0))
            hits.append((LinePosition(message, part, row), 0))
        return sorted(hits)

    def _spans(self, message: int, part: int) -> Spans:
        if part == 0:  # the header is not the message's text
            return {}
        layout = self._layouts(message)
        laid_out = layout.parts[part]
        cached = self._spans_of_part.get((message, part))
        if cached is not None and cached[0] is laid_out:
            return cached[1]
        if len(self._spans_of_part) > CACHED_PARTS:
            self._spans_of_part.clear()
        assert self._pattern is not None
        spans = find_spans(self._pattern, layout.lines(part))
        self._spans_of_part[message, part] = laid_out, spans
        return spans


def word_pattern(words: Iterable[str]) -> re.Pattern[str] | None:
    """Return a pattern of any of the words in lower case, the longest first; None for no words."""
    by_length = sorted({word.lower() for word in words if word.strip()}, key=len, reverse=True)
    if not by_length:
        return None
    # Lower case on both sides is ten times as fast as a pattern that ignores case.
    return re.compile("|".join(r"\s+".join(map(re.escape, word.split())) for word in by_length))


def _all_text(message: Message) -> str:
    """Return all texts of a message that are searched."""
    from tui_chat.models.message import is_words

    if all(map(is_words, message.blocks)):
        return message.content
    from tui_chat.models.media import as_text
    from tui_chat.ui.chat.tool_calls import searchable_text

    calls = map(searchable_text, message.tool_calls)
    files = (text for part in message.parts if (text := as_text(part).text))
    return _SEPARATOR.join((message.thought, message.content, *calls, message.refusal, *files))


def find_spans(pattern: re.Pattern[str], rows: Sequence[Row]) -> Spans:
    """Return the hits in the rows of a part; a hit over several rows begins with its first."""
    spans: Spans = {}
    starts = [index for index, row in enumerate(rows) if row.joint is None]
    for first, end in zip(starts, [*starts[1:], len(rows)], strict=True):
        _add_spans(pattern, rows[first:end], first, spans)
    return spans


def _add_spans(pattern: re.Pattern[str], rows: Sequence[Row], first: int, spans: Spans) -> None:
    """Add the hits in rows that were wrapped from one line; `first` is the index of the first."""
    margins = [0, *(row.margin for row in rows[1:])]
    joints = ["", *(row.joint or "" for row in rows[1:])]
    texts = [row.text[margin:] for row, margin in zip(rows, margins, strict=True)]
    ends = list(accumulate(len(j) + len(text) for j, text in zip(joints, texts, strict=True)))
    begins = [end - len(text) for end, text in zip(ends, texts, strict=True)]
    text = "".join(piece for pair in zip(joints, texts, strict=True) for piece in pair)
    for hit in pattern.finditer(_lower_in_place(text)):
        for index in range(max(bisect_right(begins, hit.start()) - 1, 0), len(rows)):
            left = max(hit.start(), begins[index]) - begins[index]
            right = min(hit.end(), ends[index]) - begins[index]
            if begins[index] >= hit.end():
                break
            if left < right:
                place = left + margins[index], right + margins[index]
                spans.setdefault(first + index, []).append(place)


def _lower_in_place(text: str) -> str:
    """Return the text in lower case, each character at its index."""
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(char.lower()[:1] for char in text)
