"""Reading untrusted JSON.

1. One invalid field must not lose the text: each getter returns its type's empty value if the
   field is absent, null or of another type, so no reader has to check.
2. Nothing that a provider sends may end in a traceback: deep nesting, giant numbers, NaN and lone
   surrogates are handled here.

Plain `json` and these getters, not pydantic: a long reply has 50,000 chunks, validation of each
would take longer than everything else, and would refuse a whole chunk for one invalid field.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TypeAlias, cast

from tui_chat.models.text import clean

JsonObject: TypeAlias = Mapping[str, object]

_EMPTY: JsonObject = {}
_MAX_COUNT = 2**53
"""Counts beyond this are nonsense, and would not fit a database column."""


MAX_VALUES = 400_000
"""Values in one JSON text, about. Three characters of JSON (`[],`) become 80 bytes of memory, and
16 MB of them take 1.6 seconds to parse; so many take a tenth of one."""
_UNCHECKED_LENGTH = 1_000_000
"""Characters of JSON that cannot have too many values."""


def load_json(data: str) -> object:
    """Parse JSON. Raises ValueError, and nothing else, where it is none or has more than about
    `MAX_VALUES` values. NaN is null.
    """
    if len(data) > _UNCHECKED_LENGTH and sum(map(data.count, "[{,")) > MAX_VALUES:
        raise ValueError("too many values")
    try:
        value = _DECODER.decode(data)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if data.count("[") + data.count("{") > MAX_DEPTH:
        _check_depth(value)
    return value


MAX_DEPTH = 200
"""Levels of JSON. Python's reader takes a thousand; what is kept of a reply is written, hashed and
drawn later by functions that call themselves once or twice a level."""


def _check_depth(value: object) -> None:
    level: list[object] = [value]
    for _ in range(MAX_DEPTH):
        level = [child for each in level for child in (*as_object(each).values(), *as_array(each))]
        if not level:
            return
    raise ValueError("nested too deeply")


_DECODER = json.JSONDecoder(parse_constant=lambda _: None)


def as_object(value: object) -> JsonObject:
    """Return the JSON object, or an empty one."""
    return cast("JsonObject", value) if isinstance(value, dict) else _EMPTY


def as_array(value: object) -> list[object]:
    """Return the JSON array, or an empty one."""
    return cast("list[object]", value) if isinstance(value, list) else []


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


def to_json(value: object) -> str:
    """Return a parsed value as compact JSON."""
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError:  # 1e999 was read as infinity
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        # JSON has no word for it; a string keeps what was meant.
        return to_json(_DECODER.decode(text))
    except RecursionError:
        return ""
    return clean(text)
