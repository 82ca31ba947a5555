"""Compares two frames of the transcript, so that only the rows that differ are drawn.

A slow terminal then receives the new words of a growing reply and not the whole screen for each.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tui_chat.ui.areas.chat.text_lines import TextLine
    from tui_chat.ui.areas.chat.viewport import LinePosition


class TranscriptFrame(NamedTuple):
    """The rows on the screen and what is drawn over them."""

    current: int | None
    """The message that has the cursor's bar."""
    is_marked: bool
    """True if the last row is the mark of new text below."""
    rows: list[tuple[LinePosition, TextLine]]
    height: int

    def changed_rows(self, before: TranscriptFrame) -> Iterator[tuple[int, int]]:
        """Yield the rows that differ from an earlier frame, as pairs of first row and count."""
        if (self.current, self.height) != (before.current, before.height):
            yield 0, self.height
            return
        changed = set(range(*sorted((len(before.rows), len(self.rows)))))
        pairs = enumerate(zip(before.rows, self.rows, strict=False))
        for y, ((old_position, old), (position, line)) in pairs:
            # Equal lines at other positions differ too: hits and selections are drawn by position.
            if old_position != position or (old is not line and old != line):
                changed.add(y)
        last = self.height - 1
        if self.is_marked or before.is_marked:
            changed.discard(last)  # the mark covers it
        if self.is_marked != before.is_marked:
            changed.add(last)
        for is_changed, group in groupby(range(self.height), key=changed.__contains__):
            if is_changed:
                rows = list(group)
                yield rows[0], len(rows)
