"""Heights of many messages: where one begins, and which one is at a line.

They are summed in blocks. All of them are taken in one go at every change of width, where adding
numbers up is all there is to do; one changes in no time, and a line is found by going through
the sums of the blocks, and then through one block.
"""

from __future__ import annotations

from collections.abc import Sequence

BLOCK = 32
"""Heights in a block."""


class Heights:
    """Heights in lines, changeable, with their running totals."""

    def __init__(self, heights: Sequence[int] = ()) -> None:
        self._heights = list(heights)
        self._sums = [sum(self._heights[at : at + BLOCK]) for at in range(0, len(heights), BLOCK)]
        self.total = sum(self._sums)
        """All lines."""

    def __len__(self) -> int:
        return len(self._heights)

    def __getitem__(self, index: int) -> int:
        return self._heights[index]

    def set(self, index: int, height: int) -> None:
        """Change one height."""
        change = height - self._heights[index]
        self._heights[index] = height
        self._sums[index // BLOCK] += change
        self.total += change

    def before(self, index: int) -> int:
        """Return the line at which `index` begins."""
        block = index // BLOCK
        return sum(self._sums[:block]) + sum(self._heights[block * BLOCK : index])

    def find(self, line: int) -> tuple[int, int]:
        """Return who is at `line`, and how many lines into it; clamped to the ends."""
        line = min(max(line, 0), max(self.total - 1, 0))
        index = 0
        for size in self._sums:
            if line < size:
                break
            line -= size
            index += BLOCK
        for size in self._heights[index : index + BLOCK]:
            if line < size:
                return index, line
            line -= size
            index += 1
        return max(len(self._heights) - 1, 0), 0
