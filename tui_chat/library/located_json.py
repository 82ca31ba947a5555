"""JSON text that knows its places: parsed by the standard library, located by a scanner.

1. `json.loads` decides what is JSON, but for what it lets through and nobody else would read:
   NaN, infinities and numbers that become one are faults.
2. A text is nested at most `MAX_DEPTH` deep, so that nothing that walks a value later can
   run out of stack.
3. Where something stands is asked only when there is something to say about it. The scanner
   then walks the text once, without recursion, and remembers only the paths it was asked for:
   a hostile file costs time, not memory.
4. Half characters (lone surrogates, which an escape can smuggle into valid JSON) become
   U+FFFD, as everywhere text enters.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_right
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, NoReturn, cast

from tui_chat.errors import InputError
from tui_chat.models.text import clean

MAX_DEPTH = 100
"""No preset needs a tenth of it."""

Path = tuple[str | int, ...]
"""Steps from the root: keys and list positions."""


class JsonError(ValueError):
    """Why a text is not JSON that we read, and where."""

    def __init__(self, sentence: str, offset: int) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.offset = offset


@dataclass(frozen=True, slots=True)
class ValueSpan:
    """Where one value stands, in characters from the start of the text."""

    key: int
    """Where its key begins; where the value itself begins, if it has none."""
    start: int
    end: int


@dataclass(slots=True)
class Locations:
    """What one walk through a text found."""

    spots: dict[Path, ValueSpan] = field(default_factory=dict[Path, ValueSpan])
    doubled: list[tuple[Path, int]] = field(default_factory=list[tuple[Path, int]])
    """Keys that an object has twice, and where the later one stands. The later one counts."""


def format_path(path: Path) -> str:
    """Return a path as a person writes it: `$.presetMessages[0].role`."""
    return "$" + "".join(map(_step_words, path))


def _step_words(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if step.isidentifier() else f"[{json.dumps(step, ensure_ascii=False)}]"


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    """Return where an offset is as editors count: both from 1, columns in characters."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


class LineIndex:
    """`line_and_column` for many offsets of one text."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def at(self, offset: int) -> tuple[int, int]:
        """Return line and column, from 1."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1


def parse(text: str) -> tuple[object, bool]:
    """Parse JSON text; also tell whether half characters had to be mended. Raises JsonFault.

    The text itself holds none (see `clean`); an escape in it may stand for one.
    """
    try:
        value: object = json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except json.JSONDecodeError as error:
        raise _explained(text, error) from error
    except RecursionError as error:
        raise _too_deep(text) from error
    except ValueError as error:  # _refuse, _finite, and int's own limit of digits
        raise JsonError(_NOT_A_NUMBER, _bad_number(text)) from error
    if text.count("[") + text.count("{") > MAX_DEPTH and _is_deep(value):
        raise _too_deep(text)
    if not _ESCAPED_HALF.search(text):
        return value, False
    whole = _whole(value)
    return whole, whole != value


def parse_json(text: str, source: str) -> object:
    """Parse JSON text; `source` is what errors call it. Raises InputError."""
    try:
        return parse(text)[0]
    except JsonError as fault:
        line, column = line_and_column(text, fault.offset)
        raise InputError(f"{source}: line {line}, column {column}: {fault.sentence}") from fault


_ESCAPED_HALF = re.compile(r"\\u[dD][89a-fA-F]")
_NOT_A_NUMBER = "is not JSON: NaN and infinite or endless numbers are not allowed"


def _refuse(_: str) -> NoReturn:
    raise ValueError


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError
    return value


def _bad_number(text: str) -> int:
    for match in _TOKEN.finditer(text):
        word = match.group()
        if word in ("NaN", "Infinity", "-Infinity"):
            return match.start()
        if word[0] in "-0123456789":
            try:
                _finite(word) if set(word) & set(".eE") else int(word)
            except ValueError:
                return match.start()
    return 0


