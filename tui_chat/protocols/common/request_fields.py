"""Taking a captured request apart without losing a key.

1. A body is read strictly: what is not JSON, nests beyond reason or holds numbers that JSON does
   not have is refused with a sentence.
2. An object becomes `Fields`. Whoever understands a key takes it out; a value of another type
   than the one expected stays in. What remains at the end is passed through as it came, so a
   request can be encoded again word for word, including keys that nobody here has heard of.
3. A setting that a unified field holds is taken if encoding it gives back the very same value;
   else it remains for the protocol's namespace, whose value then wins in its own protocol.
4. Lone surrogates cannot be sent as UTF-8; they become U+FFFD, and a note says so.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Iterator, Mapping
from math import isfinite
from typing import Any, TypeVar, cast

from tui_chat.errors import InputError
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Level, Note, Sourced, ToolDefinition
from tui_chat.models.semantics import NativeTool
from tui_chat.models.text import Origin, OriginKind, clean

MAX_DEPTH = 200
"""Objects within objects, more than any schema needs and less than Python's stack."""


def load_request(body: bytes, protocol: Protocol) -> tuple[Fields, list[Note]]:
    """Parse a body as a JSON object. Returns notes on what had to be cleaned.

    Raises InputError if it is not a request that could be sent.
    """
    title = f"This is no {protocol.label} request"
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{title}: byte {error.start} is not UTF-8.") from error
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise InputError(f"{title}: not JSON, {describe_json_error(error)}.") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{title}: {describe_json_error(error)}.") from error
    if not isinstance(value, dict):
        raise InputError(f"{title}: it is {type_name(value)} and not an object.")
    if _depth(cast("object", value)) > MAX_DEPTH:
        raise InputError(f"{title}: it is nested deeper than {MAX_DEPTH} levels.")
    notes: list[Note] = []
    if "\\u" in text and (fit := sanitize_json(value)) != value:
        value = fit
        sentence = (
            "Half of a surrogate pair stood alone in the request; it is no character and cannot be "
            "sent, so U+FFFD stands in its place."
        )
        notes.append(Note(Level.WARNING, "surrogate-replaced", sentence))
    return Fields(cast("dict[str, Any]", value), ""), notes


