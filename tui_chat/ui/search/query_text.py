"""Search queries as they are typed: words, and filters such as `from:user` and `after:7d`.

1. `name:value` is a filter if the name is in `FILTERS`; a value with spaces is quoted. Everything
   else is words to search for, as typed.
2. The name of a role, model, endpoint or tag may be typed in part and stands for the only one that
   contains it. If several or none do, that is reported and the filter has no effect.
3. A day is `2026`, `2026-01`, `2026-01-31`, `today`, `yesterday`, or a number of days or weeks ago:
   `7d`, `2w`. It begins at local midnight; `after:` includes it, `before:` excludes it.
"""

from __future__ import annotations

import re
from dataclasses import field, replace
from datetime import UTC, datetime, timedelta
from typing import Literal

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.message import MessageRole
from tui_chat.models.search import Query

SortOrder = Literal["rank", "newest"]

_FILTER = re.compile(r'(?<!\S)(\w+):("[^"]*"?|\S*)')
_DAY = re.compile(r"(\d{4})(?:-(\d{1,2}))?(?:-(\d{1,2}))?")
_AGO = re.compile(r"(\d{1,4})([dw])")
_WRITERS: dict[str, MessageRole] = {
    "user": "user",
    "me": "user",
    "assistant": "assistant",
    "model": "assistant",
    "tool": "tool",
    "system": "system",
}
_NAMES_OFFERED = 4
"""Most names listed if a filter fits several."""


@dataclass(frozen=True, slots=True)
class KnownNames:
    """The names that filters can have."""

    role: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    endpoint: tuple[str, ...] = ()
    tag: tuple[str, ...] = ()

    def names(self, filter_: str) -> tuple[str, ...]:
        """Return the values of a filter."""
        if filter_ == "from":
            return ("user", "assistant", "tool", "system")
        return getattr(self, filter_) if filter_ in _NAMED else ()


_NAMED = {"role": "role_name", "model": "model", "endpoint": "endpoint", "tag": "tag"}
"""The filters for a name, and the fields of a query that they set."""
FILTERS = (*_NAMED, "from", "after", "before")


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A query and what could not be parsed."""

    query: Query
    faults: tuple[str, ...] = field(default=())
    """Why filters were ignored, a sentence each."""


def parse_query(typed: str, names: KnownNames, now: float, order: SortOrder) -> ParsedQuery:
    """Parse a text; `now` is in seconds since the epoch."""
    query = Query("", order=order)
    faults: list[str] = []
    words: list[str] = []
    at = 0
    for match in _FILTER.finditer(typed):
        name, value = match[1].lower(), match[2].strip('"')
        if name not in FILTERS:
            continue
        words.append(typed[at : match.start()])
        at = match.end()
        if not value:
            continue
        try:
            query = _filtered(query, name, value, names, now)
        except ValueError as fault:
            faults.append(str(fault))
    words.append(typed[at:])
    return ParsedQuery(replace(query, text=" ".join(" ".join(words).split())), tuple(faults))


def _filtered(query: Query, name: str, value: str, names: KnownNames, now: float) -> Query:
    if name in _NAMED:
        value = value.removeprefix("#") if name == "tag" else value
        return replace(query, **{_NAMED[name]: _one_of(name, value, names.names(name))})
    match name:
        case "from":
            writer = next((w for w in _WRITERS if w.startswith(value.lower())), None)
            if writer is None:
                raise ValueError("from: is user, assistant, tool or system.")
            return replace(query, message_role=_WRITERS[writer])
        case "after":
            return replace(query, since=_day(name, value, now))
        case _:
            return replace(query, until=_day(name, value, now))


def _one_of(name: str, value: str, names: tuple[str, ...]) -> str:
    folded = value.casefold()
    exact = [each for each in names if each.casefold() == folded]
    fitting = exact or [each for each in names if folded in each.casefold()]
    if len(fitting) == 1:
        return fitting[0]
    if not fitting:
        raise ValueError(f"No {name} is called “{value}”.")
    shown = ", ".join(fitting[:_NAMES_OFFERED]) + (" …" if len(fitting) > _NAMES_OFFERED else "")
    raise ValueError(f"{name}: {shown}?")


def _day(name: str, value: str, now: float) -> float:
    today = datetime.fromtimestamp(now, UTC).astimezone()
    today = today.replace(hour=0, minute=0, second=0, microsecond=0)
    value = value.lower()
    if value and "today".startswith(value):
        return today.timestamp()
    if len(value) > 1 and "yesterday".startswith(value):
        return _back(today, 1)
    try:
        if ago := _AGO.fullmatch(value):
            return _back(today, int(ago[1]) * (7 if ago[2] == "w" else 1))
        if day := _DAY.fullmatch(value):
            year, month, date = (int(part or 1) for part in day.groups())
            return datetime(year, month, date).astimezone().timestamp()
    except (ValueError, OverflowError):
        raise ValueError(f"{name}: there is no such day, “{value}”.") from None
    raise ValueError(f"{name}: a day, such as 2026-01-31, today, 7d.")


def _back(today: datetime, days: int) -> float:
    """Return the local midnight some days earlier."""
    day = today.replace(tzinfo=None) - timedelta(days=days)
    return day.astimezone().timestamp()


def complete_filter(typed: str, known_names: KnownNames) -> str:
    """Return the text with its last word completed, if it begins a filter or a value."""
    begun, _, last = typed.rpartition(" ") if '"' not in typed else _last_quoted(typed)
    name, colon, value = last.partition(":")
    space = " " if begun else ""
    if not colon:
        filter_name = next(
            (each for each in FILTERS if last and each.startswith(last.lower())), None
        )
        return typed if filter_name is None else f"{begun}{space}{filter_name}:"
    value = value.strip('"').casefold()
    names = known_names.names(name.lower())
    fitting = [each for each in names if each.casefold().startswith(value)]
    fitting += [each for each in names if value in each.casefold()]
    if not fitting:
        return typed
    whole = f'"{fitting[0]}"' if " " in fitting[0] else fitting[0]
    return f"{begun}{space}{name}:{whole} "


def _last_quoted(typed: str) -> tuple[str, str, str]:
    last = [match for match in _FILTER.finditer(typed) if match.end() == len(typed)]
    if not last:
        return typed.rpartition(" ")
    match = last[0]
    return typed[: match.start()].rstrip(), " ", match[0]
