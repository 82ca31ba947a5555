"""Heights of many messages: where one begins, and which one is at a line.

A Fenwick tree: a height changes, and a line is found, in logarithmic time.
"""

from __future__ import annotations

from collections.abc import Sequence


class Heights:
    """Heights in lines, changeable, with their running totals."""

    def __init__(self, heights: Sequence[int] = ()) -> None:
        self._heights = list(heights)
        self._tree = [0, *heights]
        for index in range(1, len(self._tree)):
            above = index + (index & -index)
            if above < len(self._tree):
                self._tree[above] += self._tree[index]
        self.total = sum(heights)
        """All lines."""

    def __len__(self) -> int:
        return len(self._heights)

    def __getitem__(self, index: int) -> int:
        return self._heights[index]

    def set(self, index: int, height: int) -> None:
        """Change one height."""
        change = height - self._heights[index]
        if not change:
            return
        self._heights[index] = height
        self.total += change
        at = index + 1
        while at < len(self._tree):
            self._tree[at] += change
            at += at & -at

    def before(self, index: int) -> int:
        """Return the line at which `index` begins."""
        total = 0
        while index > 0:
            total += self._tree[index]
            index -= index & -index
        return total

    def find(self, line: int) -> tuple[int, int]:
        """Return who is at `line`, and how many lines into it; clamped to the ends."""
        if not self._heights:
            return 0, 0
        line = min(max(line, 0), max(self.total - 1, 0))
        index, step = 0, 1 << len(self._heights).bit_length()
        while step:
            next_index = index + step
            if next_index < len(self._tree) and self._tree[next_index] <= line:
                index = next_index
                line -= self._tree[next_index]
            step >>= 1
        return min(index, len(self._heights) - 1), line
