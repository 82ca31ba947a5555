"""What stands beside a message's text and is searched too: reasoning, tool calls, refusals.

It is read from the columns that hold them as JSON. The same columns give the same words whoever
asks, and whenever: words are taken out of the index as they were put in. So nothing here may
depend on more than the two texts, and none is wrong: what is not JSON has no words.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from tui_chat.models.search import HitPlace
from tui_chat.models.text import clean

_Object = dict[str, Any]
Asides = tuple[str, str, str]
"""Reasoning, calls and refusal; empty where there is none."""

PLACES: tuple[HitPlace, ...] = ("reasoning", "call", "refusal")
"""What each of them is called."""

_APART = "\x1e"
"""Stands between texts. No text has it: columns of JSON only as an escape."""

_MOST_BRACKETS = 500
"""Arguments with more are taken as they are: how deep JSON can be read depends on who asks."""


def asides_of(tool_calls: str, semantics: str) -> Asides:
    """Return what stands beside a text, from the two columns."""
    reasoning = refusal = ""
    for said in _objects([_json(semantics)]):
        reasoning = "\n".join(_text(block, "text") for block in _objects(said.get("reasoning")))
        refusal = _text(said, "refusal")
    calls = (
        f"{_text(call, 'name')} {_spoken(_text(call, 'arguments'))}".strip()
        for call in _objects(_json(tool_calls))
    )
    return _shown(reasoning), _shown("\n".join(calls)), _shown(refusal)


def _shown(text: str) -> str:
    """Return a text that can be stored, written out and put beside others: JSON may spell half
    characters, and what stands between texts here.
    """
    return clean(text).replace(_APART, " ")


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


def _spoken(arguments: str) -> str:
    """Return what arguments say, without the signs of JSON."""
    if arguments.count("{") + arguments.count("[") > _MOST_BRACKETS:
        return arguments
    try:
        value: Any = json.loads(arguments)
    except ValueError:
        return arguments  # it was cut off, or is none
    said: list[str] = []
    waiting: list[Any] = [value]
    while waiting:
        found = waiting.pop()
        if isinstance(found, dict):
            for key, each in reversed(cast("_Object", found).items()):
                waiting += (each, f"{key}:")
        elif isinstance(found, list):
            waiting += reversed(cast("list[Any]", found))
        else:
            said.append(found if isinstance(found, str) else json.dumps(found))
    return " ".join(said)


@dataclass(frozen=True, slots=True)
class Searched:
    """One of the two things that are searched of a message."""

    index: str
    """The table that has its words."""
    beginning: str
    """In SQL: what is read of it to be ranked, of a message `m`."""
    whole: str
    """The same, all of it."""
    is_there: str
    """In SQL: whether a message has it."""
    read: Callable[[str], str]
    """Makes text of what was read."""


def _as_it_is(text: str) -> str:
    return text


def _read_asides(columns: str) -> str:
    return _APART.join(asides_of(*columns.split(_APART, 1)))


def parts(text: str) -> list[str]:
    """Return the texts of `PLACES` that were read as one."""
    return text.split(_APART)


SCANNED = 4000
"""Characters of a text that are looked at to rank it."""

TEXT = Searched("message_index", f"substr(m.content, 1, {SCANNED})", "m.content", "1", _as_it_is)
_BOTH = f"m.tool_calls || char({ord(_APART)}) || m.semantics"
ASIDES = Searched(
    "aside_index", _BOTH, _BOTH, "(m.tool_calls <> '' OR m.semantics <> '')", _read_asides
)
