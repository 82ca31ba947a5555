"""JSON text to values and back; the only place that decodes what others wrote.

1. `decode_json` is strict: it refuses what only Python accepts (NaN, infinities and numbers that
   become infinite) and texts nested deeper than `MAX_DEPTH`, so that recursion over the value is
   safe. A `JsonError` says what is wrong in our words, and where.
2. `parse_json` also replaces lone surrogates, which an escape can bring into valid JSON, by U+FFFD.
3. `decode_lenient` is for what a provider sends: NaN is null, and a text of too many values is
   refused before it is parsed. One invalid field must not lose the text of a reply: each `as_...`
   returns its type's empty value if the field is absent, null or of another type. It is plain
   `json` and not pydantic, which refuses a whole chunk for one invalid field.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NoReturn, TypeAlias, cast

from tui_chat.errors import InputError
from tui_chat.models.text import clean

JsonObject: TypeAlias = Mapping[str, object]

MAX_DEPTH = 200
"""Levels of nesting, more than any schema needs. Python's reader takes a thousand; what is kept is
written, hashed and drawn later by functions that call themselves once or twice a level."""
MAX_VALUES = 400_000
"""Values in one JSON text, about. Three characters of JSON (`[],`) become 80 bytes of memory, and
16 MB of them take 1.6 seconds to parse; so many take a tenth of one."""
UNCHECKED_LENGTH = 1_000_000
"""Characters of JSON that cannot have too many values."""
_MAX_COUNT = 2**53
"""Counts beyond this are nonsense, and would not fit a database column."""


class JsonError(ValueError):
    """The fault of a text that is not JSON that is read here, and its place."""

    def __init__(self, sentence: str, text: str, offset: int) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        """`is not JSON: ...`, without a period."""
        self.offset = offset
        """In characters from the start of the text."""
        self.line, self.column = line_and_column(text, offset)

    @property
    def place(self) -> str:
        """`line 3, column 4`."""
        return f"line {self.line}, column {self.column}"


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    """Return line and column of an offset, both from 1, columns in characters."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


# Parsing


def _refuse(word: str) -> NoReturn:
    raise ValueError(word)


def _finite(digits: str) -> float:
    value = float(digits)
    return _refuse(digits) if math.isinf(value) else value


STRICT_DECODER = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite)
"""Refuses NaN, infinities and numbers that become infinite; see `json_fault` for its errors."""
LENIENT_DECODER = json.JSONDecoder(parse_constant=lambda _: None)
"""Reads NaN, which Python programs write, as null."""


def decode_json(text: str, max_depth: int = MAX_DEPTH) -> object:
    """Parse JSON text strictly. Raises JsonError."""
    try:
        value: object = STRICT_DECODER.decode(text)
    except RecursionError as error:
        raise _too_deep(text, max_depth) from error
    except ValueError as error:
        raise json_fault(text, error) from error
    if text.count("[") + text.count("{") > max_depth and is_deeper(value, max_depth):
        raise _too_deep(text, max_depth)
    return value


def parse_json(text: str, source: str) -> object:
    """Parse JSON text strictly, without lone surrogates; `source` is what errors call it.

    Raises InputError.
    """
    try:
        return decode_repaired(text)[0]
    except JsonError as fault:
        raise InputError(f"{source}: {fault.place}: {fault.sentence}") from fault


def repeated_keys(text: str) -> tuple[str, ...]:
    """Return the keys that valid JSON text has more than once in one object, each one once. Of
    their values only the last is read.
    """
    repeated: dict[str, None] = {}

    def note(pairs: list[tuple[str, object]]) -> None:
        keys = [key for key, _ in pairs]
        if len(set(keys)) < len(keys):
            repeated.update((key, None) for key in keys if keys.count(key) > 1)

    json.JSONDecoder(object_pairs_hook=note).decode(text)
    return tuple(map(clean, repeated))


def decode_repaired(text: str) -> tuple[object, bool]:
    """Return the value of `decode_json` without lone surrogates, and True if it had any."""
    value = decode_json(text)
    if not _ESCAPED_SURROGATE.search(text):
        return value, False
    repaired = clean_json(value)
    return repaired, repaired != value


