"""Where groups and sessions stand in the list.

1. A heading has one line, a session two. Lines are counted by group, so that finding what
   stands on a line costs the same however many sessions there are.
2. A stop is a place of the cursor: every session, and the heading of a folded group.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection
from dataclasses import dataclass
from itertools import chain

from tui_chat.models.session import SessionSummary
from tui_chat.ui.sidebar.groups import Group

TALL = 2
"""Lines of a session."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A line that names a group."""

    group: Group
    is_folded: bool
    stop: int | None
    """None where the cursor passes it by."""


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a session."""

    session: SessionSummary
    stop: int
    line: int
    """0 for its first line."""


class Layout:
    """Groups, some of them folded."""

    def __init__(self, groups: tuple[Group, ...] = (), folded: Collection[str] = ()) -> None:
        self.groups = groups
        self._folded = [group.key in folded for group in groups]
        self._lines: list[int] = []
        self._stops: list[int] = []
        self.lines = 0
        """Lines altogether."""
        self.stops = 0
        """Places of the cursor."""
        for group, is_folded in zip(groups, self._folded, strict=True):
            self._lines.append(self.lines)
            self._stops.append(self.stops)
            self.lines += 1 if is_folded else 1 + TALL * len(group.sessions)
            self.stops += 1 if is_folded else len(group.sessions)

    def at_line(self, line: int) -> Heading | Row | None:
        """Return what stands on a line; None below the last."""
        if not 0 <= line < self.lines:
            return None
        index = bisect_right(self._lines, line) - 1
        group, first = self.groups[index], self._stops[index]
        below = line - self._lines[index] - 1
        if below < 0:
            is_folded = self._folded[index]
            return Heading(group, is_folded, first if is_folded else None)
        nth, part = divmod(below, TALL)
        return Row(group.sessions[nth], first + nth, part)

    def at_stop(self, stop: int) -> SessionSummary | Group | None:
        """Return the session at a stop, or the folded group."""
        if not 0 <= stop < self.stops:
            return None
        index = bisect_right(self._stops, stop) - 1
        group = self.groups[index]
        return group if self._folded[index] else group.sessions[stop - self._stops[index]]

    def group_at(self, stop: int) -> Group | None:
        """Return the group that a stop belongs to."""
        if not 0 <= stop < self.stops:
            return None
        return self.groups[bisect_right(self._stops, stop) - 1]

    def lines_of(self, stop: int) -> tuple[int, int]:
        """Return the first line of a stop, and how many it has.

        The first session of a group has its heading with it.
        """
        index = bisect_right(self._stops, stop) - 1
        first = self._lines[index]
        if self._folded[index]:
            return first, 1
        nth = stop - self._stops[index]
        return (first, 1 + TALL) if nth == 0 else (first + 1 + TALL * nth, TALL)

    def stop_of(self, session_id: str) -> int | None:
        """Return the first stop of a session; of a folded one, its group's."""
        for group, first, is_folded in zip(self.groups, self._stops, self._folded, strict=True):
            for nth, session in enumerate(group.sessions):
                if session.session_id == session_id:
                    return first if is_folded else first + nth
        return None

    def stop_of_group(self, key: str) -> int | None:
        """Return the first stop of a group."""
        for group, stop in zip(self.groups, self._stops, strict=True):
            if group.key == key:
                return stop
        return None

    def between(self, first: int, last: int) -> list[SessionSummary]:
        """Return the sessions from one stop to another, both included, in either order."""
        first, last = sorted((first, last))
        found = (self.at_stop(stop) for stop in range(first, last + 1))
        return [each for each in found if isinstance(each, SessionSummary)]

    def sessions(self) -> list[SessionSummary]:
        """Return all sessions that are not folded away, from top to bottom."""
        pairs = zip(self.groups, self._folded, strict=True)
        return list(chain.from_iterable(g.sessions for g, is_folded in pairs if not is_folded))
