"""The settings of a protocol as rows of one table, which reads and writes them.

1. A row is one way in which a protocol says a setting. Of several rows of one setting the first one
   that gives a value is read, and each that has a form for the value writes.
2. Objects are merged: `thinking.type` and `thinking.display` are two rows.
3. A table need not give back what it read. What differs is in the rest of the request, and a
   `Change` of it holds only while the setting has the value that was read.
4. The limits of a row are the protocol's. What a model refuses is in its facts, and is fitting.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from math import inf
from typing import Any, TypeAlias, cast

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import Json, JsonObject, same_json
from tui_chat.models.envelope import Parameters, RequestSettings
from tui_chat.models.text import Origin
from tui_chat.protocols.common.trees import captured_origin, labelled


def as_it_is(value: Any) -> Json:
    """Write a value unchanged."""
    return list(cast("tuple[Json, ...]", value)) if isinstance(value, tuple) else value


def never(value: Any) -> Json:
    """Write nothing: another row of the setting does."""
    return None


def unread(value: Json) -> None:
    """Read nothing: another row of the setting does."""


@dataclass(frozen=True, slots=True)
class Row:
    """One way in which a protocol says a setting."""

    setting: str
    """The field of `RequestSettings`."""
    path: tuple[str, ...]
    """The keys in the body that lead to it."""
    read: Callable[[Json], Any]
    """Returns the value that JSON means; None if it means none."""
    write: Callable[[Any], Json] = as_it_is
    """Returns the JSON of a value; None if this row has no form for it."""
    low: float = -inf
    high: float = inf
    """The range that the protocol accepts."""
    is_sampling: bool = False
    """True if models may refuse it."""
    is_alternative: bool = False
    """True if it is one of several keys of its setting, of which one is sent."""
    beside: tuple[str, Json] | None = None
    """A key beside it and the value that this must have, else it means nothing."""

    @property
    def key(self) -> str:
        """The path as a word, for sentences: `thinking.display`."""
        return ".".join(self.path)


Table: TypeAlias = Sequence[Row]

# --- what JSON means ---------------------------------------------------------------------


def positive(number: int) -> Json:
    """Write a number; nothing for 0."""
    return number or None


def when_on(value: bool) -> Json:
    """Write true; nothing for false."""
    return value or None


def number(value: Json) -> float | None:
    """Read a number."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def integer(value: Json) -> int | None:
    """Read a whole number."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def count(value: Json) -> int | None:
    """Read a whole number that is not negative."""
    whole = integer(value)
    return whole if whole is not None and whole >= 0 else None


def boolean(value: Json) -> bool | None:
    """Read true or false."""
    return value if isinstance(value, bool) else None


def text(value: Json) -> str | None:
    """Read a string that is not empty."""
    return value if isinstance(value, str) and value else None


def texts(value: Json) -> tuple[str, ...] | None:
    """Read a list of strings that is not empty, or one string."""
    if isinstance(value, str) and value:
        return (value,)
    items = cast("list[Json]", value) if isinstance(value, list) else []
    return tuple(items) if items and all(isinstance(item, str) for item in items) else None


def words(
    meanings: Mapping[str, Any],
) -> tuple[Callable[[Json], Any], Callable[[Any], Json]]:
    """Return the reader and the writer of a setting that has one word for each value."""
    back = {value: word for word, value in meanings.items()}
    return (lambda word: meanings.get(word) if isinstance(word, str) else None), back.get


# --- reading and writing -----------------------------------------------------------------


def read_settings(body: Mapping[str, Json], table: Table) -> Parameters:
    """Return the settings of a body. The origin of each names the key that it was read from."""
    values: dict[str, Any] = {}
    origins: dict[str, Origin] = {}
    for row in table:
        if row.setting in values or (raw := _at(body, row.path)) is None:
            continue
        if row.beside is not None:
            key, wanted = row.beside
            if not same_json(_at(body, (*row.path[:-1], key)), wanted):
                continue
        if (value := row.read(raw)) is not None:
            values[row.setting] = value
            origins[row.setting] = captured_origin(row.key)
    return Parameters(RequestSettings(**values), origins)


def _at(body: Json, path: Sequence[str]) -> Json:
    for step in path:
        body = cast("JsonObject", body).get(step) if isinstance(body, dict) else None
    return body


def write_settings(parameters: Parameters, table: Table, skip: Container[str] = ()) -> JsonObject:
    """Return the keys of a body for settings, each with the origin of its setting. `skip` are keys
    of rows that are not written.
    """
    body: JsonObject = {}
    rows = [row for row in table if row.key not in skip]
    for row in rows:
        value, origin = getattr(parameters.values, row.setting), parameters.origin(row.setting)
        # Of several keys it is the one that a captured request has it under, else the first.
        keys = [each.key for each in rows if each.setting == row.setting and each.is_alternative]
        is_sent = not keys or row.key == (origin.id if origin.id in keys else keys[0])
        if not is_sent or value is None or value == ():
            continue
        if (raw := row.write(value)) is not None:
            holder = body
            for step in row.path[:-1]:
                holder = holder.setdefault(step, {})
            _put(holder, row.path[-1], labelled(raw, origin=origin))
    return body


def _put(holder: JsonObject, key: str, value: Json) -> None:
    """Put a value under a key, an object into the object there. The first row wins."""
    there = holder.get(key)
    if key not in holder:
        holder[key] = value
    elif isinstance(value, dict) and isinstance(there, dict):
        for inner, each in cast("JsonObject", value).items():
            _put(cast("JsonObject", there), inner, each)