_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def decode_lenient(text: str) -> object:
    """Parse JSON. Raises only ValueError, also for more than `MAX_VALUES` values. NaN is null."""
    if len(text) > UNCHECKED_LENGTH and sum(map(text.count, "[{,")) > MAX_VALUES:
        raise ValueError("too many values")
    try:
        value: object = LENIENT_DECODER.decode(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if text.count("[") + text.count("{") > MAX_DEPTH and is_deeper(value, MAX_DEPTH):
        raise ValueError("nested too deeply")
    return value


def is_deeper(value: object, levels: int) -> bool:
    """Return True if a value has more levels of objects and lists; without recursion."""
    level = [value]
    for _ in range(levels):
        level = [child for parent in level for child in _children(parent)]
    return any(isinstance(child, dict | list) for child in level)


def _children(value: object) -> Collection[object]:
    return cast("JsonObject", value).values() if isinstance(value, dict) else as_array(value)


def clean_json(value: Any) -> Any:
    """Return a JSON value without lone surrogates, which cannot be sent as UTF-8."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [clean_json(item) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value).items()
        return {clean(key): clean_json(item) for key, item in items}
    return value


def to_json(value: object) -> str:
    """Return a JSON value as compact JSON that can be sent as UTF-8."""
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError:  # 1e999 was read as infinity, for which JSON has no word
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return to_json(LENIENT_DECODER.decode(text))
    except RecursionError:
        return ""
    return clean(text)


# Values of unknown types


def as_object(value: object) -> JsonObject:
    """Return the JSON object, or an empty one."""
    return cast("JsonObject", value) if isinstance(value, dict) else _EMPTY


_EMPTY: JsonObject = {}


def object_or_none(value: object) -> dict[str, Any] | None:
    """Return the JSON object; None for any other value."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def as_array(value: object) -> list[object]:
    """Return the JSON array, or an empty one."""
    return cast("list[object]", value) if isinstance(value, list) else []


def as_objects(value: object) -> list[JsonObject]:
    """Return the JSON array as objects; an entry that is none is an empty one."""
    return [as_object(entry) for entry in as_array(value)]


def objects_in(value: object) -> Iterator[dict[str, Any]]:
    """Yield the objects of a JSON array; nothing of any other value."""
    for item in as_array(value):
        if isinstance(item, dict):
            yield cast("dict[str, Any]", item)


def as_string(value: object) -> str:
    """Return the string, fit for UTF-8, or an empty one."""
    if not isinstance(value, str):
        return ""
    return value if value.isascii() else clean(value)


def as_raw_string(value: object) -> str:
    """Return the string as it came, or an empty one: for deltas, whose ends may be halves."""
    return value if isinstance(value, str) else ""


def as_count(value: object) -> int | None:
    """Return a number of things, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _MAX_COUNT:
        return None
    return int(value)


_TYPE_NAMES: Mapping[type, str] = {
    type(None): "null",
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "a text",
    list: "a list",
    tuple: "a list",
}


def type_name(value: object) -> str:
    """Return the name of a JSON value's type, with its article."""
    return _TYPE_NAMES.get(type(value), "an object")


def describe_value(value: object) -> str:
    """Return a value that was not accepted in a few words: itself if it is short, else its type."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float() if not abs(value) >= 10**15:  # also NaN
            return str(value)
        case str() if len(value) <= _LONGEST_SHOWN and value.isprintable():
            return f"“{value}”"
        case _:
            return type_name(value)


_LONGEST_SHOWN = 40


# What is wrong with a text


def json_fault(text: str, error: Exception) -> JsonError:
    """Return the fault of a text from the error that a decoder raised for it."""
    if isinstance(error, RecursionError):
        return JsonError("is nested too deeply", text, 0)
    if isinstance(error, json.JSONDecodeError):
        words, offset = _syntax_fault(text, error)
    else:  # a number that is refused, or has more digits than Python reads
        word = str(error)
        tokens = (match for match in JSON_TOKEN.finditer(text) if match[0][0] in "-0123456789NI")
        bad = (match.start() for match in tokens if match[0] == word or len(match[0]) > 4000)
        offset = next(bad, 0)
        words = f"{word} is {'not a JSON' if word[-1].isalpha() else 'too large a'} number"
        if len(word) > _LONGEST_SHOWN:
            words = "a number has thousands of digits"
    return JsonError(f"is not JSON: {words}", text, offset)


def _too_deep(text: str, max_depth: int) -> JsonError:
    depth = 0
    for match in JSON_TOKEN.finditer(text):
        depth += (match.group() in "[{") - (match.group() in "]}")
        if depth > max_depth:
            sentence = f"is nested too deeply (over {max_depth} levels)"
            return JsonError(sentence, text, match.start())
    return JsonError("is nested too deeply", text, 0)


def _syntax_fault(text: str, error: json.JSONDecodeError) -> tuple[str, int]:
    """Return a syntax error in clearer words, and its place."""
    offset = error.pos
    here, before = text[offset : offset + 1], text[:offset].rstrip()
    if not text.strip():
        return "it is empty", 0
    if not here:
        return "it ends too early", offset
    if _YAML.match(text):
        return "it looks like YAML", offset
    if here in "/#":
        return "comments are not allowed", offset
    if error.msg.startswith("Illegal trailing comma"):  # Python 3.13 and newer; at the comma
        return f"a comma before “{text[offset + 1 :].lstrip()[:1]}”", offset
    if error.msg.startswith(_EXPECTING):
        if here in "}]" and before.endswith(","):
            return f"a comma before “{here}”", len(before) - 1
        if here in "'“”‘’":
            return f"strings need double quotes, not {here}", offset
    words = (words for start, words in _SYNTAX.items() if error.msg.startswith(start))
    return next(words, f"{error.msg[:1].lower()}{error.msg[1:]}"), offset


_EXPECTING = ("Expecting property name", "Expecting value")
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
JSON_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+', re.DOTALL)