def _too_deep(text: str) -> JsonError:
    depth = 0
    for match in _TOKEN.finditer(text):
        depth += (match.group() in "[{") - (match.group() in "]}")
        if depth > MAX_DEPTH:
            return JsonError(f"is nested too deeply (over {MAX_DEPTH} levels)", match.start())
    return JsonError("is nested too deeply", 0)


def _is_deep(value: object) -> bool:
    level: list[object] = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return False
    return True


def _inside(value: object) -> Collection[object]:
    match value:
        case dict():
            return cast("dict[str, object]", value).values()
        case list():
            return cast("list[object]", value)
        case _:
            return ()


def _whole(value: Any) -> Any:
    """Mend half characters in every string of a value."""
    match value:
        case str():
            return clean(value)
        case dict():
            found = cast("dict[str, Any]", value)
            return {clean(key): _whole(inner) for key, inner in found.items()}
        case list():
            return [_whole(inner) for inner in cast("list[Any]", value)]
        case _:
            return value


def _explained(text: str, error: json.JSONDecodeError) -> JsonError:
    """Say a fault of syntax as a person would."""
    offset = error.pos
    here = text[offset : offset + 1]
    before = text[:offset].rstrip()
    if not text.strip():
        return JsonError("is not JSON: it is empty", 0)
    if not here:
        return JsonError("is not JSON: it ends too early", offset)
    if here in "/#":
        return JsonError("is not JSON: comments are not allowed", offset)
    if error.msg.startswith(("Expecting property name", "Expecting value", "Illegal trailing")):
        if here in "}]" and before.endswith(","):
            comma = len(before) - 1
            return JsonError(f"is not JSON: a comma, and then only “{here}”", comma)
        if here in "'“”‘’":
            return JsonError(f'is not JSON: text stands in " and not in {here}', offset)
    for beginning, sentence in _SYNTAX.items():
        if error.msg.startswith(beginning):
            return JsonError(f"is not JSON: {sentence}", offset)
    return JsonError(f"is not JSON: {error.msg[:1].lower()}{error.msg[1:]}", offset)


_SYNTAX = {
    "Expecting ',' delimiter": "a comma or a closing bracket is missing before this",
    "Expecting ':' delimiter": "a colon is missing after the key",
    "Expecting property name": "a key in double quotes is expected",
    "Expecting value": "a value is expected",
    "Extra data": "there is more after its end",
    "Unterminated string": "this text has no closing quote",
    "Invalid control character": "a line break inside text is written \\n, a tab \\t",
    "Invalid \\escape": "a backslash inside text is written \\\\",
}

_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+', re.DOTALL)


@dataclass(slots=True)
class _Open:
    """A list or object that the scanner is inside of."""

    path: Path
    key: int
    start: int
    keys: set[str] | None
    """Those met so far; None in a list."""
    step: str | int
    """Of the value that comes next."""
    awaits_key: bool
    key_at: int = 0


def locate(text: str, wanted: Collection[Path] = ()) -> Locations:
    """Walk a text that `parse` has accepted: find the wanted paths, and doubled keys."""
    found = Locations()
    inside: list[_Open] = []
    for token in _TOKEN.finditer(text):
        word, start = token.group(), token.start()
        here = inside[-1] if inside else None
        if word == ",":
            _next(here)
        elif word == ":":
            continue
        elif word in "]}":
            done = inside.pop()
            if done.path in wanted:
                found.spots[done.path] = ValueSpan(done.key, done.start, token.end())
        elif here is not None and here.awaits_key and here.keys is not None:
            key = clean(json.loads(word))
            if key in here.keys:
                found.doubled.append(((*here.path, key), start))
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
                found.spots[path] = ValueSpan(key, start, token.end())
    return found


def _next(here: _Open | None) -> None:
    if here is None:
        return
    if here.keys is not None:
        here.awaits_key = True
    elif isinstance(here.step, int):
        here.step += 1
