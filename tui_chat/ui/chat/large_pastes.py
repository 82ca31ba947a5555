"""Large pastes: the composer holds them beside its text, in which each is shown as a chip.

An editor that wraps lines cannot wrap a megabyte while the user types. A chip reads `[pasted
1.0 MB, 12,000 lines]`, and is put back when the text is read.
"""

from __future__ import annotations

import re

from textual.document._document import DocumentBase, Location
from textual.document._edit import Edit

LARGE = 4_000
"""Characters from which a paste is held as a chip."""
TALL = 100
"""Lines from which it is."""

_CHIP = re.compile(r"\[pasted (?:#\d+: )?[^\[\]\n]{1,60}\]")


class LargePastes:
    """The texts behind the chips of one composer, by their labels."""

    def __init__(self) -> None:
        self._held: dict[str, str] = {}

    def hold(self, text: str) -> str:
        """Hold a large text and return its label; return a small text unchanged."""
        if len(text) < LARGE and text.count("\n") < TALL:
            return text
        lines = text.count("\n") + (not text.endswith("\n"))
        facts = f"{_format_size(len(text))}, {lines:,} line{'s' * (lines > 1)}"
        label = f"[pasted {facts}]"
        number = 1
        while self._held.get(label, text) != text:
            number += 1
            label = f"[pasted #{number}: {facts}]"
        self._held[label] = text
        return label

    def clear(self) -> None:
        """Drop every text."""
        self._held.clear()

    def expand(self, text: str) -> str:
        """Replace the labels in a text by what they stand for."""
        if not self._held or "[pasted " not in text:
            return text
        return _CHIP.sub(lambda chip: self._held.get(chip.group(), chip.group()), text)

    def chips(self, line: str) -> list[tuple[int, int]]:
        """Return the first column and the end of each chip in a line."""
        if not self._held or "[pasted " not in line:
            return []
        return [chip.span() for chip in _CHIP.finditer(line) if chip.group() in self._held]

    def widened(self, edit: Edit, document: DocumentBase) -> Edit:
        """Return an edit that touches the inside of a chip extended to all of it."""
        # Deleting the last line reaches for the line after it.
        top, bottom = (
            min(place, document.end) for place in sorted((edit.from_location, edit.to_location))
        )
        edit = Edit(edit.text, top, bottom, edit.maintain_selection_offset)
        wide_top = self._outside_chip(document, top, start=True)
        wide_bottom = self._outside_chip(document, bottom, start=False)
        if (wide_top, wide_bottom) != (top, bottom):
            if top == bottom:
                # Text typed into a chip goes behind it.
                wide_top = wide_bottom
            edit = Edit(edit.text, wide_top, wide_bottom, maintain_selection_offset=False)
        return edit

    def _outside_chip(self, document: DocumentBase, location: Location, *, start: bool) -> Location:
        row, column = location
        for low, high in self.chips(document[row]):
            if low < column < high:
                return row, low if start else high
        return location


def _format_size(characters: int) -> str:
    if characters < 1_000:
        return f"{characters} characters"
    if characters < 999_500:
        return f"{characters / 1000:.0f} kB"
    return f"{characters / 1_000_000:.1f} MB"
