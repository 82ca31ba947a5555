"""Values read from JSON, TOML and rows of the database, and written as such, by pydantic.

A value is declared once, as a frozen dataclass. What its fields accept is in their types, with the
constraints of this module in `Annotated`:

    temperature: Annotated[float | None, Range(0, 2)] = None

1. `read` makes a value of parsed JSON or TOML that people write, and names all faults with their
   places. Keys are in snake_case or camelCase; an unknown key is a fault. A number or a boolean may
   be its text.
2. `pack` and `unpack` write and read our own rows: without defaults, and without limits, which
   change between versions. Unknown keys are ignored. Both raise ValueError for what is no such row.
3. `accepts` says in words what a type accepts, for help, completion, forms and errors.

Importing pydantic takes 0.05 s, and its first adapter as long: it is loaded when a value is first
read or written, and not with this module.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    Optional,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from tui_chat.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, TypeAdapter, ValidationError
    from pydantic_core.core_schema import CoreSchema, ValidationInfo

T = TypeVar("T")
Path = tuple[str | int, ...]
"""Steps from the root: keys and list positions."""
_KEYS = {"starts": "from", "passed": "pass"}
"""The keys of fields whose names would be words of Python."""
_NOT_ACCEPTED = ""
"""A fault that says what the type accepts."""
_OWN = "own"
"""The context in which a row of the database is read."""


# Constraints


class Constraint:
    """What `Annotated` says of a type to pydantic, which is imported when it asks for it."""

    def check(self, value: Any, inner: Callable[[Any], Any], is_own: bool) -> Any:
        """Return the value that is read; `inner` reads it by the type alone. `is_own`: it is of a
        row of ours. Raises ValueError with what is wrong, as the end of a sentence.
        """
        return inner(value)

    def schema(self, source: Any, handler: GetCoreSchemaHandler, core: Any) -> CoreSchema:
        """Return the schema of a type with the constraint; `core` is pydantic's `core_schema`."""

        def check(value: Any, inner: Callable[[Any], Any], info: ValidationInfo) -> Any:
            return self.check(value, inner, info.context == _OWN)

        return core.with_info_wrap_validator_function(check, handler(source))

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        from pydantic_core import core_schema

        return self.schema(source, handler, core_schema)


@dataclass(frozen=True, slots=True)
class Range(Constraint):
    """The limits of a number. A whole number stays one where the type is `float`."""

    low: float | None = None
    high: float | None = None
    above: float | None = None
    """The number that it must exceed."""

    @property
    def words(self) -> str:
        """The limits as words after “a number”."""
        low, high = _number_words(self.low), _number_words(self.high)
        if self.above is not None:
            return f" above {_number_words(self.above)}" + (high and f", at most {high}")
        return (low and f" from {low}") + (high and f" to {high}")

    def contains(self, number: Any) -> bool:
        """Return True if a number is within the limits."""
        return (
            (self.low is None or number >= self.low)
            and (self.high is None or number <= self.high)
            and (self.above is None or number > self.above)
        )

    def check(self, value: Any, inner: Callable[[Any], Any], is_own: bool) -> Any:
        if (number := inner(value)) is None:
            return None
        if isinstance(value, bool) or not (is_own or self.contains(number)):
            raise ValueError(_NOT_ACCEPTED)
        return value if isinstance(value, int) and isinstance(number, float) else number


@dataclass(frozen=True, slots=True)
class OneOf(Constraint):
    """The words that a text may be."""

    words: tuple[str, ...]

    def __init__(self, *words: str) -> None:
        object.__setattr__(self, "words", words)

    def check(self, value: Any, inner: Callable[[Any], Any], is_own: bool) -> Any:
        word = inner(value)
        if not is_own and word is not None and word not in self.words:
            raise ValueError(_NOT_ACCEPTED)
        return word


@dataclass(frozen=True, slots=True)
class Check(Constraint):
    """A function that returns a value, or a better form of it. Raises ValueError with what is
    wrong, as the end of a sentence: `must be a reference`. Rows of ours are not checked.
    """

    function: Callable[[Any], Any]

    def check(self, value: Any, inner: Callable[[Any], Any], is_own: bool) -> Any:
        result = inner(value)
        return result if result is None or is_own else self.function(result)


@dataclass(frozen=True, slots=True)
class Forms(Constraint):
    """Other JSON forms of a value: `function` returns the usual one. Raises ValueError."""

    function: Callable[[Any], Any]
    words: tuple[str, ...] = ()
    """The words that are such forms."""
    also: str = ""
    """Any other form, in words."""

    def check(self, value: Any, inner: Callable[[Any], Any], is_own: bool) -> Any:
        try:
            value = self.function(value)
        except ValueError:
            if not is_own:  # else it is the usual form already
                raise
        return inner(value)


