"""Frozen values to JSON text and back, driven by their types.

Semantics grow a field whenever a protocol does. Written out by hand, a forgotten field would
be lost in silence; here the dataclass is the only description, so a new field is stored from
the moment it exists. Fields at their default are left out, and what is left out is read as
its default, which is also how older rows get newer fields. Keys that are unknown are ignored.

Understood: dataclasses, enums, times, days, decimal numbers (as text), `tuple[X, ...]`,
`frozenset[str]`, optional values, and whatever JSON knows.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from enum import Enum
from functools import cache
from types import UnionType
from typing import Any, Union, cast, get_args, get_origin, get_type_hints


def pack(value: object) -> str:
    """Return the value as JSON text."""
    return json.dumps(plain(value), ensure_ascii=False, separators=(",", ":"))


def unpack(kind: Any, text: str) -> Any:
    """Return the value of type `kind` that `pack` wrote; ValueError or TypeError if it did not."""
    return _reader(kind)(json.loads(text))


def plain(value: object) -> Any:
    """Return the value as plain JSON."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: plain(part)
            for field in dataclasses.fields(value)
            if (part := getattr(value, field.name)) != _default(field)
        }
    if isinstance(value, (tuple, list)):
        return [plain(part) for part in cast("list[object]", value)]
    if isinstance(value, Mapping):
        return {key: plain(part) for key, part in cast("Mapping[str, object]", value).items()}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, frozenset):
        return sorted(cast("frozenset[str]", value))
    return value


def _default(field: dataclasses.Field[Any]) -> object:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


@cache
def _reader(kind: Any) -> Callable[[Any], Any]:
    """Return the function that makes a `kind` of plain JSON."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is tuple and arguments[-1] is Ellipsis:
        item = _reader(arguments[0])
        return lambda plain: tuple(map(item, plain))
    if origin is tuple:
        items = [_reader(argument) for argument in arguments]
        return lambda plain: tuple(read(part) for read, part in zip(items, plain, strict=True))
    if origin in (Union, UnionType):
        kinds = [argument for argument in arguments if argument is not type(None)]
        if len(kinds) != 1:
            return _as_it_is(kind, kinds)
        some = _reader(kinds[0])
        return lambda plain: None if plain is None else some(plain)
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        return _dataclass_reader(kind)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind
    if kind in (date, datetime):
        return kind.fromisoformat
    if kind is Decimal:
        return _decimal
    if origin is frozenset:
        return frozenset
    return _same


def _dataclass_reader(kind: type) -> Callable[[Any], Any]:
    readers: dict[str, Callable[[Any], Any]] = {}

    def read(plain: dict[str, Any]) -> Any:
        if not readers:  # a value may contain values of its own type
            readers.update((name, _reader(hint)) for name, hint in get_type_hints(kind).items())
        return kind(**{key: readers[key](part) for key, part in plain.items() if key in readers})

    return read


def _as_it_is(kind: Any, choices: list[Any]) -> Callable[[Any], Any]:
    """Read a union of plain JSON types; any other does not say which of its types was meant."""
    if any(_reader(choice) is not _same for choice in choices):
        raise TypeError(f"a stored value of type {kind} cannot be told apart when read")
    return _same


def _decimal(plain: Any) -> Decimal:
    try:
        return Decimal(str(plain))
    except InvalidOperation:
        raise ValueError("not a number") from None


def _same(plain: Any) -> Any:
    return plain
