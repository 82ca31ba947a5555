"""JSON from outside read into values, and written of them, by the types of the values.

A value is declared once, as a dataclass. What its fields accept is in their types: `Literal`,
`tuple`, `X | None`, other dataclasses, and the limits of `models.field_types` in `Annotated`.
`read` makes the value of parsed JSON or TOML and names all faults with their places.

1. Types are strict: a text is no number, and a boolean none either. A whole number is a number.
2. null is None where None is allowed. Elsewhere the key is absent.
3. Keys are the names of the fields, or their `Key`, in snake_case or camelCase. An unknown key is a
   fault, or ignored.
4. A tuple of pairs may be an object. Where people may write a value in several ways (`is_lax`), a
   number or a boolean may be its text.
5. Of JSON that `json_values.pack` wrote (`is_own`) only the types are checked, since limits may
   change between versions, and its keys are the names of the fields.
6. `write` is the other way, for people: without what is hidden, None, or a default.

`json_values.unpack` reads rows of our own database faster, and checks nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, fields, is_dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from functools import cache
from types import MappingProxyType, NoneType, UnionType
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
from tui_chat.models.field_types import (
    TYPE_WORDS,
    Accepts,
    FieldsOf,
    Forms,
    Hidden,
    OneOf,
    Range,
    Validator,
    accepts,
    allows_none,
    key_of,
    limit_of,
    snake_case,
    split,
)

T = TypeVar("T")
Path = tuple[str | int, ...]
"""Steps from the root: keys and list positions."""


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


def read(kind: type[T] | Any, value: object, *, is_own: bool = False, is_lax: bool = False) -> T:
    """Return the value of type `kind` that parsed JSON is. Raises InvalidValue with all faults."""
    reader = _reader(kind, _Mode(is_own, is_lax))
    try:
        return reader(value)
    except InvalidValue:
        raise
    except ValueError as error:
        raise InvalidValue([ValueFault((), "value", str(error), value)]) from None


def read_fields(kind: type, value: object) -> dict[str, Any]:
    """Return those fields of a dataclass that an object has, by their names.

    Raises InvalidValue with all faults.
    """
    return read(Annotated[dict[str, Any], FieldsOf(kind)], value)


def write(value: object) -> Any:
    """Return a value as JSON or TOML that a person reads or writes."""
    if is_dataclass(value) and not isinstance(value, type):
        hints = get_type_hints(type(value), include_extras=True)
        return {
            key_of(field.name, hints[field.name]): write(part)
            for field in fields(value)
            if (part := getattr(value, field.name)) is not None
            and part != field.default
            and limit_of(hints[field.name], Hidden) is None
        }
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, tuple):
        return [write(part) for part in cast("tuple[object, ...]", value)]
    return value.isoformat() if isinstance(value, date) else value


# Readers: functions from JSON to a value. They raise ValueError with what is wrong with the value
# itself, and InvalidValue with what is wrong inside it.

_Reader = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class _Mode:
    is_own: bool = False
    is_lax: bool = False


@cache
def _reader(kind: Any, mode: _Mode) -> _Reader:
    """Return the function that reads a type."""
    base, limits = split(kind)
    if (part := limit_of(kind, FieldsOf)) is not None:
        return lambda value: _read_object(_shape(part.kinds, mode), value)
    if limits and not mode.is_own:
        return _limited(base, limits, accepts(kind), mode)
    if isinstance(base, type) and is_dataclass(base):
        return _object_reader(base, mode)
    if base in _SIMPLE:
        return _lax_reader(base) if mode.is_lax and base in (bool, int, float) else _SIMPLE[base]
    origin, arguments = get_origin(base), get_args(base)
    if origin is Literal:
        return _choice_reader(dict(zip(arguments, arguments, strict=True)), base)
    if isinstance(base, type) and issubclass(base, Enum):
        return _choice_reader({member.value: member for member in base}, base)
    if origin is tuple and arguments[-1:] == (Ellipsis,):
        item = _list_reader(_reader(arguments[0], mode), tuple)
        pair = get_args(arguments[0]) if get_origin(arguments[0]) is tuple else ()
        if len(pair) != 2 or Ellipsis in pair or mode.is_own:
            return item
        table = _mapping_reader(dict, pair, mode)
        return lambda value: (
            tuple(table(value).items()) if isinstance(value, Mapping) else item(value)
        )
    if origin is list or origin is frozenset:
        return _list_reader(_reader(arguments[0], mode), origin)
    if origin is tuple:
        return _pair_reader([_reader(argument, mode) for argument in arguments])
    if base is dict or origin in (dict, Mapping) or base is Mapping:
        return _mapping_reader(base, arguments, mode)
    if origin in (Union, UnionType):
        return _union_reader(base, [_reader(a, mode) for a in arguments if a is not NoneType])
    raise TypeError(f"JSON cannot be read as {kind}")


def _limited(base: Any, limits: tuple[Any, ...], words: str, mode: _Mode) -> _Reader:
    """Return the reader of a type with limits, which hold in the order in which they stand."""
    inner = _reader(base, mode)
    forms = [limit.function for limit in limits if isinstance(limit, Forms)]
    ranges = [limit for limit in limits if isinstance(limit, Range)]
    checks = [limit.function for limit in limits if isinstance(limit, Validator)]
    choices = [limit.words for limit in limits if isinstance(limit, OneOf)]
    has_words = any(isinstance(limit, Range | OneOf | Accepts | Forms) for limit in limits)

    def read(value: Any) -> Any:
        for function in forms:
            value = function(value)
        if value is None:  # a form of nothing
            return None
        try:
            result = inner(value)
        except InvalidValue:
            raise
        except ValueError:
            if has_words:
                raise ValueError(f"must be {words}") from None
            raise
        is_within = all(number_range.contains(result) for number_range in ranges)
        if not is_within or not all(result in allowed for allowed in choices):
            raise ValueError(f"must be {words}")
        for function in checks:
            result = function(result)
        return result

    return read


def _simple(accepted: tuple[type, ...], words: str) -> _Reader:
    def read(value: Any) -> Any:
        if type(value) in accepted:
            return value
        raise ValueError(f"must be {words}")

    return read


def _lax_reader(kind: type) -> _Reader:
    """Return a reader of numbers or booleans that takes their texts, too."""
    reader = _SIMPLE[kind]

    def read(value: Any) -> Any:
        if kind is bool and isinstance(value, str | int):
            value = _SWITCHES.get(str(value).lower(), value)
        elif isinstance(value, str):
            with suppress(ValueError):
                value = float(value) if kind is float else int(value)
        elif kind is int and isinstance(value, float) and value.is_integer():
            value = int(value)
        return reader(value)

    return read


_SWITCHES = {
    **dict.fromkeys(("true", "yes", "on", "1", "t", "y"), True),
    **dict.fromkeys(("false", "no", "off", "0", "f", "n"), False),
}


def _decimal(value: Any) -> Decimal:
    """Read a price: a number, as text in JSON of our own."""
    if type(value) in (int, float, str, Decimal):
        try:
            number = Decimal(str(value))
        except ArithmeticError:
            pass
        else:
            if number.is_finite():
                return number
    raise ValueError("must be a number")


def _time_reader(kind: type[date], words: str) -> _Reader:
    def read(value: Any) -> Any:
        if type(value) is kind:
            return value
        try:
            return kind.fromisoformat(value)
        except (TypeError, ValueError):
            raise ValueError(f"must be {words}") from None

    return read


def _anything(value: Any) -> Any:
    return value


_SIMPLE: Mapping[Any, _Reader] = {
    **{kind: _simple((kind,), TYPE_WORDS[kind]) for kind in (str, bool, int, bytes)},
    float: _simple((float, int), TYPE_WORDS[float]),
    Decimal: _decimal,
    **{kind: _time_reader(kind, TYPE_WORDS[kind]) for kind in (date, datetime)},
    Any: _anything,
    object: _anything,
}


def _choice_reader(choices: Mapping[Any, Any], kind: Any) -> _Reader:
    def read(value: Any) -> Any:
        if isinstance(value, str | int) and value in choices:
            return choices[value]
        raise ValueError(f"must be {accepts(kind)}")

    return read


def _list_reader(item: _Reader, make: Callable[[Any], Any]) -> _Reader:
    def read(value: Any) -> Any:
        faults: list[ValueFault] = []
        items = [_inner(item, part, index, faults) for index, part in enumerate(_sequence(value))]
        if faults:
            raise InvalidValue(faults)
        return make(items)

    return read


def _pair_reader(items: list[_Reader]) -> _Reader:
    def read(value: Any) -> Any:
        values = _sequence(value)
        if len(values) != len(items):
            raise ValueError(f"must be a list of {len(items)}")
        faults: list[ValueFault] = []
        pairs = enumerate(zip(items, values, strict=True))
        results = tuple(_inner(item, part, index, faults) for index, (item, part) in pairs)
        if faults:
            raise InvalidValue(faults)
        return results

    return read


def _sequence(value: Any) -> Sequence[Any]:
    if isinstance(value, list | tuple):
        return cast("Sequence[Any]", value)
    raise ValueError("must be a list")


def _object(value: Any) -> Mapping[str, Any]:
    if isinstance(value, Mapping):  # keys are texts in JSON and TOML
        return cast("Mapping[str, Any]", value)
    raise ValueError("must be an object")


def _mapping_reader(kind: Any, arguments: tuple[Any, ...], mode: _Mode) -> _Reader:
    key_kind, item_kind = arguments or (str, Any)
    key, item = _reader(key_kind, mode), _reader(item_kind, mode)
    is_frozen = (get_origin(kind) or kind) is Mapping and not mode.is_own

    def read(value: Any) -> Any:
        faults: list[ValueFault] = []
        items: dict[Any, Any] = {}
        for name, inner_value in _object(value).items():
            items[_inner(key, name, name, faults)] = _inner(item, inner_value, name, faults)
        if faults:
            raise InvalidValue(faults)
        return MappingProxyType(items) if is_frozen else items

    return read


def _union_reader(kind: Any, choices: list[_Reader]) -> _Reader:
    def read(value: Any) -> Any:
        for choice in choices:
            try:
                return choice(value)
            except ValueError:
                continue
        raise ValueError(f"must be {accepts(kind)}")

    return read


def _inner(reader: _Reader, value: Any, step: str | int, faults: list[ValueFault]) -> Any:
    """Return a value inside of another one; None if it is not accepted, with its faults added."""
    try:
        return reader(value)
    except ValueError as error:
        faults += _faults_within(step, value, error)
        return None


def _faults_within(step: str | int, value: Any, error: ValueError) -> list[ValueFault]:
    """Return the faults of a value inside of another one."""
    if not isinstance(error, InvalidValue):
        return [ValueFault((step,), "value", str(error), value)]
    return [replace(fault, path=(step, *fault.path)) for fault in error.faults]


# Objects


@dataclass(frozen=True, slots=True)
class _Shape:
    """The rules for reading the object of a dataclass."""

    readers: Mapping[str, tuple[str, _Reader, bool]]
    """By key: the field, its reader, and True if it may be None."""
    required: tuple[tuple[str, str], ...]
    """The keys and names of fields without a default."""
    hidden: Mapping[str, Any]
    """The values of hidden fields that are not their defaults."""
    is_open: bool
    """True if unknown keys are ignored."""


@cache
def _shape(kinds: tuple[type, ...], mode: _Mode) -> _Shape:
    readers: dict[str, tuple[str, _Reader, bool]] = {}
    required: list[tuple[str, str]] = []
    hidden: dict[str, Any] = {}
    for kind in kinds:
        hints = get_type_hints(kind, include_extras=True)
        for field in fields(kind):
            hint = hints[field.name]
            if not mode.is_own and (hidden_default := limit_of(hint, Hidden)) is not None:
                if hidden_default.value is not None:
                    hidden[field.name] = hidden_default.value
                continue
            key = field.name if mode.is_own else key_of(field.name, hint)
            readers[key] = (field.name, _lazily(hint, mode), allows_none(hint))
            if field.default is MISSING and field.default_factory is MISSING:
                required.append((key, field.name))
    return _Shape(readers, tuple(required), hidden, mode.is_own)


def _lazily(kind: Any, mode: _Mode) -> _Reader:
    """Return a reader that is made when it is first called: most fields are rarely set."""
    base, limits = split(kind)
    if base in _SIMPLE and (mode.is_own or not (limits or mode.is_lax)):
        return _SIMPLE[base]
    reader: _Reader | None = None

    def read(value: Any) -> Any:
        nonlocal reader
        if reader is None:
            reader = _reader(kind, mode)
        return reader(value)

    return read


def _object_reader(kind: type, mode: _Mode) -> _Reader:
    def read(value: Any) -> Any:
        if isinstance(value, kind):  # a form of it
            return value
        shape = _shape((kind,), mode)
        values = _read_object(shape, value)
        missing = [key for key, name in shape.required if name not in values]
        if missing:
            raise InvalidValue([ValueFault((key,), "missing", "is missing") for key in missing])
        return kind(**shape.hidden, **values)

    return read


def _read_object(shape: _Shape, value: Any) -> dict[str, Any]:
    """Return the fields of an object by their names."""
    faults: list[ValueFault] = []
    values: dict[str, Any] = {}
    for key, field_value in _object(value).items():
        field = shape.readers.get(key)
        if field is None and not shape.is_open:
            field = shape.readers.get(snake_case(key))
            if field is None:
                keys = ", ".join(shape.readers)
                faults.append(
                    ValueFault((key,), "unknown", f"is unknown; known are {keys}", field_value)
                )
        if field is None:
            continue
        if field[0] in values:
            faults.append(ValueFault((key,), "value", "is set twice", field_value))
            continue
        name, reader, may_be_none = field
        if field_value is None and not may_be_none:
            continue
        try:  # as in `_inner`, a call less
            values[name] = None if field_value is None else reader(field_value)
        except ValueError as error:
            faults += _faults_within(key, field_value, error)
    if faults:
        raise InvalidValue(faults)
    return values