@dataclass(frozen=True, slots=True)
class Hidden(Constraint):
    """A field that rows of ours have, and what people write has not."""

    def check(self, value: Any, inner: Callable[[Any], Any], is_own: bool) -> Any:
        if not is_own:
            raise ValueError("is unknown")
        return inner(value)


@dataclass(frozen=True, slots=True)
class AsTable(Constraint):
    """A tuple of pairs that people write as an object."""

    def schema(self, source: Any, handler: GetCoreSchemaHandler, core: Any) -> CoreSchema:
        def pairs(value: Any) -> Any:
            if not isinstance(value, Mapping):
                return value
            return tuple(_adapter(dict[key, item], False).validate_python(value).items())

        key, item = get_args(get_args(source)[0])
        return core.no_info_before_validator_function(pairs, handler(source))


@dataclass(frozen=True, slots=True)
class ByKind(Constraint):
    """A union of dataclasses, each with its name in the class variable `kind`, which is a key of
    the JSON.
    """

    def schema(self, source: Any, handler: GetCoreSchemaHandler, core: Any) -> CoreSchema:
        def branch_of(value: Any) -> str:
            if isinstance(value, Mapping):
                return f"kind[{cast('Mapping[str, Any]', value).get('kind')}]"
            return f"kind[{getattr(value, 'kind', None)}]"

        def with_kind(value: Any, inner: Callable[[Any], Any]) -> Any:
            return {"kind": value.kind, **inner(value)}

        return core.tagged_union_schema(
            {f"kind[{each.kind}]": handler.generate_schema(each) for each in get_args(source)},
            discriminator=branch_of,
            serialization=core.wrap_serializer_function_ser_schema(with_kind),
        )


@dataclass(frozen=True, slots=True)
class Accepts:
    """A description of the accepted values, instead of the one that follows from the type."""

    words: str


@dataclass(frozen=True, slots=True)
class FieldsOf(Constraint):
    """An object of some fields of dataclasses, by their names: a part of a value."""

    kinds: tuple[type, ...]
    keys: tuple[tuple[str, str], ...] = ()
    """Fields that have another key."""

    def __init__(self, *kinds: type, keys: tuple[tuple[str, str], ...] = ()) -> None:
        object.__setattr__(self, "kinds", kinds)
        object.__setattr__(self, "keys", keys)

    @property
    def hints(self) -> dict[str, Any]:
        """The types of the keys that people may write."""
        names = dict(self.keys)
        return {
            names.get(name, name): hint
            for kind in self.kinds
            for name, hint in hints_of(kind).items()
            if limit_of(hint, Hidden) is None
        }

    def schema(self, source: Any, handler: GetCoreSchemaHandler, core: Any) -> CoreSchema:
        from typing_extensions import TypedDict

        names = {key: name for name, key in self.keys}

        def by_field(value: dict[str, Any]) -> dict[str, Any]:
            return {names.get(key, key): part for key, part in value.items()}

        fields_given = TypedDict("Fields", self.hints, total=False)  # type: ignore[operator]
        schema = handler.generate_schema(fields_given)
        return core.no_info_after_validator_function(by_field, schema)


# Faults


@dataclass(frozen=True, slots=True)
class ValueFault:
    """A value that is not accepted."""

    path: Path
    kind: Literal["value", "missing", "unknown"]
    sentence: str
    """The fault, as the end of a sentence that begins with the place: `must be text`."""
    value: object = None
    """The rejected value. It may be a secret."""


class InvalidValue(ValueError):
    """JSON is not what a type says; `faults` has at least one."""

    def __init__(self, faults: list[ValueFault]) -> None:
        super().__init__(faults[0].sentence)
        self.faults = faults


_SAID = ("value_error", "assertion_error")
"""Errors of our own checks, which say what is wrong."""
_BRANCHES = {"str", "int", "float", "bool", "none", "list", "dict", "tuple"}


def _is_branch(step: str | int) -> bool:
    """Return True for a step that pydantic adds: a function, or a branch of a union."""
    return isinstance(step, str) and (
        step in _BRANCHES or step == "[key]" or re.match(r"(function-|literal\[|\w+\[)", step)
    ) is not None  # fmt: skip