def describe_json_error(error: Exception) -> str:
    """Return what is wrong with JSON, and where, from the error that `json` raised."""
    match error:
        case json.JSONDecodeError():
            where = f"line {error.lineno}, column {error.colno}"
            return f"{error.msg.removesuffix(' at')} at {where}"
        case RecursionError():
            return "it is nested too deeply"
        case _ if "set_int_max_str_digits" in str(error):  # Python's words are for programmers
            return "it has a number of thousands of digits"
        case _:
            return str(error)


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _float(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise ValueError(f"{text[:40]} is too large a number")
    return number


_DECODER = json.JSONDecoder(parse_constant=_no_constant, parse_float=_float)


def _depth(value: object) -> int:
    """Return how deep a value nests, or one more than the deepest allowed; without recursion."""
    level: list[object] = [value]
    depth = 0
    while level and depth <= MAX_DEPTH:
        depth += 1
        level = [
            child
            for each in level
            if isinstance(each, dict | list)
            for child in (
                cast("dict[str, object]", each).values()
                if isinstance(each, dict)
                else cast("list[object]", each)
            )
        ]
    return depth


def sanitize_json(value: Any) -> Any:
    """Return a JSON value whose texts can be sent as UTF-8."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [sanitize_json(each) for each in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {clean(k): sanitize_json(v) for k, v in cast("dict[str, Any]", value).items()}
    return value


def to_json(value: object) -> str:
    """Write a JSON value in as few characters as it takes."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def excerpt(value: object) -> str:
    """Return a JSON value, cut to a length that fits into a sentence."""
    text = to_json(value)
    return text if len(text) <= _EXCERPT_LENGTH else f"{text[:_EXCERPT_LENGTH]}…"


_EXCERPT_LENGTH = 60


def type_name(value: object) -> str:
    """Return the name of a JSON value's type, with its article."""
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list():
            return "a list"
        case _:
            return "an object"


class Fields:
    """A JSON object being taken apart. It works on a copy."""

    __slots__ = ("place", "remaining")

    def __init__(self, value: Mapping[str, Any], place: str) -> None:
        self.remaining = dict(value)
        """The keys that have not been taken yet."""
        self.place = place
        """Where it stands in the body, for errors: `messages[3]`."""

    def take_text(self, key: str) -> str:
        """Take a string that is not empty; leave anything else and return the empty string."""
        value = self.remaining.get(key)
        if isinstance(value, str) and value:
            del self.remaining[key]
            return value
        return ""

    def take_number(self, key: str) -> float | None:
        """Take a number."""
        value = self.remaining.get(key)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        del self.remaining[key]
        return value

    def take_integer(self, key: str) -> int | None:
        """Take a whole number."""
        value = self.remaining.get(key)
        if isinstance(value, bool) or not isinstance(value, int):
            return None
        del self.remaining[key]
        return value

    def take_boolean(self, key: str) -> bool | None:
        """Take `true` or `false`."""
        value = self.remaining.get(key)
        return self.remaining.pop(key) if isinstance(value, bool) else None

    def take_object(self, key: str) -> dict[str, Any] | None:
        """Take an object that is not empty."""
        value = self.remaining.get(key)
        return self.remaining.pop(key) if isinstance(value, dict) and value else None

    def take_strings(self, key: str) -> tuple[str, ...]:
        """Take a list of strings that is not empty."""
        value = self.remaining.get(key)
        if not isinstance(value, list) or not value:
            return ()
        texts = cast("list[object]", value)
        if not all(isinstance(each, str) for each in texts):
            return ()
        del self.remaining[key]
        return tuple(cast("list[str]", texts))

    def take_equal(self, key: str, value: object) -> bool:
        """Take a key if it has this very value."""
        found = self.remaining.get(key, _ABSENT)
        if found is _ABSENT or found != value or isinstance(found, bool) != isinstance(value, bool):
            return False
        del self.remaining[key]
        return True

    def take_fields(self, key: str) -> Fields | None:
        """Take an object that is not empty apart in its turn; give back what is left of it with
        `put_back`.
        """
        value = self.remaining.get(key)
        if not isinstance(value, dict) or not value:
            return None
        del self.remaining[key]
        return Fields(cast("dict[str, Any]", value), self.path(key))

    def put_back(self, key: str, inner: Fields) -> None:
        """Keep what is left of an inner object under its key."""
        if inner.remaining:
            self.remaining[key] = inner.remaining

    def take_list(self, key: str) -> Iterator[Fields]:
        """Take a list of objects. Raises InputError where it is none."""
        value = self.remaining.pop(key, None)
        if not isinstance(value, list):
            raise InputError(f"{self.path(key)} must be a list, not {type_name(value)}.")
        for index, each in enumerate(cast("list[object]", value)):
            place = f"{self.path(key)}[{index}]"
            if not isinstance(each, dict):
                raise InputError(f"{place} must be an object, not {type_name(each)}.")
            yield Fields(cast("dict[str, Any]", each), place)

    def path(self, key: str) -> str:
        """Return where a key stands."""
        return f"{self.place}.{key}" if self.place else key

    def remaining_json(self) -> str:
        """Return what is left as compact JSON; empty where nothing is."""
        return to_json(self.remaining) if self.remaining else ""


_ABSENT = object()


T = TypeVar("T")
S = TypeVar("S")


def sourced(name: str, value: T | None) -> Sourced[T] | None:
    """Return a setting as the captured request gave it; None where it did not."""
    if value is None:
        return None
    origin = Origin(OriginKind.SETTING, name, f"{name}, from the captured request")
    return Sourced(value, origin)


def captured_model(name: str) -> Sourced[str]:
    """Return the model, which may be unknown."""
    origin = Origin(OriginKind.SETTING, "model", "model, from the captured request")
    return Sourced(name, origin)


def read_settings(kind: type[S], left: dict[str, Any], *, spelled: Mapping[str, str]) -> S:
    """Take the keys that a namespace has fields for out of `left`, and return the namespace.

    `spelled` gives the key of a field where it is not the field's own name.
    """
    names = [field.name for field in dataclasses.fields(kind)]  # type: ignore[arg-type]
    found = {n: left.pop(k) for n in names if (k := spelled.get(n, n)) in left}
    return kind(**found)


def read_tools(
    request: Fields, protocol: Protocol, read: Callable[[Fields], ToolDefinition | None]
) -> tuple[tuple[ToolDefinition, ...] | None, tuple[NativeTool, ...]]:
    """Take `tools` apart: the functions that `read` knows, and whatever else the protocol has."""
    if request.remaining.get("tools") is None:
        return None, ()
    tools: list[ToolDefinition] = []
    native: list[NativeTool] = []
    for position, entry in enumerate(request.take_list("tools")):
        whole = dict(entry.remaining)
        tool = read(entry)
        if tool is None:
            kind = str(whole.get("type") or whole.get("name") or "tool")
            native.append(NativeTool(protocol, position, kind, to_json(whole)))
        else:
            tools.append(tool)
    return tuple(tools), tuple(native)


def take_if_reversible(
    fields: Fields, key: str, read: Callable[[Any], T | None], write: Callable[[T], Any]
) -> T | None:
    """Return what a key means, and take it if `write` gives back its very value (rule 3)."""
    value = fields.remaining.get(key)
    if value is None:
        return None
    meaning = read(value)
    if meaning is not None and write(meaning) == value:
        del fields.remaining[key]
    return meaning


_UPPER = re.compile(r"[A-Z]")


def snake(name: str) -> str:
    """Return a camelCase name in snake_case."""
    return _UPPER.sub(lambda found: "_" + found[0].lower(), name)


_LOWER = re.compile(r"_([a-z0-9])")


def camel(name: str) -> str:
    """Return a snake_case name in camelCase."""
    return _LOWER.sub(lambda found: found[1].upper(), name)
