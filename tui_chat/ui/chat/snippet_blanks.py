"""The blanks of an inserted snippet: Tab goes from one to the next, and fills the
others of its name.

Places are counted in characters from the beginning of the text, and move with every edit. Undo
leaves the blanks: it changes the text behind them.
"""

from __future__ import annotations

from textual.document._document import Location
from textual.widgets import TextArea
from textual.widgets.text_area import Selection

from tui_chat.lazy_dataclass import dataclass


@dataclass(slots=True)
class PlacedBlank:
    """A blank in the text."""

    name: str
    start: int
    end: int
    choices: tuple[str, ...] = ()
    """The texts that can be chosen for it, if there is more than one."""


class SnippetBlanks:
    """The blanks of the snippet that was inserted last, in the order of the text."""

    def __init__(self, editor: TextArea) -> None:
        self._editor = editor
        self._blanks: list[PlacedBlank] = []
        self._end = 0
        """The end of the snippet."""

    def __bool__(self) -> bool:
        """True while there are blanks to go to."""
        return bool(self._blanks)

    def begin(self, blanks: list[PlacedBlank], end: int) -> None:
        """Take the blanks of a snippet that was inserted, and select the first."""
        self._blanks, self._end = blanks, end
        self._select(blanks[0])

    def clear(self) -> None:
        """Forget all."""
        self._blanks = []

    def spans(self, row: int) -> list[tuple[int, int]]:
        """Return the first column and the end of each blank in a line, as far as it is there."""
        if not self._blanks:
            return []
        first = self.index((row, 0))
        last = first + len(self._editor.document[row])
        return [
            (max(blank.start, first) - first, min(blank.end, last) - first)
            for blank in self._blanks
            if blank.start < last and first < blank.end
        ]

    def index(self, location: Location) -> int:
        """Return the characters before a place."""
        row, column = location
        document = self._editor.document
        return sum(len(document[number]) + 1 for number in range(row)) + column

    def location(self, index: int) -> Location:
        """Return the place behind so many characters."""
        document = self._editor.document
        for row in range(document.line_count):
            if index <= len(document[row]):
                return row, index
            index -= len(document[row]) + 1
        return document.end

    def _text(self, blank: PlacedBlank) -> str:
        start, end = self.location(blank.start), self.location(blank.end)
        return self._editor.document.get_text_range(start, end)

    def _select(self, blank: PlacedBlank) -> None:
        self._editor.selection = Selection(self.location(blank.start), self.location(blank.end))
        self._editor.refresh()

    # Keys

    def press(self, key: str) -> bool:
        """Do what a key means for the blanks. Return False if it means nothing there."""
        if not self._blanks:
            return False
        start, end = sorted(map(self.index, self._editor.selection))
        match key:
            case "tab" | "shift+tab":
                self._step(start, end, 1 if key == "tab" else -1)
            case "escape":
                self.clear()
                self._editor.refresh()
            case "up" | "down":
                here = self._at(start, end)
                if here is None or not here.choices:
                    return False
                self._choose(here, 1 if key == "down" else -1)
            case _:
                return False
        return True

    def _at(self, start: int, end: int) -> PlacedBlank | None:
        return next(
            (each for each in self._blanks if each.start <= start and end <= each.end), None
        )

    def _step(self, start: int, end: int, step: int) -> None:
        """Go to the next or the previous blank; after the last, to the end of the snippet."""
        here = self._at(start, end)
        if here is not None:
            self._fill_others(here)
            index = self._blanks.index(here) + step
            blank = self._blanks[index] if 0 <= index < len(self._blanks) else None
        elif step > 0:
            blank = next((each for each in self._blanks if each.start >= end), None)
        else:
            blank = next((each for each in reversed(self._blanks) if each.end <= start), None)
        if blank is not None:
            self._select(blank)
        elif step > 0:
            self._editor.move_cursor(self.location(self._end))
            self.clear()

    def _choose(self, blank: PlacedBlank, step: int) -> None:
        current = self._text(blank)
        index = blank.choices.index(current) + step if current in blank.choices else 0
        chosen = blank.choices[index % len(blank.choices)]
        self._editor.replace(chosen, self.location(blank.start), self.location(blank.end))
        self._select(blank)

    def _fill_others(self, blank: PlacedBlank) -> None:
        """Write the text of a blank into the others of its name."""
        text = self._text(blank)
        for other in reversed(self._blanks):
            if other is not blank and other.name == blank.name and self._text(other) != text:
                self._editor.replace(text, self.location(other.start), self.location(other.end))

    # Edits

    def edited(self, start: int, end: int, length: int) -> None:
        """Follow an edit: the text from `start` to `end` was replaced by one of this length. A
        blank that is cut is gone.
        """
        by = length - (end - start)
        kept: list[PlacedBlank] = []
        is_inside = False
        for blank in self._blanks:
            if not is_inside and blank.start <= start and end <= blank.end:
                blank.end += by
                is_inside = True
            elif end <= blank.start:
                blank.start, blank.end = blank.start + by, blank.end + by
            elif start < blank.end:
                continue
            kept.append(blank)
        self._blanks = kept
        if start < self._end or is_inside:
            self._end += by
