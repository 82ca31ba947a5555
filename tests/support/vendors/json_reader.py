"""Reading a request's JSON, which may be anything, with errors that name the place.

1. `parse_body` turns bytes into a `JsonNode` or raises `RequestRefused(InvalidJson)`: bad UTF-8,
   NaN, lone surrogates (which cannot be sent back as UTF-8) and absurd nesting are not JSON, as
   for the real providers.
2. A reader is a function from a node to a value of one type. Readers combine into tables and
   nested readers: `node.required("messages", array(read_turn, at_least=1))`.
3. null counts as absent, as it does for all these providers.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar, cast, overload

from tests.support.vendors.request_errors import (
    EmptyArray,
    InvalidJson,
    InvalidValue,
    MissingField,
    NumberOutOfRange,
    Path,
    RequestRefused,
    WrongType,
)

MAX_DEPTH = 200
"""Levels of nesting that are read. Real prompts and schemas stay under 50."""

T = TypeVar("T")


@dataclass(frozen=True)
class JsonNode:
    """A JSON value and its place in the body."""

    value: Any
    path: Path = ()

    def child(self, names: str | tuple[str, ...]) -> "JsonNode | None":
        """Return the first of these keys that is present and not null."""
        fields = json_object(self)
        for name in (names,) if isinstance(names, str) else names:
            if fields.get(name) is not None:
                return JsonNode(fields[name], (*self.path, name))
        return None

    def required(self, names: str | tuple[str, ...], read: "Reader[T]") -> T:
        """Return the value of a required key, under the first of its names that is present."""
        found = self.child(names)
        if found is None:
            name = names if isinstance(names, str) else names[0]
            raise RequestRefused(MissingField((*self.path, name)))
        return read(found)

    @overload
    def optional(self, names: str | tuple[str, ...], read: "Reader[T]") -> T | None: ...
    @overload
    def optional(self, names: str | tuple[str, ...], read: "Reader[T]", default: T) -> T: ...
    def optional(
        self, names: str | tuple[str, ...], read: "Reader[T]", default: Any = None
    ) -> T | Any:
        """Return the value of an optional key, or the default."""
        found = self.child(names)
        return default if found is None else read(found)

    def other_fields(self, known: frozenset[str]) -> tuple[tuple[str, str], ...]:
        """Return name and compact JSON of every field that is not among the known ones."""
        fields = json_object(self)
        return tuple((name, compact(value)) for name, value in fields.items() if name not in known)

    def invalid(self, message: str, code: str | None = "invalid_value") -> RequestRefused:
        """Return the exception for a value that breaks a rule of this provider."""
        return RequestRefused(InvalidValue(self.path, message, code))


Reader: TypeAlias = Callable[[JsonNode], T]
"""Returns the node's value, or raises RequestRefused."""


def string(node: JsonNode) -> str:
    """Read a string."""
    if not isinstance(node.value, str):
        raise RequestRefused(WrongType(node.path, "a string", kind(node.value)))
    return node.value


def boolean(node: JsonNode) -> bool:
    """Read a boolean."""
    if not isinstance(node.value, bool):
        raise RequestRefused(WrongType(node.path, "a boolean", kind(node.value)))
    return node.value


def json_object(node: JsonNode) -> dict[str, Any]:
    """Read an object with any fields."""
    if not isinstance(cast("object", node.value), dict):
        raise RequestRefused(WrongType(node.path, "an object", kind(node.value)))
    return cast("dict[str, Any]", node.value)


def object_with(optional: Mapping[str, Reader[Any]]) -> Reader[dict[str, Any]]:
    """Read an object, checking these fields where they are present."""

    def read(node: JsonNode) -> dict[str, Any]:
        for name, read_field in optional.items():
            node.optional(name, read_field)
        return json_object(node)

    return read


def integer(minimum: int) -> Reader[int]:
    """Read a whole number of at least `minimum`. 5.0 is one, as in JSON schema."""

    def read(node: JsonNode) -> int:
        value = node.value
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise RequestRefused(WrongType(node.path, "an integer", kind(value)))
        if value < minimum:
            raise RequestRefused(NumberOutOfRange(node.path, minimum, below=True, got=value))
        return value

    return read


