"""The places of values in JSON text, for findings and for edits that keep the rest as it is.

A scanner walks the text once, without recursion, and stores only the paths it was asked for: a
hostile file costs time, not memory.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Collection
from dataclasses import field

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


@dataclass(slots=True)
class Locations:
    """The places that one scan of a text found."""

    spots: dict[Path, ValueSpan] = field(default_factory=dict[Path, ValueSpan])
    duplicates: list[tuple[Path, int]] = field(default_factory=list[tuple[Path, int]])
    """Duplicate keys, and the place of the later one, which counts."""


def format_path(path: Path) -> str:
    """Return a path as text: `$.presetMessages[0].role`."""
    return "$" + "".join(map(_step_words, path))


def _step_words(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if step.isidentifier() else f"[{json.dumps(step, ensure_ascii=False)}]"


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
    keys: set[str] | None
    """The keys so far; None for a list."""
    step: str | int
    """The step to the next value."""
    awaits_key: bool
    key_at: int = 0


def locate(text: str, wanted: Collection[Path] = ()) -> Locations:
    """Scan a text that `decode_json` accepted for the wanted paths and for duplicate keys."""
    locations = Locations()
    inside: list[_Open] = []
    for token in JSON_TOKEN.finditer(text):
        word, start = token.group(), token.start()
        here = inside[-1] if inside else None
        if word == ",":
            _next(here)
        elif word == ":":
            continue
        elif word in "]}":
            done = inside.pop()
            if done.path in wanted:
                locations.spots[done.path] = ValueSpan(done.key, done.start, token.end())
        elif here is not None and here.awaits_key and here.keys is not None:
            key = clean(json.loads(word))
            if key in here.keys:
                locations.duplicates.append(((*here.path, key), start))
            here.keys.add(key)
            here.step, here.key_at, here.awaits_key = key, start, False
        else:
            path = (*here.path, here.step) if here else ()
            key = here.key_at if here and here.keys is not None else start
            if word in "[{":
                is_object = word == "{"
                keys: set[str] | None = set() if is_object else None
                inside.append(_Open(path, key, start, keys, 0, is_object))
            elif path in wanted:
                locations.spots[path] = ValueSpan(key, start, token.end())
    return locations


def _next(here: _Open | None) -> None:
    if here is None:
        return
    if here.keys is not None:
        here.awaits_key = True
    elif isinstance(here.step, int):
        here.step += 1