def _faults(kind: Any, error: ValidationError) -> list[ValueFault]:
    """Return the faults of a value in our words; of a union's branches, one that speaks for all."""
    faults: dict[Path, ValueFault] = {}
    for each in error.errors(include_url=False):
        path = tuple(step for step in each["loc"] if not _is_branch(step))
        is_whole = not path and _is_object(kind)
        sentence = f"must be {'an object' if is_whole else accepts(_kind_at(kind, path))}"
        name, value = each["type"], each["input"]
        if path in faults:
            fault = ValueFault(path, "value", sentence, faults[path].value)
        elif name in ("unexpected_keyword_argument", "extra_forbidden"):
            known = ", ".join(keys_of(_kind_at(kind, path[:-1])))
            fault = ValueFault(path, "unknown", f"is unknown; known are {known}", value)
        elif "missing" in name:
            is_missing = name in ("missing", "missing_argument")
            fault = ValueFault(path, "missing", "is missing" if is_missing else sentence, value)
        elif name == "recursion_loop":
            fault = ValueFault(path, "value", "is nested too deeply", value)
        else:
            said = str(each.get("ctx", {}).get("error", "")) if name in _SAID else ""
            fault = ValueFault(path, "value", said or sentence, value)
        faults[path] = fault
    return list(faults.values())


# Reading and writing


def read(kind: type[T] | Any, value: object) -> T:
    """Return the value of type `kind` that parsed JSON or TOML is. Raises InvalidValue with all
    faults.
    """
    return _read(kind, value, None)


def read_fields(kind: type, value: object) -> dict[str, Any]:
    """Return those fields of a dataclass that an object has. Raises InvalidValue."""
    return read(Annotated[dict[str, Any], FieldsOf(kind)], value)


def read_own(kind: type[T] | Any, value: object) -> T:
    """Return the value of plain JSON that `plain` made. Raises InvalidValue."""
    return _read(kind, value, _OWN)


def _read(kind: Any, value: object, context: str | None) -> Any:
    from pydantic import ValidationError

    if value is None and _is_object(kind):
        raise InvalidValue([ValueFault((), "value", "must be an object")])
    try:
        return _adapter(kind, context == _OWN).validate_python(value, context=context)
    except ValidationError as error:
        faults = _faults(kind, error)
    raise InvalidValue(faults)


def unpack(kind: Any, text: str) -> Any:
    """Return the value of type `kind` that `pack` wrote. Raises ValueError if it did not."""
    value = _adapter(kind, True).validate_json(text, context=_OWN)
    if value is None and _is_object(kind):
        raise ValueError("is null")
    return value


def pack(value: object, kind: Any = None) -> str:
    """Return the value as JSON text, without what is a default; see `plain`."""
    return json.dumps(plain(value, kind), ensure_ascii=False, separators=(",", ":"))


def plain(value: object, kind: Any = None) -> Any:
    """Return the value as plain JSON, without what is a default. `kind`: its type, where that of
    the value does not say it.
    """
    if kind is not None or (is_dataclass(value) and not isinstance(value, type)):
        adapter = _adapter(kind or type(value), True)
        return adapter.dump_python(
            value, mode="json", exclude_defaults=True, warnings=False, fallback=dict
        )
    if isinstance(value, tuple | list):
        return [plain(part) for part in cast("list[object]", value)]
    if isinstance(value, Mapping):
        return {key: plain(part) for key, part in cast("Mapping[str, object]", value).items()}
    if isinstance(value, frozenset):
        return sorted(cast("frozenset[str]", value))
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    return value.value if isinstance(value, Enum) else value


def write(value: Any) -> Any:
    """Return a dataclass as JSON or TOML that a person reads or writes, with numbers for prices."""
    dumped = _adapter(cast("type[Any]", type(value)), False).dump_python(
        value, exclude_defaults=True, exclude_none=True, by_alias=True, warnings=False
    )
    return _for_people(dumped)


def _for_people(value: Any) -> Any:
    if isinstance(value, Mapping):
        items = cast("Mapping[str, Any]", value).items()
        return {key: _for_people(part) for key, part in items}
    if isinstance(value, tuple | list):
        return [_for_people(part) for part in cast("list[Any]", value)]
    return float(value) if isinstance(value, Decimal) else plain(value)


@cache
def _adapter(kind: Any, is_own: bool) -> TypeAdapter[Any]:
    """Return the reader and writer of a type, of our rows or of what people write."""
    from pydantic import AliasChoices, AliasGenerator, ConfigDict, TypeAdapter

    def spellings(name: str) -> AliasChoices:
        key = _KEYS.get(name, name)
        return AliasChoices(key, *({camel_case(key), name} - {key}))

    names = AliasGenerator(
        validation_alias=spellings, serialization_alias=lambda name: _KEYS.get(name, name)
    )
    config = ConfigDict(
        extra="ignore" if is_own else "forbid",
        alias_generator=None if is_own else names,
        allow_inf_nan=False,
        arbitrary_types_allowed=True,
    )
    # A dataclass alone would not take the configuration, which its fields' types take over.
    wrapped: Any = Optional[kind] if _is_object(kind) else kind  # noqa: UP045
    return TypeAdapter(wrapped, config=config)


