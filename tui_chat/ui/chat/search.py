"""Finding words in the shown branch.

Messages are searched as they were written, so that counting in thousands of them lays nothing out.
Rows are searched as they are drawn. A message whose words are on no row, since they are folded or
Markdown hides them, is shown from the row that unfolds it, or its first one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from tui_chat.ui.chat.block_view import START, LinePosition

if TYPE_CHECKING:
    from tui_chat.models.message import Message
    from tui_chat.ui.chat.branch import BranchLayout

_SEPARATOR = "\0"
"""Stands between texts so that no hit spans two of them; no text contains it."""


class TranscriptSearch:
    """The messages of a branch that have some words, and the row with them that is shown."""

    def __init__(self, layouts: BranchLayout) -> None:
        self.current: LinePosition | None = None
        """The row that is shown."""
        self._layouts = layouts
        self._start = START
        """The start of the search; typing finds the first hit from there."""
        self._pattern: re.Pattern[str] | None = None
        self._messages: list[int] = []
        """The messages with the words, by their indices."""

    @property
    def is_on(self) -> bool:
        """True while words are being searched for."""
        return self._pattern is not None

    @property
    def count(self) -> int:
        """The number of messages with the words."""
        return len(self._messages)

    @property
    def number(self) -> int:
        """The number of the one that is shown, from 1; 0 if none is."""
        shown = self.current is not None and self.current.block in self._messages
        return self._messages.index(self.current.block) + 1 if self.current and shown else 0

    def find_from(self, top: LinePosition, words: str) -> LinePosition | None:
        """Search for typed words from the row of the start (`top` if it is now), none end it;
        return the row to show.
        """
        if not self.is_on:
            self._start = top
        self._find((words,))
        if not words.strip():
            return None
        self.current = self._start._replace(line=self._start.line - 1)
        after = self.go(1)
        if after is not None and after < self._start:  # the nearest one is above
            self.current = self._start
            return self.go(-1)
        return after or self._start

    def find_in(self, message: int, words: Sequence[str]) -> LinePosition | None:
        """Search for words found elsewhere; without words, or a hit in the branch, end it. Return
        the first row of a message with one.
        """
        self._find(words)
        if not self.count:
            self._find(())
        self.current = self._rows(message)[0] if message in self._messages else None
        return self.current

    def go(self, direction: int) -> LinePosition | None:
        """Go to the next row with a hit (1) or the previous one (-1), around the ends."""
        if not self._messages:
            self.current = None
            return None
        here = self.current or LinePosition(0, -1)
        rows = self._rows(here.block) if here.block in self._messages else []
        rows = [row for row in rows if (row > here if direction > 0 else row < here)]
        if not rows:
            others = [at for at in self._messages if (at - here.block) * direction > 0]
            message = (others or self._messages)[0 if direction > 0 else -1]
            rows = self._rows(message)
        self.current = rows[0 if direction > 0 else -1]
        return self.current

    def marks(self, position: LinePosition) -> list[tuple[int, int, bool]]:
        """Return the hits on a row: first character, end, and True on the row that is shown."""
        layout = self._layouts(position.block)
        if self._pattern is None or position.line < layout.text_at:
            return []
        text = layout.rows[position.line].text
        is_shown = position == self.current
        return [(*hit.span(), is_shown) for hit in self._pattern.finditer(_lower_in_place(text))]

    def entries_changed(self) -> None:
        """Search again: the branch changed."""
        pattern, entries = self._pattern, self._layouts.entries
        self._messages = [
            index
            for index, entry in enumerate(entries)
            if pattern is not None and pattern.search(_all_text(entry.message).lower())
        ]
        if self.current is not None and self.current.block >= len(entries):
            self.current = None

    def _find(self, words: Iterable[str]) -> None:
        self._pattern = word_pattern(words)
        self.current = None
        self.entries_changed()

    def _rows(self, message: int) -> list[LinePosition]:
        """Return the rows of a message that have the words, or the one that stands for them."""
        layout = self._layouts(message)
        positions = (LinePosition(message, line) for line in range(len(layout.rows)))
        rows = [position for position in positions if self.marks(position)]
        return rows or [LinePosition(message, next(iter(layout.folds), 0))]


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


def _lower_in_place(text: str) -> str:
    """Return the text in lower case, each character at its index."""
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(char.lower()[:1] for char in text)