def number(minimum: float, maximum: float) -> Reader[float]:
    """Read a number between two bounds, both included."""

    def read(node: JsonNode) -> float:
        value = node.value
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise RequestRefused(WrongType(node.path, "a decimal", kind(value)))
        if value < minimum:
            raise RequestRefused(NumberOutOfRange(node.path, minimum, below=True, got=value))
        if value > maximum:
            raise RequestRefused(NumberOutOfRange(node.path, maximum, below=False, got=value))
        return value

    return read


def one_of(*allowed: str) -> Reader[str]:
    """Read one of these strings."""

    def read(node: JsonNode) -> str:
        word = string(node)
        if word not in allowed:
            supported = ", ".join(f"'{name}'" for name in allowed)
            raise node.invalid(f"Invalid value: '{word[:80]}'. Supported values are: {supported}.")
        return word

    return read


def matching(pattern: re.Pattern[str], message: str) -> Reader[str]:
    """Read a string that matches a pattern; `message` is the provider's error otherwise."""

    def read(node: JsonNode) -> str:
        if not pattern.fullmatch(string(node)):
            raise node.invalid(message)
        return string(node)

    return read


def array(item: Reader[T], at_least: int = 0) -> Reader[list[T]]:
    """Read an array of at least this many items."""

    def read(node: JsonNode) -> list[T]:
        if not isinstance(cast("object", node.value), list):
            raise RequestRefused(WrongType(node.path, "an array", kind(node.value)))
        values = cast("list[Any]", node.value)
        if len(values) < at_least:
            raise RequestRefused(EmptyArray(node.path))
        return [item(JsonNode(value, (*node.path, n))) for n, value in enumerate(values)]

    return read


def array_or_single(item: Reader[T]) -> Reader[list[T]]:
    """Read an array, or one item as an array of one."""

    def read(node: JsonNode) -> list[T]:
        return array(item)(node) if isinstance(node.value, list) else [item(node)]

    return read


def array_or_string(
    item: Reader[T], wrap: Callable[[str], T], at_least: int = 0
) -> Reader[list[T]]:
    """Read an array, or a string that `wrap` turns into its only item."""

    def read(node: JsonNode) -> list[T]:
        return array(item, at_least)(node) if isinstance(node.value, list) else [wrap(string(node))]

    return read


def parse_body(body: bytes) -> JsonNode:
    """Return the request body, a JSON object. Raises RequestRefused."""
    try:
        text = body.decode("utf-8")
        value: Any = json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
        if "\\ud" in text or "\\uD" in text:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise RequestRefused(InvalidJson("no low surrogate in string")) from None
    except UnicodeDecodeError:
        raise RequestRefused(InvalidJson("invalid UTF-8")) from None
    except RecursionError:
        raise RequestRefused(InvalidJson("recursion limit exceeded")) from None
    except ValueError as error:
        raise RequestRefused(InvalidJson(str(error)[:120])) from None
    if _too_deep(value):
        raise RequestRefused(InvalidJson("recursion limit exceeded"))
    node = JsonNode(value)
    json_object(node)
    return node


def compact(value: object) -> str:
    """Return JSON on one line without spaces, non-ASCII characters as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def kind(value: object) -> str:
    """Return the type of a JSON value, with its article: `an array`."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int():
            return "an integer"
        case float():
            return "a decimal"
        case str():
            return "a string"
        case list():
            return "an array"
        case _:
            return "an object"


def dotted(path: Path) -> str:
    """Return a path as OpenAI and Google write it: `messages[0].content`."""
    out = ""
    for step in path:
        out += f"[{step}]" if isinstance(step, int) else f".{step}" if out else step
    return out


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"number out of range: {digits[:20]}")
    return value


def _too_deep(value: object) -> bool:
    level: list[object] = [value]
    for _ in range(MAX_DEPTH):
        level = [child for parent in level for child in _containers(parent)]
        if not level:
            return False
    return True


def _containers(value: object) -> Iterator[object]:
    """Yield the objects and arrays directly inside an object or array."""
    inside: list[object]
    match value:
        case dict():
            inside = list(cast("dict[str, object]", value).values())
        case list():
            inside = cast("list[object]", value)
        case _:
            return
    for child in inside:
        if isinstance(child, (dict, list)):
            yield cast("object", child)
