"""Where the keys of a TOML file are. `tomllib` tells only what it has read, not from where."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from typing import Any, cast

_MOST_TRIES = 2_000
"""Parses of a part of the file, after which a place is not sought any more."""


def place_of(text: str, path: Sequence[str]) -> tuple[int, int] | None:
    """Return line and column, both from 1, where the value at a path of keys is set, or the nearest
    table around it. None if that cannot be told.
    """
    for length in range(len(path), 0, -1):
        if found := _Lines(text).find(path[:length]):
            return found
    return None


class _Lines:
    """The lines of a file, of which the first ones are parsed to see what they set."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._tries = 0

    def find(self, path: Sequence[str]) -> tuple[int, int] | None:
        """Return where a path is set; None if it is not."""
        low, high = 0, len(self._lines)
        if not self._has(high, path):
            return None
        while low < high:  # the fewest lines that set it; those that end inside a value are skipped
            middle = (low + high) // 2
            whole = self._next_whole(middle, high)
            if whole is None or self._has(whole, path):
                high = middle
            else:
                low = max(whole, middle) + 1
        end = self._next_whole(low, len(self._lines))
        if end is None:
            return None
        start = end - 1
        while start > 0 and self._parsed(start) is None:
            start -= 1
        return self._position(start, end, path[-1])

    def _next_whole(self, count: int, most: int) -> int | None:
        """Return the least number of lines from `count` on that are TOML by themselves."""
        return next((n for n in range(count, most + 1) if self._parsed(n) is not None), None)

    def _parsed(self, count: int) -> dict[str, Any] | None:
        self._tries += 1
        if self._tries > _MOST_TRIES:
            return None
        try:
            return tomllib.loads("\n".join(self._lines[:count]))
        except (tomllib.TOMLDecodeError, RecursionError):
            return None

    def _has(self, count: int, path: Sequence[str]) -> bool:
        value: Any = self._parsed(count)
        for key in path:
            if isinstance(value, dict) and key in value:
                value = cast("dict[str, Any]", value)[key]
            elif (
                isinstance(value, list)
                and key.isdecimal()
                and int(key) < len(cast("list[Any]", value))
            ):
                value = cast("list[Any]", value)[int(key)]
            else:
                return False
        return True

    def _position(self, start: int, end: int, key: str) -> tuple[int, int]:
        """Return where a key is written in the lines from `start` to `end`."""
        written = re.compile(rf"(?<![\w-])[\"']?{re.escape(key)}[\"']?\s*[=\].]")
        for number in range(start, end):
            if found := written.search(self._lines[number]):
                return number + 1, found.start() + 1
        return start + 1, 1
