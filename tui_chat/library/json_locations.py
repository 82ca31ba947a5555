"""The places of values in JSON text, for findings and for edits that keep the rest as it is.

A scanner walks the text once, without recursion, and stores only the paths it was asked for: a
hostile file costs time, not memory.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Collection

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.json_text import JSON_TOKEN
from tui_chat.models.text import clean

Path = tuple[str | int, ...]
"""Steps from the root: keys and list positions."""


@dataclass(frozen=True, slots=True)
class ValueSpan:
    """The place of a value, in characters from the start of the text."""

    key: int
    """The start of its key, or of the value if it has no key."""
    start: int
    end: int


def format_path(path: Path) -> str:
    """Return a path as text: `$.presetMessages[0].role`."""
    return "$" + "".join(
        f".{step}"
        if isinstance(step, str) and step.isidentifier()
        else f"[{json.dumps(step, ensure_ascii=False)}]"
        for step in path
    )


class LineIndex:
    """Line and column of many offsets of one text."""

    def __init__(self, text: str, first_line: int = 1) -> None:
        """`first_line` is the number of the text's first line in its file."""
        self._first_line = first_line
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def at(self, offset: int) -> tuple[int, int]:
        """Return line and column, from 1."""
        line = bisect_right(self._starts, offset)
        return self._first_line + line - 1, offset - self._starts[line - 1] + 1


@dataclass(slots=True)
class _Open:
    """A list or object that the scanner is in."""

    path: Path
    key: int
    start: int
    is_object: bool
    step: str | int
    """The step to the next value."""
    awaits_key: bool
    key_at: int = 0


def locate(text: str, wanted: Collection[Path]) -> dict[Path, ValueSpan]:
    """Return the places of the wanted paths in a text that `decode_json` accepted."""
    spots: dict[Path, ValueSpan] = {}
    inside: list[_Open] = []
    for token in JSON_TOKEN.finditer(text):
        word, start = token.group(), token.start()
        here = inside[-1] if inside else None
        if word == ",":
            if here is not None and here.is_object:
                here.awaits_key = True
            elif here is not None and isinstance(here.step, int):
                here.step += 1
        elif word == ":":
            continue
        elif word in "]}":
            done = inside.pop()
            if done.path in wanted:
                spots[done.path] = ValueSpan(done.key, done.start, token.end())
        elif here is not None and here.awaits_key:
            key = clean(json.loads(word))
            here.step, here.key_at, here.awaits_key = key, start, False
        else:
            path = (*here.path, here.step) if here else ()
            key = here.key_at if here and here.is_object else start
            if word in "[{":
                is_object = word == "{"
                inside.append(_Open(path, key, start, is_object, 0, awaits_key=is_object))
            elif path in wanted:
                spots[path] = ValueSpan(key, start, token.end())
    return spots
