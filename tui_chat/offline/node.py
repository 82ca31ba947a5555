"""Reading a stranger's JSON without trusting any of it.

1. `parse` takes bytes and gives a `Node` or raises `Refused(NotJson)`: bad UTF-8, NaN, lone
   surrogates (which cannot be sent back out as UTF-8) and absurd nesting are all "not JSON",
   as they are to the real providers.
2. A `Node` is a value that knows its path, so every complaint can point at the place.
3. null counts as absent, as it does to all four providers.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from tui_chat.offline.problems import (
    Empty,
    Missing,
    NotJson,
    OutOfRange,
    Path,
    Refused,
    Rule,
    WrongType,
)

MAX_DEPTH = 200
"""Deepest nesting that is read. Real prompts and schemas stay under 50."""


@dataclass(frozen=True, slots=True)
class Node:
    """A JSON value and where it stands."""

    value: Any
    path: Path = ()

    def fields(self) -> dict[str, Any]:
        """Return the value as an object."""
        if not isinstance(cast("object", self.value), dict):
            raise Refused(WrongType(self.path, "an object", kind(self.value)))
        return cast("dict[str, Any]", self.value)

    def get(self, *names: str) -> "Node | None":
        """Return the first of these keys that is present and not null."""
        fields = self.fields()
        for name in names:
            if fields.get(name) is not None:
                return Node(fields[name], (*self.path, name))
        return None

    def need(self, *names: str) -> "Node":
        """As `get`, for a required field."""
        found = self.get(*names)
        if found is None:
            raise Refused(Missing((*self.path, names[0])))
        return found

    def items(self, *, least: int = 0) -> list["Node"]:
        """Return the value as an array."""
        if not isinstance(cast("object", self.value), list):
            raise Refused(WrongType(self.path, "an array", kind(self.value)))
        values = cast("list[Any]", self.value)
        if len(values) < least:
            raise Refused(Empty(self.path))
        return [Node(value, (*self.path, index)) for index, value in enumerate(values)]

    def text(self) -> str:
        """Return the value as a string."""
        if not isinstance(self.value, str):
            raise Refused(WrongType(self.path, "a string", kind(self.value)))
        return self.value

    def flag(self) -> bool:
        """Return the value as a boolean."""
        if not isinstance(self.value, bool):
            raise Refused(WrongType(self.path, "a boolean", kind(self.value)))
        return self.value

    def count(self, *, least: int = 1) -> int:
        """Return the value as a whole number. 5.0 is one, as in JSON schema."""
        value = self.value
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise Refused(WrongType(self.path, "an integer", kind(value)))
        if value < least:
            raise Refused(OutOfRange(self.path, least, below=True, got=value))
        return value

    def number(self, *, least: float, most: float) -> float:
        """Return the value as a number between two bounds, both allowed."""
        value = self.value
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise Refused(WrongType(self.path, "a decimal", kind(value)))
        if value < least:
            raise Refused(OutOfRange(self.path, least, below=True, got=value))
        if value > most:
            raise Refused(OutOfRange(self.path, most, below=False, got=value))
        return value

    def one_of(self, allowed: tuple[str, ...]) -> str:
        """Return the value as one of a few words."""
        word = self.text()
        if word not in allowed:
            listed = ", ".join(f"'{name}'" for name in allowed)
            raise self.broken(f"Invalid value: '{word[:80]}'. Supported values are: {listed}.")
        return word

    def broken(self, message: str, code: str | None = "invalid_value") -> Refused:
        """Return the exception for a rule of this provider that this value breaks."""
        return Refused(Rule(self.path, message, code))


def parse(body: bytes) -> Node:
    """Return the request body as a `Node` that is an object; raises `Refused`."""
    try:
        text = body.decode("utf-8")
        value: Any = json.loads(text, parse_constant=_no_constants, parse_float=_finite)
        if "\\ud" in text or "\\uD" in text:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise Refused(NotJson("no low surrogate in string")) from None
    except UnicodeDecodeError:
        raise Refused(NotJson("invalid UTF-8")) from None
    except RecursionError:
        raise Refused(NotJson("recursion limit exceeded")) from None
    except ValueError as error:
        raise Refused(NotJson(str(error)[:120])) from None
    if _too_deep(value):
        raise Refused(NotJson("recursion limit exceeded"))
    if not isinstance(value, dict):
        raise Refused(WrongType((), "an object", kind(value)))
    return Node(value)


def compact(value: object) -> str:
    """JSON on one line without spaces, non-ASCII characters as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def kind(value: object) -> str:
    """Return what sort of JSON value it is, with its article."""
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


def _no_constants(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"number out of range: {digits[:20]}")
    return number


def _too_deep(value: object) -> bool:
    level: list[object] = [value]
    for _ in range(MAX_DEPTH):
        level = [child for parent in level for child in _children(parent)]
        if not level:
            return False
    return True


def _children(value: object) -> Iterator[object]:
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
