"""The tables of a protocol's settings that are one value under one key.

By its table a setting is read from a captured request. A value of another
type than the table says stays where it is, and so does a second key of the same parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from tui_chat.lazy_dataclass import dataclass
from tui_chat.protocols.common.decoding import sourced
from tui_chat.protocols.common.request_fields import Fields

NUMBER = Fields.take_number
INTEGER = Fields.take_integer
BOOLEAN = Fields.take_boolean
TEXT = Fields.take_text
TEXTS = Fields.take_strings
_ABSENT = (None, "", ())


@dataclass(frozen=True, slots=True)
class Scalar:
    """A row of the table: a parameter, and the key that a protocol has for it."""

    parameter: str
    """The field of `Parameters`."""
    key: str
    take: Callable[[Fields, str], Any]
    """Takes a value of the right type out of the request."""


Table: TypeAlias = Sequence[Scalar]


def read_scalars(fields: Fields, table: Table) -> dict[str, Any]:
    """Take the settings of a table out of a request. Returns them by the names of parameters."""
    values: dict[str, Any] = {}
    for row in table:
        if row.parameter not in values and (value := row.take(fields, row.key)) not in _ABSENT:
            values[row.parameter] = sourced(row.key, value)
    return values
