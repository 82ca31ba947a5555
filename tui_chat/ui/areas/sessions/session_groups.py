"""The session list as groups: which sessions are shown, under which heading, on which line.

1. Sessions are grouped by time, folder or tag, the newest first in each group.
2. By time, pinned sessions are the first group; otherwise they come first in their group.
   Archived sessions are always the last group. By tag, a session appears under each of its tags.
3. A heading takes one line. A session takes one, and a second for its role, model and tags where
   these say something: not if they are those of most sessions. Lines are counted by group, so
   that finding what a line shows costs the same however many sessions there are, and only groups
   that changed are counted again.
4. The rows of the cursor are the sessions, and the headings of folded groups.
5. Side conversations (titles, subagents) follow the session that they belong to, whatever their own
   time, folder and tags, and are folded away until that is unfolded.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate, chain, filterfalse
from math import inf
from operator import attrgetter
from typing import Literal, TypeAlias

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.session import SessionSummary

Grouping = Literal["time", "folder", "tag"]
"""The ways to group sessions."""
GROUPINGS: tuple[Grouping, ...] = ("time", "folder", "tag")

ARCHIVED = "archived"
"""Key of the group of archived sessions."""
_YEARS = 40
"""Years with a group of their own; older sessions are one group."""

Summaries = Sequence[SessionSummary]

# What is asked of every session is asked by these, in C.
_ARCHIVED: Callable[[SessionSummary], bool] = attrgetter("archived")
_PINNED: Callable[[SessionSummary], bool] = attrgetter("pinned")
_PARENT_ID: Callable[[SessionSummary], str] = attrgetter("parent_id")
_UPDATED: Callable[[SessionSummary], float] = attrgetter("updated")


@dataclass(frozen=True, slots=True)
class SessionGroup:
    """Sessions under one heading."""

    key: str
    """Identifies the group while it exists, so that it stays folded."""
    title: str
    sessions: Summaries
    parents: frozenset[str] = frozenset()
    """The ids of those that are followed by their side conversations."""


def grouped(summaries: Summaries, by: Grouping, now: float) -> tuple[SessionGroup, ...]:
    """Return the groups that are not empty, in order; `now` is in seconds since the epoch."""
    archived = list(filter(_ARCHIVED, summaries))
    shown, sides = _without_sides(
        list(filterfalse(_ARCHIVED, summaries)) if archived else summaries
    )
    match by:
        case "time":
            pinned = list(filter(_PINNED, shown))
            rest = filterfalse(_PINNED, shown) if pinned else shown
            groups = [SessionGroup("pinned", "Pinned", pinned), *_by_time(rest, now)]
        case "folder":
            groups = _by_name(shown, lambda summary: (summary.folder,), "folder", "No folder")
        case "tag":
            groups = _by_name(shown, lambda summary: summary.tags or ("",), "tag", "No tags")
    groups.append(SessionGroup(ARCHIVED, "Archived", archived))
    if sides:
        groups = [_with_sides(group, sides) for group in groups]
    return tuple(group for group in groups if group.sessions)


_Sides = Mapping[str, list[SessionSummary]]
"""Side conversations by the id of their session."""


def _without_sides(summaries: Summaries) -> tuple[Summaries, _Sides]:
    """Return the sessions of their own, and the side conversations of sessions in the list."""
    if not any(map(_PARENT_ID, summaries)):
        return summaries, {}
    parents = {summary.session_id: summary.parent_id for summary in summaries}
    own: list[SessionSummary] = []
    sides: defaultdict[str, list[SessionSummary]] = defaultdict(list)
    for summary in summaries:
        above, seen = summary.parent_id, {summary.session_id}
        while parents.get(above) and above not in seen:
            seen.add(above)
            above = parents[above]
        is_side = summary.parent_id in parents and above not in seen  # no circle
        (sides[summary.parent_id] if is_side else own).append(summary)
    return own, sides


def _family(summary: SessionSummary, sides: _Sides) -> Iterator[SessionSummary]:
    """Yield a session, and below it its side conversations, each with its own."""
    yield summary
    for side in sides.get(summary.session_id, ()):
        yield from _family(side, sides)


def _with_sides(group: SessionGroup, sides: _Sides) -> SessionGroup:
    sessions: list[SessionSummary] = []
    for summary in group.sessions:
        sessions += _family(summary, sides)
    if len(sessions) == len(group.sessions):
        return group
    own = frozenset(summary.session_id for summary in sessions)
    return SessionGroup(group.key, group.title, sessions, own & sides.keys())


def _by_time(summaries: Iterable[SessionSummary], now: float) -> Iterator[SessionGroup]:
    newest_first = sorted(summaries, key=_UPDATED, reverse=True)
    first, spans = 0, _spans(now)
    while first < len(newest_first):
        start, title = next(spans)
        end = bisect_right(newest_first, -start, first, key=lambda summary: -summary.updated)
        yield SessionGroup(f"time:{title}", title, newest_first[first:end])
        first = end


def day_of(moment: float) -> float:
    """Return the local midnight at which the day of a moment began."""
    return _midnight(moment).timestamp()


def _midnight(moment: float) -> datetime:
    here = datetime.fromtimestamp(moment, UTC).astimezone()
    return here.replace(hour=0, minute=0, second=0, microsecond=0)


def _spans(now: float) -> Iterator[tuple[float, str]]:
    """Yield the spans of time with their names, newest first; the last has all that is older."""
    end = inf
    for start, title in _calendar(_midnight(now)):
        if (beginning := start.timestamp()) < end:  # a month may begin within the last days
            yield beginning, title
            end = beginning
    yield -inf, "Earlier"


def _calendar(today: datetime) -> Iterator[tuple[datetime, str]]:
    """Yield days, months and years with their names, each kind from the newest on."""
    yield today, "Today"
    yield _back(today, 1), "Yesterday"
    yield _back(today, 7), "Last 7 days"
    month = today.replace(day=1)
    for _ in range(12):
        yield month, f"{month:%B}" if month.year == today.year else f"{month:%B %Y}"
        month = _midnight((month - timedelta(days=1)).timestamp()).replace(day=1)
    for earlier in range(_YEARS):
        year = month.year - earlier
        yield _midnight_of_year(year), str(year)


def _back(day: datetime, days: int) -> datetime:
    """Return the midnight some days earlier, across changes of the clock too."""
    return _midnight((day - timedelta(days=days) + timedelta(hours=6)).timestamp())


def _midnight_of_year(year: int) -> datetime:
    return datetime(year, 1, 1).astimezone()


def _by_name(
    summaries: Summaries,
    names: Callable[[SessionSummary], Iterable[str]],
    kind: Grouping,
    nameless: str,
) -> list[SessionGroup]:
    by_name: defaultdict[str, list[SessionSummary]] = defaultdict(list)
    for pinned in (True, False):
        for summary in summaries:
            if summary.pinned is pinned:
                for name in names(summary):
                    by_name[name].append(summary)
    order = sorted(by_name, key=lambda name: (not name, name.casefold(), name))
    return [SessionGroup(f"{kind}:{name}", name or nameless, by_name[name]) for name in order]


Usual: TypeAlias = tuple[str, str]
"""The role and model that most sessions have."""

_COUNTED = 100
"""The newest sessions, which decide what is usual."""


def usual_facts(summaries: Summaries, before: Usual | None = None) -> Usual | None:
    """Return the role and model that most of the newest sessions have; None without sessions.
    Sessions without a model count if no session has one. Those from `before` stay while a third of
    them have them, so that rows keep their height.
    """
    newest = [session for session in summaries[:_COUNTED] if not session.archived]
    counts = Counter((each.role_name, each.model) for each in newest if each.model)
    counts = counts or Counter((each.role_name, "") for each in newest)
    total = counts.total()
    if before is not None and 3 * counts[before] >= total:
        return before
    return counts.most_common(1)[0][0] if counts else None


def _line_ends(sessions: Summaries, usual: Usual | None) -> Sequence[int]:
    """Return for each session the number of lines that it and those above it take."""
    return list(accumulate(2 if _has_second_line(each, usual) else 1 for each in sessions))


def _has_second_line(summary: SessionSummary, usual: Usual | None) -> bool:
    """True if there is more to say of a session than its title and what is usual."""
    if summary.tags or summary.client or fork_source(summary):
        return True
    role, model = usual or ("", "")
    return summary.role_name not in ("", role) or summary.model not in ("", model)


def fork_source(summary: SessionSummary) -> str:
    """Return the title of the session that one was forked from, unless its own title says it."""
    return "" if summary.title == f"Fork of {summary.fork_of}" else summary.fork_of


@dataclass(frozen=True, slots=True)
class GroupHeading:
    """The line that names a group."""

    group: SessionGroup
    is_folded: bool
    row: int | None
    """Its row if the group is folded; the cursor skips others."""


@dataclass(frozen=True, slots=True)
class SessionLine:
    """A line of a session."""

    session: SessionSummary
    row: int
    line: int
    """0 for its first line."""
    level: int = 0
    """1 for a side conversation below its session, 2 for one below that."""
    sides: int = 0
    """The number of its side conversations."""
    is_folded: bool = False
    """True if they are folded away."""


class GroupLayout:
    """Groups, some of them folded to their heading."""

    def __init__(
        self,
        groups: tuple[SessionGroup, ...] = (),
        folded: Collection[str] = (),
        unfolded: Collection[str] | None = (),
        usual: Usual | None = None,
        before: GroupLayout | None = None,
    ) -> None:
        """`unfolded` are the ids of sessions whose side conversations are shown, None for all.
        Sessions of which nothing else is to be said than what is `usual` take one line. Groups
        that are the same in the layout `before` are not counted again.
        """
        self.groups = groups
        self._usual = usual
        self._unfolded = unfolded
        self._sides: dict[str, list[SessionSummary]] = {}
        self._levels: dict[str, int] = {}
        self._sessions = [self._shown_of(group) for group in groups]
        self._folded = [group.key in folded for group in groups]
        counted = before._counted() if before is not None and before._usual == usual else {}
        self._line_ends: list[Sequence[int]] = []
        self._first_lines: list[int] = []
        self._first_rows: list[int] = []
        self.line_count = 0
        """Number of lines."""
        self.row_count = 0
        """Number of rows of the cursor."""
        for group, sessions, is_folded in zip(groups, self._sessions, self._folded, strict=True):
            same, ends = counted.get(group.key, (None, ()))
            if is_folded:
                ends = ()
            elif sessions != same:
                ends = _line_ends(sessions, usual)
            self._line_ends.append(ends)
            self._first_lines.append(self.line_count)
            self._first_rows.append(self.row_count)
            self.line_count += 1 + (ends[-1] if ends else 0)
            self.row_count += 1 if is_folded else len(ends)

    def _counted(self) -> dict[str, tuple[Summaries, Sequence[int]]]:
        """Return the sessions and line ends of each unfolded group by its key."""
        counted = zip(self.groups, self._sessions, self._line_ends, strict=True)
        return {group.key: (sessions, ends) for group, sessions, ends in counted if ends}

    def _shown_of(self, group: SessionGroup) -> Summaries:
        """Return the sessions of a group that are not folded away, and note their sides."""
        if not group.parents:
            return group.sessions
        shown: list[SessionSummary] = []
        hidden: set[str] = set()
        for session in group.sessions:
            parent = session.parent_id
            if parent in group.parents:
                self._sides.setdefault(parent, []).append(session)
                self._levels[session.session_id] = self._levels.get(parent, 0) + 1
                if parent in hidden or not self.is_unfolded(parent):
                    hidden.add(session.session_id)
                    continue
            shown.append(session)
        return shown

    def is_unfolded(self, session_id: str) -> bool:
        """Return True if the side conversations of a session are shown."""
        return self._unfolded is None or session_id in self._unfolded

    def sides_of(self, session_id: str) -> Summaries:
        """Return the side conversations of a session."""
        return self._sides.get(session_id, ())

    def all_below(self, session_id: str) -> Iterator[SessionSummary]:
        """Yield the side conversations of a session, each with its own below it."""
        for side in self.sides_of(session_id):
            yield side
            yield from self.all_below(side.session_id)

    def at_line(self, line: int) -> GroupHeading | SessionLine | None:
        """Return what a line shows; None below the last."""
        if not 0 <= line < self.line_count:
            return None
        index = bisect_right(self._first_lines, line) - 1
        group, first = self.groups[index], self._first_rows[index]
        below = line - self._first_lines[index] - 1
        if below < 0:
            is_folded = self._folded[index]
            return GroupHeading(group, is_folded, first if is_folded else None)
        ends = self._line_ends[index]
        nth = bisect_right(ends, below)
        part = below - (ends[nth - 1] if nth else 0)
        session = self._sessions[index][nth]
        sides = len(self.sides_of(session.session_id))
        is_folded = not self.is_unfolded(session.session_id)
        level = self._levels.get(session.session_id, 0)
        return SessionLine(session, first + nth, part, level, sides, is_folded)

    def item_at(self, row: int) -> SessionSummary | SessionGroup | None:
        """Return the session of a row, or the folded group."""
        if not 0 <= row < self.row_count:
            return None
        index = bisect_right(self._first_rows, row) - 1
        group = self.groups[index]
        return (
            group if self._folded[index] else self._sessions[index][row - self._first_rows[index]]
        )

    def group_at(self, row: int) -> SessionGroup | None:
        """Return the group that a row belongs to."""
        if not 0 <= row < self.row_count:
            return None
        return self.groups[bisect_right(self._first_rows, row) - 1]

    def lines_of(self, row: int) -> tuple[int, int]:
        """Return the first line of a row and its number of lines.

        The heading counts as part of the first session of a group.
        """
        index = bisect_right(self._first_rows, row) - 1
        first = self._first_lines[index]
        if self._folded[index]:
            return first, 1
        ends, nth = self._line_ends[index], row - self._first_rows[index]
        if nth == 0:
            return first, 1 + ends[0]
        return first + 1 + ends[nth - 1], ends[nth] - ends[nth - 1]

    def row_of(self, session_id: str) -> int | None:
        """Return the first row of a session; of a folded one, that of its group or session."""
        for sessions, first, is_folded in zip(
            self._sessions, self._first_rows, self._folded, strict=True
        ):
            for nth, session in enumerate(sessions):
                if session.session_id == session_id:
                    return first if is_folded else first + nth
        for parent, sides in self._sides.items():
            if session_id in (side.session_id for side in sides):
                return self.row_of(parent)
        return None

    def row_of_group(self, key: str) -> int | None:
        """Return the first row of a group."""
        for group, row in zip(self.groups, self._first_rows, strict=True):
            if group.key == key:
                return row
        return None

    def between(self, first: int, last: int) -> list[SessionSummary]:
        """Return the sessions between two rows, both included, in either order."""
        first, last = sorted((first, last))
        items = (self.item_at(row) for row in range(first, last + 1))
        return [each for each in items if isinstance(each, SessionSummary)]

    def sessions(self) -> list[SessionSummary]:
        """Return all sessions that are not folded away, from top to bottom."""
        pairs = zip(self._sessions, self._folded, strict=True)
        return list(chain.from_iterable(each for each, is_folded in pairs if not is_folded))


class SessionFilter:
    """Finds sessions that contain all words, in title, role, model, folder or program; `#word`
    begins a tag.

    The searched texts are made when something is first typed.
    """

    def __init__(self, summaries: Sequence[SessionSummary] = ()) -> None:
        self._summaries = summaries
        self._texts: list[str] | None = None
        self._last: tuple[list[str], Sequence[int]] = [], range(len(summaries))
        """The last words, and the indexes of the sessions with all of them."""

    def __call__(self, typed: str) -> Sequence[SessionSummary]:
        """Return the matching sessions, in their order."""
        words = typed.casefold().split()
        words = [f"\n{word}" if word.startswith("#") else word for word in words if word != "#"]
        texts = self.prepare() if words else ()
        searched, matching = self._last
        if len(searched) > len(words) or any(
            old not in new for old, new in zip(searched, words, strict=False)
        ):  # else, one more letter can only exclude more sessions
            searched, matching = [], range(len(self._summaries))
        for word in words:
            if word not in searched:
                matching = [index for index in matching if word in texts[index]]
        self._last = words, matching
        if len(matching) == len(self._summaries):
            return self._summaries
        return [self._summaries[index] for index in matching]

    def prepare(self) -> Sequence[str]:
        """Return the texts to search, made at first use."""
        if self._texts is None:
            self._texts = [_text(summary) for summary in self._summaries]
        return self._texts


def _text(summary: SessionSummary) -> str:
    tags = "\n#" + "\n#".join(summary.tags) if summary.tags else ""
    facts = (summary.title, summary.role_name, summary.model, summary.folder, summary.client)
    text = "\n".join(facts) + tags
    return text.casefold()
