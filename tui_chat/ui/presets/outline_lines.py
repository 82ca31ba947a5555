"""Which line of the list shows which row of an outline."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import field

from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.editing.outline import Outline, OutlineRow
from tui_chat.models.envelope import Level, Note
from tui_chat.models.preset import PresetMessage
from tui_chat.ui.presets.folding import Folding


@dataclass(frozen=True, slots=True)
class OutlineLines:
    """Which line shows which row of an outline, or of its messages that contain the filter's words.

    Rows are numbered as in the outline. Warnings and errors of a row have lines below it; notes of
    level info are in the row itself.
    """

    at: tuple[tuple[int, Note | str | None], ...] = ()
    """The row of each line; if the line is another one, its note, or the part that it heads."""
    of: dict[int, int] = field(default_factory=dict[int, int])
    """The line of each row shown."""
    messages: tuple[int, ...] = ()
    """The rows shown that the cursor can be on: those of messages, from top to bottom."""

    @classmethod
    def of_outline(
        cls, outline: Outline | None, words: list[str], folding: Folding
    ) -> OutlineLines:
        """Lay out the rows with all words (casefolded); without words, the unfolded rows."""
        lines: list[tuple[int, Note | str | None]] = []
        of: dict[int, int] = {}
        rows, hidden = outline.rows if outline else (), folding.hidden() if not words else ()
        folded: set[int] = set()
        for number, row in enumerate(rows):
            if number in hidden or (words and not _contains(row, words)):
                continue
            if not words and (part := folding.part(number)):
                lines.append((number, part))
                if folding.is_folded(part):
                    of[number] = len(lines) - 1
                    folded.add(number)
                    continue
            of[number] = len(lines)
            lines.append((number, None))
            lines += [(number, note) for note in row.notes if note.level is not Level.INFO]
        messages = (n for n in of if n in folded or rows[n].message is not None)
        return cls(tuple(lines), of, tuple(messages))

    def row_at(self, line: int) -> int:
        """Return the row of a line; -1 for none."""
        return self.at[line][0] if 0 <= line < len(self.at) else -1

    def nearest(self, number: int, step: int) -> int:
        """Return the message nearest to a row, in the direction of `step` first; else the row."""
        at = bisect_left(self.messages, number)
        if at == len(self.messages) or (step < 0 and at and self.messages[at] != number):
            at -= 1
        return self.messages[at] if self.messages else number

    def next(self, number: int, step: int) -> int:
        """Return the message so many messages further, at most the last in that direction."""
        if number not in self.messages:
            return number
        at = self.messages.index(number) + step
        return self.messages[min(max(at, 0), len(self.messages) - 1)]


def _contains(row: OutlineRow, words: list[str]) -> bool:
    message = row.message
    return message is not None and all(word in _text(message) for word in words)


def _text(message: PresetMessage) -> str:
    return f"{message.id}\n{message.name}\n{message.role}\n{message.content}".casefold()
