"""Types for the fields of a value: limits in `Annotated`, and the words for them.

    temperature: Annotated[float | None, Range(0, 2)] = None

`models.typed_json` reads JSON by such types; forms and errors say what they accept (`accepts`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from tui_chat.lazy_dataclass import dataclass

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Range:
    """The limits of a number."""

    low: float | None = None
    high: float | None = None
    above: float | None = None
    """The number that it must exceed."""
    says: str | None = None
    """The limits in words, where they are not “from … to …”."""

    @property
    def words(self) -> str:
        """The limits as words after “a number”."""
        if self.says is not None:
            return self.says and f" {self.says}"
        to = "" if self.high is None else _number_words(self.high)
        if self.above is not None:
            return f" above {_number_words(self.above)}" + (to and f", at most {to}")
        start = "" if self.low is None else f" from {_number_words(self.low)}"
        return start + (to and f" to {to}")

    def contains(self, number: Any) -> bool:
        """Return True if a number is within the limits."""
        return (
            (self.low is None or number >= self.low)
            and (self.high is None or number <= self.high)
            and (self.above is None or number > self.above)
        )


@dataclass(frozen=True, slots=True)
class Validator:
    """A function that returns a value, or a better form of it. Raises ValueError with what is
    wrong, as the end of a sentence: `must be a reference`.
    """

    function: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class OneOf:
    """The words that a text may be."""

    words: tuple[str, ...]

    def __init__(self, *words: str) -> None:
        object.__setattr__(self, "words", words)


@dataclass(frozen=True, slots=True)
class Forms:
    """Other JSON forms of a value: `function` returns the usual one. Raises ValueError."""

    function: Callable[[Any], Any]
    words: tuple[str, ...] = ()
    """The words that are such forms."""
    also: str = ""
    """Any other form, in words."""


@dataclass(frozen=True, slots=True)
class Accepts:
    """A description of the accepted values, instead of the one that follows from the type."""

    words: str


@dataclass(frozen=True, slots=True)
class Key:
    """The key of a field in JSON that people write, where it is not the field's name."""

    name: str


@dataclass(frozen=True, slots=True)
class Hidden:
    """A field that JSON of people does not have."""

    value: Any = None
    """Its value then; None for the field's default."""


@dataclass(frozen=True, slots=True)
class FieldsOf:
    """An object of some fields of dataclasses, by their names: a part of a value."""

    kinds: tuple[type, ...]

    def __init__(self, *kinds: type) -> None:
        object.__setattr__(self, "kinds", kinds)


# What a type says


def split(kind: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return a type without `Annotated` and `| None`, and its limits."""
    limits: tuple[Any, ...] = ()
    while True:
        if get_origin(kind) is Annotated:
            kind, *more = get_args(kind)
            limits = (*more, *limits)
        elif (inner := _without_none(kind)) is not kind:
            kind = inner
        else:
            return kind, limits


def _without_none(kind: Any) -> Any:
    if get_origin(kind) in (Union, UnionType) and NoneType in get_args(kind):
        inner = [argument for argument in get_args(kind) if argument is not NoneType]
        return Union[tuple(inner)]  # noqa: UP007 - of types that are known only here
    return kind


def allows_none(kind: Any) -> bool:
    """Return True if a type allows None."""
    if get_origin(kind) is Annotated:
        return allows_none(get_args(kind)[0])
    return kind in (None, NoneType, Any, object) or (
        get_origin(kind) in (Union, UnionType) and any(map(allows_none, get_args(kind)))
    )


def key_of(name: str, hint: Any) -> str:
    """Return the key of a field in JSON of people."""
    key = limit_of(hint, Key)
    return name if key is None else key.name


def limit_of(kind: Any, limit: type[T]) -> T | None:
    """Return the first limit of a type that is a `limit`."""
    return next((other for other in split(kind)[1] if isinstance(other, limit)), None)


def words_of(kind: Any) -> tuple[str, ...]:
    """Return the words that a type accepts, to offer them."""
    base, limits = split(kind)
    words = [
        *(word for limit in limits if isinstance(limit, OneOf | Forms) for word in limit.words)
    ]
    if base is bool:
        words += ["on", "off"]
    elif get_origin(base) is Literal:
        words += get_args(base)
    return tuple(filter(None, words))


def accepts(kind: Any) -> str:
    """Return what a type accepts, in words."""
    base, limits = split(kind)
    form, own = limit_of(kind, Forms), limit_of(kind, Accepts)
    if own is not None:
        words = own.words
    elif (choice := limit_of(kind, OneOf)) is not None:
        words = f"one of {', '.join(filter(None, choice.words))}"
    else:
        words = _type_words(base)
    words += "".join(limit.words for limit in limits if isinstance(limit, Range))
    others = ", ".join((*form.words, *filter(None, (form.also,)))) if form else ""
    return f"{others}, or {words}" if others else words


def _type_words(kind: Any) -> str:
    origin, arguments = get_origin(kind), get_args(kind)
    if kind in TYPE_WORDS:
        return TYPE_WORDS[kind]
    if origin is Literal:
        return f"one of {', '.join(str(each) for each in arguments if each != '')}"
    if isinstance(kind, type) and issubclass(kind, Enum):
        return f"one of {', '.join(str(each.value) for each in kind)}"
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(map(accepts, arguments)))
    if isinstance(kind, type) and is_dataclass(kind):
        return f"an object with {', '.join(keys_of(kind))}"
    if origin in (tuple, list, frozenset):
        inner, _ = split(arguments[0])
        return f"a list of {_plural(inner)}".removesuffix(" of ")
    return "an object"


def _plural(kind: Any) -> str:
    if isinstance(kind, type) and is_dataclass(kind):
        return f"objects with {', '.join(keys_of(kind))}"
    return {str: "texts", int: "whole numbers"}.get(cast("Any", kind), "")


def _number_words(number: float) -> str:
    return f"{number:,}" if isinstance(number, int) else f"{number:g}"


def keys_of(kind: type) -> tuple[str, ...]:
    """Return the keys that a dataclass has in JSON of people."""
    hints = get_type_hints(kind, include_extras=True)
    visible = (own.name for own in fields(kind) if limit_of(hints[own.name], Hidden) is None)
    return tuple(key_of(name, hints[name]) for name in visible)


def snake_case(name: str) -> str:
    """Return the snake_case spelling of a key: `anchorTarget` is `anchor_target`."""
    return re.sub("(?<=[a-z])(?=[A-Z])", "_", name).lower()


def camel_case(name: str) -> str:
    """Return the camelCase spelling of a name: `anchor_target` is `anchorTarget`."""
    return re.sub("_([a-z0-9])", lambda match: match[1].upper(), name)


TYPE_WORDS: Mapping[Any, str] = {
    str: "text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    Decimal: "a number",
    bytes: "bytes",
    date: "a day (YYYY-MM-DD)",
    datetime: "a time (ISO 8601)",
    Any: "anything",
    object: "anything",
}
"""Descriptions of the values that types accept."""
