"""Sessions in groups: by time, by folder or by tag.

1. Within a group sessions keep the order they came in, which is the newest first.
2. By time, pinned sessions are a group of their own at the top; otherwise they go first in
   their group. Archived ones are always a group of their own, the last.
3. By tag, a session stands under each of its tags.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import inf
from typing import Literal

from tui_chat.models.session import SessionSummary

Grouping = Literal["time", "folder", "tag"]
"""What sessions can be grouped by."""
GROUPINGS: tuple[Grouping, ...] = ("time", "folder", "tag")

ARCHIVED = "archived"
"""Key of the group of archived sessions."""
_YEARS = 40
"""Years that have a group of their own; what is older is one group."""

Summaries = Sequence[SessionSummary]


@dataclass(frozen=True, slots=True)
class Group:
    """Sessions under one heading."""

    key: str
    """Names it for as long as it is there, so that it can stay folded."""
    title: str
    sessions: Summaries


def grouped(summaries: Summaries, by: Grouping, now: float) -> tuple[Group, ...]:
    """Return the groups that are not empty, in their order; `now` in seconds since the epoch."""
    shown = [summary for summary in summaries if not summary.archived]
    match by:
        case "time":
            pinned = [summary for summary in shown if summary.pinned]
            rest = [summary for summary in shown if not summary.pinned] if pinned else shown
            groups = [Group("pinned", "Pinned", pinned), *_by_time(rest, now)]
        case "folder":
            groups = _by_name(shown, lambda summary: (summary.folder,), "folder", "No folder")
        case "tag":
            groups = _by_name(shown, lambda summary: summary.tags or ("",), "tag", "No tags")
    archived = [summary for summary in summaries if summary.archived]
    groups.append(Group(ARCHIVED, "Archived", archived))
    return tuple(group for group in groups if group.sessions)


def _by_time(summaries: Summaries, now: float) -> list[Group]:
    starts, titles = _spans(now)
    found: dict[int, list[SessionSummary]] = {}
    span: list[SessionSummary] = []
    first, end = inf, -inf
    for summary in summaries:  # most stand in the span of the one before
        if not first <= summary.updated < end:
            index = bisect_right(starts, summary.updated)
            first = starts[index - 1] if index else -inf
            end = starts[index] if index < len(starts) else inf
            span = found.setdefault(index, [])
        span.append(summary)
    return [
        Group(f"time:{titles[index]}", titles[index], found[index])
        for index in sorted(found, reverse=True)
    ]


def day_of(moment: float) -> float:
    """Return the midnight, here, with which the day of a moment began."""
    return _midnight(moment).timestamp()


def _midnight(moment: float) -> datetime:
    here = datetime.fromtimestamp(moment, UTC).astimezone()
    return here.replace(hour=0, minute=0, second=0, microsecond=0)


def _spans(now: float) -> tuple[list[float], list[str]]:
    """Return where spans of time begin, ascending, and what they are called, and before that
    the name of what is older than all of them.
    """
    today = _midnight(now)
    spans: list[tuple[datetime, str]] = [
        (today, "Today"),
        (_back(today, 1), "Yesterday"),
        (_back(today, 7), "Last 7 days"),
    ]
    month = today.replace(day=1)
    for _ in range(12):
        title = f"{month:%B}" if month.year == today.year else f"{month:%B %Y}"
        spans.append((month, title))
        month = _midnight((month - timedelta(days=1)).timestamp()).replace(day=1)
    year = spans[-1][0].year
    spans += [(_midnight_of_year(year - n), str(year - n)) for n in range(_YEARS)]
    known: dict[float, str] = {}
    for start, title in spans:
        if all(start.timestamp() < other for other in known):
            known[start.timestamp()] = title
    ascending = sorted(known)
    return ascending, ["Earlier", *(known[start] for start in ascending)]


def _back(day: datetime, days: int) -> datetime:
    """Return the midnight some days earlier, also where clocks were changed in between."""
    return _midnight((day - timedelta(days=days) + timedelta(hours=6)).timestamp())


def _midnight_of_year(year: int) -> datetime:
    return datetime(year, 1, 1).astimezone()


def _by_name(
    summaries: Summaries,
    names: Callable[[SessionSummary], Iterable[str]],
    kind: Grouping,
    nameless: str,
) -> list[Group]:
    found: defaultdict[str, list[SessionSummary]] = defaultdict(list)
    for pinned in (True, False):
        for summary in summaries:
            if summary.pinned is pinned:
                for name in names(summary):
                    found[name].append(summary)
    order = sorted(found, key=lambda name: (not name, name.casefold(), name))
    return [Group(f"{kind}:{name}", name or nameless, found[name]) for name in order]
