"""The lines of the list: which row, or which note under a row, stands on which line."""

from __future__ import annotations

from dataclasses import dataclass, field

from tui_chat.library.editing import Outline, OutlineRow
from tui_chat.models.envelope import Level, Note
from tui_chat.models.preset import PresetMessage


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of an outline, or of those of its messages that contain the words looked for.

    Rows are called by their number in the outline. A row's notes stand under it; what is merely
    worth knowing stands in the row itself.
    """

    at: tuple[tuple[int, Note | None], ...] = ()
    """The row of each line, and the note where the line is one's."""
    of: dict[int, int] = field(default_factory=dict[int, int])
    """The line of each row that is shown."""
    holders: tuple[int, ...] = ()
    """The shown rows that the cursor can be on: those of messages, from top to bottom."""

    @classmethod
    def laid(cls, drawn: Outline | None, words: list[str]) -> Lines:
        """Lay out an outline's rows; casefolded `words` choose those that contain all of them."""
        lines: list[tuple[int, Note | None]] = []
        of: dict[int, int] = {}
        rows = drawn.rows if drawn else ()
        for number, row in enumerate(rows):
            if words and not _fits(row, words):
                continue
            of[number] = len(lines)
            lines.append((number, None))
            lines += [(number, note) for note in row.notes if note.level is not Level.INFO]
        holders = tuple(number for number in of if rows[number].message is not None)
        return cls(tuple(lines), of, holders)

    def row_at(self, line: int) -> int:
        """Return the row of a line; -1 outside of the lines."""
        return self.at[line][0] if 0 <= line < len(self.at) else -1

    def nearest(self, number: int, step: int) -> int:
        """Return the message nearest to a row, first the way of `step`; the row itself where
        there is none.
        """
        if not self.holders or number in self.holders:
            return number
        behind = [each for each in self.holders if each >= number]
        ahead = [each for each in self.holders if each <= number]
        return (behind[:1] or ahead[-1:])[0] if step > 0 else (ahead[-1:] or behind)[0]

    def next(self, number: int, step: int) -> int:
        """Return the message so many messages further, or the last that way."""
        if number not in self.holders:
            return number
        at = self.holders.index(number) + step
        return self.holders[min(max(at, 0), len(self.holders) - 1)]

    def in_front_of(self, row: int) -> int:
        """Return the line in front of which a row stands, or would stand if it were shown."""
        later = (self.of[number] for number in sorted(self.of) if number >= row)
        return next(later, len(self.at))


def _fits(row: OutlineRow, words: list[str]) -> bool:
    message = row.message
    return message is not None and all(word in _text(message) for word in words)


def _text(message: PresetMessage) -> str:
    return f"{message.id}\n{message.name}\n{message.role}\n{message.content}".casefold()
