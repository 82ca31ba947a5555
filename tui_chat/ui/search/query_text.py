"""Search queries as they are typed: words, and filters such as `from:user`.

1. `name:value` is a filter if the name is in `FILTERS`; a value with spaces is quoted. Everything
   else is words to search for, as typed.
2. The name of a role, model or tag may be typed in part and stands for the only one that contains
   it. If several or none do, that is reported and the filter has no effect.
"""

from __future__ import annotations

import re
from dataclasses import field, replace

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.message import MessageRole
from tui_chat.models.search import Query

_FILTER = re.compile(r'(?<!\S)(\w+):("[^"]*"?|\S*)')
_WRITERS: tuple[MessageRole, ...] = ("user", "assistant", "tool", "system")
_NAMED = {"role": "role_name", "model": "model", "tag": "tag"}
"""The filters for a name, and the fields of a query that they set."""
FILTERS = (*_NAMED, "from")
_NAMES_OFFERED = 4
"""Most names listed if a filter fits several."""


@dataclass(frozen=True, slots=True)
class KnownNames:
    """The names that filters can have."""

    role: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    tag: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A query and what could not be parsed."""

    query: Query
    faults: tuple[str, ...] = field(default=())
    """Why filters were ignored, a sentence each."""


def parse_query(typed: str, names: KnownNames, limit: int) -> ParsedQuery:
    """Parse a text; `limit` is the most hits wanted."""
    query = Query("", limit=limit)
    faults: list[str] = []
    for name, quoted in _FILTER.findall(typed):
        name, value = name.lower(), quoted.strip('"')
        if name in FILTERS and value:
            try:
                query = _filtered(query, name, value, names)
            except ValueError as fault:
                faults.append(str(fault))
    words = _FILTER.sub(lambda each: "" if each[1].lower() in FILTERS else each[0], typed)
    return ParsedQuery(replace(query, text=" ".join(words.split())), tuple(faults))


def _filtered(query: Query, name: str, value: str, names: KnownNames) -> Query:
    """Return a query with a filter. Raises ValueError."""
    if name != "from":
        return replace(query, **{_NAMED[name]: _one_of(name, value, getattr(names, name))})
    writer = next((role for role in _WRITERS if role.startswith(value.lower())), None)
    if writer is None:
        raise ValueError("from: is user, assistant, tool or system.")
    return replace(query, message_role=writer)


def _one_of(name: str, value: str, names: tuple[str, ...]) -> str:
    """Return the only name that contains a value, or is it. Raises ValueError."""
    folded = value.removeprefix("#").casefold()
    exact = [each for each in names if each.casefold() == folded]
    matching = exact or [each for each in names if folded in each.casefold()]
    if len(matching) == 1:
        return matching[0]
    if not matching:
        raise ValueError(f"No {name} is called “{value}”.")
    more = " …" if len(matching) > _NAMES_OFFERED else ""
    raise ValueError(f"{name}: {', '.join(matching[:_NAMES_OFFERED])}{more}?")