def _is_object(kind: Any) -> bool:
    """Return True for a dataclass that may not be None."""
    base, _ = split(kind)
    return isinstance(base, type) and is_dataclass(base) and not allows_none(kind)


# What a type says


@cache
def hints_of(kind: type) -> Mapping[str, Any]:
    """Return the types of the fields of a dataclass, with their constraints."""
    hints = get_type_hints(kind, include_extras=True)
    return {field.name: hints[field.name] for field in fields(kind)}


def split(kind: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return a type without `Annotated` and `| None`, and its constraints."""
    limits: tuple[Any, ...] = ()
    while True:
        if get_origin(kind) is Annotated:
            kind, *more = get_args(kind)
            limits = (*more, *limits)
        elif get_origin(kind) in (Union, UnionType) and NoneType in get_args(kind):
            kind = Union[tuple(each for each in get_args(kind) if each is not NoneType)]  # noqa: UP007
        else:
            return kind, limits


def allows_none(kind: Any) -> bool:
    """Return True if a type allows None."""
    if get_origin(kind) is Annotated:
        return allows_none(get_args(kind)[0])
    return kind in (None, NoneType, Any, object) or (
        get_origin(kind) in (Union, UnionType) and any(map(allows_none, get_args(kind)))
    )


def limit_of(kind: Any, limit: type[T]) -> T | None:
    """Return the first constraint of a type that is a `limit`."""
    return next((other for other in split(kind)[1] if isinstance(other, limit)), None)


def _kind_at(kind: Any, path: Path) -> Any:
    """Return the type of what is at a path; `Any` where that is not known."""
    for step in path:
        base, _ = split(kind)
        if (part := limit_of(kind, FieldsOf)) is not None:
            kind = _field(part.hints, step)
        elif isinstance(base, type) and is_dataclass(base):
            kind = _field(hints_of(base), step)
        elif limit_of(kind, ByKind) is not None:
            fields_of = (_field(hints_of(each), step) for each in get_args(base))
            kind = next((each for each in fields_of if each is not Any), Any)
        elif limit_of(kind, AsTable) is not None:
            kind = get_args(get_args(base)[0])[1]
        elif get_origin(base) in (tuple, list, frozenset):
            kind = get_args(base)[0]
        elif get_origin(base) in (dict, Mapping):
            kind = get_args(base)[1]
        else:
            return Any
    return kind


def _field(hints: Mapping[str, Any], key: str | int) -> Any:
    names = {_KEYS.get(name, name): name for name in hints}
    return hints.get(names.get(snake_case(str(key)), ""), Any)


def words_of(kind: Any) -> tuple[str, ...]:
    """Return the words that a type accepts, to offer them."""
    base, limits = split(kind)
    words = [word for limit in limits if isinstance(limit, OneOf | Forms) for word in limit.words]
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
    if kind in _TYPE_WORDS:
        return _TYPE_WORDS[kind]
    if origin is Literal:
        return f"one of {', '.join(str(each) for each in arguments if each != '')}"
    if isinstance(kind, type) and issubclass(kind, Enum):
        return f"one of {', '.join(str(each.value) for each in kind)}"
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(map(accepts, arguments)))
    if origin in (tuple, list, frozenset):
        inner, _ = split(arguments[0])
        if isinstance(inner, type) and is_dataclass(inner):
            return "a list of objects"
        names = {str: " of texts", int: " of whole numbers"}
        return f"a list{names.get(cast('Any', inner), '')}"
    return "an object"


def _number_words(limit: float | None) -> str:
    """Return a limit in words; empty for none, or for that of numbers in JavaScript."""
    if limit is None or abs(limit) >= 2**53 - 1:
        return ""
    return f"{limit:,}" if isinstance(limit, int) else f"{limit:g}"


def keys_of(kind: Any) -> tuple[str, ...]:
    """Return the keys that people write for a dataclass, or for a part of one."""
    base, _ = split(kind)
    part = limit_of(kind, FieldsOf) or FieldsOf(*((base,) if _is_object(base) else ()))
    return tuple(_KEYS.get(name, name) for name in part.hints)


def snake_case(name: str) -> str:
    """Return the snake_case spelling of a key: `anchorTarget` is `anchor_target`."""
    return re.sub("(?<=[a-z])(?=[A-Z])", "_", name).lower()


def camel_case(name: str) -> str:
    """Return the camelCase spelling of a name: `anchor_target` is `anchorTarget`."""
    return re.sub("_([a-z0-9])", lambda match: match[1].upper(), name)


_TYPE_WORDS: Mapping[Any, str] = {
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
