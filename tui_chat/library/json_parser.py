"""Parsing JSON, and locating values in its text.

1. `json.loads` parses the text. What only Python accepts is refused: NaN, infinities and numbers
   that become infinite.
2. A text is nested at most `MAX_DEPTH` deep, so that recursion over its value is safe.
3. Places are looked up only for findings. A scanner then walks the text once, without recursion,
   and stores only the paths it was asked for: a hostile file costs time, not memory.
4. Lone surrogates, which an escape can bring into valid JSON, become U+FFFD.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_right
from collections.abc import Collection
from dataclasses import field
from typing import Any, NoReturn, cast

from tui_chat.errors import InputError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.text import clean

MAX_DEPTH = 100
"""Levels of nesting; no preset needs a tenth of it."""

Path = tuple[str | int, ...]
"""Steps from the root: keys and list positions."""


class JsonError(ValueError):
    """Why a text is not valid JSON, and where."""

    def __init__(self, sentence: str, offset: int) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.offset = offset


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


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    """Return line and column of an offset, both from 1, columns in characters."""
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
    """Parse JSON text; return its value, and True if it had escaped lone surrogates, which were
    replaced. Raises JsonError.
    """
    try:
        value: object = json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except json.JSONDecodeError as error:
        raise _syntax_error(text, error) from error
    except RecursionError as error:
        raise _too_deep(text) from error
    except ValueError as error:  # _refuse, _finite, and int's own limit of digits
        raise JsonError(_NOT_A_NUMBER, _bad_number(text)) from error
    if text.count("[") + text.count("{") > MAX_DEPTH and _is_deep(value):
        raise _too_deep(text)
    if not _ESCAPED_SURROGATE.search(text):
        return value, False
    cleaned = _without_surrogates(value)
    return cleaned, cleaned != value


def parse_json(text: str, source: str) -> object:
    """Parse JSON text; `source` is what errors call it. Raises InputError."""
    try:
        return parse(text)[0]
    except JsonError as fault:
        line, column = line_and_column(text, fault.offset)
        raise InputError(f"{source}: line {line}, column {column}: {fault.sentence}") from fault


_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
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


def _without_surrogates(value: Any) -> Any:
    """Replace lone surrogates in every string of a value."""
    match value:
        case str():
            return clean(value)
        case dict():
            found = cast("dict[str, Any]", value)
            return {clean(key): _without_surrogates(inner) for key, inner in found.items()}
        case list():
            return [_without_surrogates(inner) for inner in cast("list[Any]", value)]
        case _:
            return value


def _syntax_error(text: str, error: json.JSONDecodeError) -> JsonError:
    """Return a syntax error with a clearer sentence."""
    offset = error.pos
    here = text[offset : offset + 1]
    before = text[:offset].rstrip()
    if not text.strip():
        return JsonError("is not JSON: it is empty", 0)
    if not here:
        return JsonError("is not JSON: it ends too early", offset)
    if _YAML.match(text):
        return JsonError("is not JSON: it looks like YAML", offset)
    if here in "/#":
        return JsonError("is not JSON: comments are not allowed", offset)
    if error.msg.startswith("Illegal trailing comma"):  # Python 3.13 and newer; at the comma
        bracket = text[offset + 1 :].lstrip()[:1]
        return JsonError(f"is not JSON: a comma before “{bracket}”", offset)
    if error.msg.startswith(("Expecting property name", "Expecting value")):
        if here in "}]" and before.endswith(","):
            comma = len(before) - 1
            return JsonError(f"is not JSON: a comma before “{here}”", comma)
        if here in "'“”‘’":
            return JsonError(f"is not JSON: strings need double quotes, not {here}", offset)
    for beginning, sentence in _SYNTAX.items():
        if error.msg.startswith(beginning):
            return JsonError(f"is not JSON: {sentence}", offset)
    return JsonError(f"is not JSON: {error.msg[:1].lower()}{error.msg[1:]}", offset)


_SYNTAX = {
    "Expecting ',' delimiter": "a comma or a closing bracket is missing before this",
    "Expecting ':' delimiter": "a colon is missing after the key",
    "Expecting property name": "a key in double quotes is expected",
    "Expecting value": "a value is expected",
    "Extra data": "there is more text after its end",
    "Unterminated string": "this string has no closing quote",
    "Invalid control character": "write a line break in a string as \\n, a tab as \\t",
    "Invalid \\escape": "write a backslash in a string as \\\\",
}

_YAML = re.compile(r"(?:\s*#[^\n]*\n)*\s*(?:---\s|(?:- +)?[\w-]+:(?:\s|$))")
"""The beginning of a YAML document: its marker, or a key without quotes."""
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+', re.DOTALL)


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
    """Scan a text that `parse` accepted for the wanted paths and for duplicate keys."""
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
                found.duplicates.append(((*here.path, key), start))
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
