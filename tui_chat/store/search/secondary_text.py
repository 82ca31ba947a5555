"""Secondary text of a message, which is searched too: reasoning, tool calls, refusals.

It is extracted from the two JSON columns. Words are removed from the index as they were added, so
the same columns must always give the same text. Therefore it depends on nothing else, and text that
is not JSON gives no text instead of an error.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, cast

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.search import HitPlace
from tui_chat.models.text import clean

_Object = dict[str, Any]
SecondaryTexts = tuple[str, str, str]
"""Reasoning, calls and refusal, each possibly empty."""

SECONDARY_PLACES: tuple[HitPlace, ...] = ("reasoning", "call", "refusal")
"""The place of a hit in each of them."""

_SEPARATOR = "\x1e"
"""Separates texts. No text contains it: in JSON it is an escape."""

_MAX_BRACKETS = 500
"""Arguments with more brackets are not parsed: the possible depth depends on the caller's stack."""


def secondary_texts_of(tool_calls: str, semantics: str) -> SecondaryTexts:
    """Return the secondary texts in the two columns."""
    reasoning = refusal = ""
    for value in _objects([_json(semantics)]):
        reasoning = "\n".join(_text(block, "text") for block in _objects(value.get("reasoning")))
        refusal = _text(value, "refusal")
    calls = (
        f"{_text(call, 'name')} {_without_json_syntax(_text(call, 'arguments'))}".strip()
        for call in _objects(_json(tool_calls))
    )
    return _storable(reasoning), _storable("\n".join(calls)), _storable(refusal)


def _storable(text: str) -> str:
    """Return a text without lone surrogates and separators, both of which JSON can spell."""
    return clean(text).replace(_SEPARATOR, " ")


def _json(text: str) -> Any:
    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError):
        return None


def _objects(value: Any) -> list[_Object]:
    listed = cast("list[Any]", value) if isinstance(value, list) else []
    return [cast("_Object", each) for each in listed if isinstance(each, dict)]


def _text(value: _Object, key: str) -> str:
    found = value.get(key)
    return found if isinstance(found, str) else ""


def _without_json_syntax(arguments: str) -> str:
    """Return the keys and values of arguments, without the punctuation of JSON."""
    if arguments.count("{") + arguments.count("[") > _MAX_BRACKETS:
        return arguments
    try:
        value: Any = json.loads(arguments)
    except ValueError:
        return arguments  # truncated, or not JSON
    words: list[str] = []
    waiting: list[Any] = [value]
    while waiting:
        found = waiting.pop()
        if isinstance(found, dict):
            for key, each in reversed(cast("_Object", found).items()):
                waiting += (each, f"{key}:")
        elif isinstance(found, list):
            waiting += reversed(cast("list[Any]", found))
        else:
            words.append(found if isinstance(found, str) else json.dumps(found))
    return " ".join(words)


@dataclass(frozen=True, slots=True)
class SearchField:
    """One of the two fields of a message that are searched: its text and its secondary text."""

    index: str
    """The index table."""
    beginning: str
    """SQL for the part that is read for ranking, of a message `m`."""
    whole: str
    """SQL for the whole field."""
    is_there: str
    """SQL that is true if a message has the field."""
    read: Callable[[str], str]
    """Converts what was read to text."""


def _identity(text: str) -> str:
    return text


def _decode_secondary(columns: str) -> str:
    return _SEPARATOR.join(secondary_texts_of(*columns.split(_SEPARATOR, 1)))


def split_texts(text: str) -> list[str]:
    """Return the texts of `SECONDARY_PLACES` from their joined form."""
    return text.split(_SEPARATOR)


RANKED_LENGTH = 4000
"""Characters of a text that are read for ranking."""

TEXT = SearchField(
    "message_index", f"substr(m.content, 1, {RANKED_LENGTH})", "m.content", "1", _identity
)
_BOTH = f"m.tool_calls || char({ord(_SEPARATOR)}) || m.semantics"
SECONDARY = SearchField(
    "aside_index", _BOTH, _BOTH, "(m.tool_calls <> '' OR m.semantics <> '')", _decode_secondary
)
