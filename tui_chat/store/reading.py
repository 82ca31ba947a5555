"""Reading the messages that pass the filters of a search, newest first, without the index.

Where filters leave some sessions only, their messages are read session by session, the one that
was active last first; else all messages of the time that is asked for, by when they were said.
"""
# ruff: noqa: S608 - only our own constants are put into SQL

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable
from heapq import heapify, heappop, heappush
from math import inf

from tui_chat.models.search import Query
from tui_chat.store.asides import TEXT, Searched
from tui_chat.store.conditions import (
    Conditions,
    among,
    of_messages,
    of_sessions,
    of_time,
    rows_where,
)
from tui_chat.store.database import Row, Transaction
from tui_chat.store.few import few_of

_MOST_COUNTED = 20_000
"""Messages of a stretch of time that are counted; more are too many to read anyway."""
_TELLING = 50
"""Messages of a session that tell of those of others: they have their subject, model and time."""
_LOOKED_AT = 200
"""Messages that are looked at to know how many those are."""

_STRETCH = "messages WHERE created >= ? AND created < ?"

_SHARE = """
    SELECT coalesce(avg(m.created >= ? AND m.created < ?), 0)
    FROM json_each(?) AS i CROSS JOIN messages AS m ON m.seq = i.value
"""

_THESE = "SELECT value AS rowid FROM json_each(?)"
_OF_SESSIONS = """
    SELECT seq AS rowid FROM messages
    WHERE session_id IN (SELECT value FROM json_each(?)) ORDER BY seq DESC
"""
_PASSING = """
    SELECT m.seq AS rowid FROM ({source}) AS i
    CROSS JOIN messages AS m INDEXED BY messages_facts ON m.seq = i.rowid WHERE 1 {{filters}}
"""
_ROWS = """
    SELECT m.seq, m.created, {of.whole}
    FROM ({source}) AS i
    CROSS JOIN messages AS m ON m.seq = i.rowid
    WHERE m.status <> 'streaming' AND {of.is_there}
        AND m.seq NOT IN (SELECT message FROM hidden_messages)
        AND m.session_id NOT IN (SELECT session_id FROM sessions WHERE deleted IS NOT NULL)
"""
_OF_LONG = """
    SELECT m.seq, m.created FROM (SELECT seq FROM messages WHERE session_id = ?) AS i
    CROSS JOIN messages AS m INDEXED BY messages_facts ON m.seq = i.seq ORDER BY m.created, m.seq
"""
_OF_LONG_AS_STORED = "SELECT seq FROM messages WHERE session_id = ?"


class Reading(ABC):
    """Messages to be read."""

    def __init__(self, size: int, conditions: Conditions) -> None:
        self.size = size
        """About how many they are."""
        self.seen = 0
        """How many were looked at so far."""
        self.telling = 0
        """How many of them tell of those that are ahead: of one session, no more than some."""
        self.is_done = False
        """Whether none is left."""
        self.newest_ahead = inf
        """No message that is still to be read was said after this."""
        self.conditions = conditions
        """What each message must fulfil."""
        self.sessions: Conditions = []
        """That a message is in one of the sessions that are left; empty where all are."""
        self.inside = 0
        """How many messages these have."""
        self.of = TEXT
        """What is read of each message."""

    async def read(self, tx: Transaction, count: int) -> list[Row]:
        """Look at about so many more; return those that pass: `seq`, when it was said, and text.
        All else of a message is looked up for those that are shown.
        """
        source, value = await self._next(tx, count)
        if self.conditions:
            source = _PASSING.format(source=source)
        statement = _ROWS.format(source=source, of=self.of)
        return as_read(self.of, await rows_where(tx, statement, (value,), self.conditions), 2)

    @abstractmethod
    async def _next(self, tx: Transaction, count: int) -> tuple[str, str]:
        """Return a statement that names more of them, and its value."""


def as_read(of: Searched, rows: list[Row], place: int) -> list[Row]:
    """Return rows whose column at that place is text."""
    if of is TEXT:
        return rows
    return [(*row[:place], of.read(row[place]), *row[place + 1 :]) for row in rows]


async def reading_of(tx: Transaction, query: Query) -> Reading:
    """Return the way to read what a query leaves."""
    conditions = of_messages(query)
    has_time = query.since is not None or query.until is not None
    limits = of_sessions(query)
    few = await few_of(tx, query)
    if not limits:
        if few is not None:
            return _Listed(few, conditions)
        return await _by_time(tx, query, conditions)
    sessions = await rows_where(
        tx,
        "SELECT session_id, message_count, updated FROM sessions AS s "
        "WHERE deleted IS NULL {filters} ORDER BY updated",
        (),
        limits,
    )
    inside, size = among(row[0] for row in sessions), sum(row[1] for row in sessions)
    if few is not None and len(few) < size:
        reading: Reading = _Listed(few, [*conditions, *inside])
    else:
        times = of_time(query, "m.created")
        reading = _BySession(sessions, [*conditions, *times], by_date=query.order == "newest")
        if has_time:
            by_time = await _by_time(tx, query, [*conditions, *inside])
            reading = reading if reading.size < by_time.size else by_time
    reading.sessions, reading.inside = inside, size
    return reading


async def _by_time(tx: Transaction, query: Query, conditions: Conditions) -> Reading:
    since = -inf if query.since is None else query.since
    until = inf if query.until is None else query.until
    [(size,)] = await tx.rows("SELECT coalesce(max(seq), 0) FROM messages")
    if since > -inf or until < inf:
        counted = f"SELECT count(*) FROM (SELECT 1 FROM {_STRETCH} LIMIT ?)"
        [(some,)] = await tx.rows(counted, since, until, _MOST_COUNTED)
        if some == _MOST_COUNTED:
            places = json.dumps([size * place // _LOOKED_AT for place in range(_LOOKED_AT)])
            [(inside,)] = await tx.rows(_SHARE, since, until, places)
            some = max(some, int(size * inside))
        size = some
    return _ByTime((since, until), size, conditions)


class _ByTime(Reading):
    def __init__(self, times: tuple[float, float], size: int, conditions: Conditions) -> None:
        super().__init__(size, conditions)
        self.newest_ahead = -inf  # for they come in this order
        self._times = times

    async def _next(self, tx: Transaction, count: int) -> tuple[str, str]:
        rows = await tx.rows(
            f"SELECT seq FROM {_STRETCH} ORDER BY created DESC, seq DESC LIMIT ? OFFSET ?",
            *(*self._times, count, self.seen),
        )
        self.seen += len(rows)
        self.telling = self.seen
        self.size = max(self.size, self.seen)
        self.is_done = len(rows) < count
        return _THESE, json.dumps([seq for (seq,) in rows])


class _Listed(Reading):
    """Few enough to be known one by one."""

    def __init__(self, seqs: list[int], conditions: Conditions) -> None:
        super().__init__(len(seqs), conditions)
        self.newest_ahead = -inf  # for they come in this order
        self.is_done = not seqs
        self._seqs = seqs

    async def _next(self, tx: Transaction, count: int) -> tuple[str, str]:
        part = self._seqs[self.seen : self.seen + count]
        self.seen += len(part)
        self.telling = self.seen
        self.is_done = self.seen >= len(self._seqs)
        return _THESE, json.dumps(part)


class _BySession(Reading):
    """What was said last may be in any session: the one whose newest message may be the newest of
    all comes next, and one that is too long to be read at once comes again for its next part.
    """

    def __init__(self, sessions: Iterable[Row], conditions: Conditions, *, by_date: bool) -> None:
        self._by_date = by_date
        self._ahead: list[tuple[float, str, int, list[Row]]] = []
        """A heap: the negated time after which nothing of it was said, the session, how many
        messages it has, and of a long one that was begun, where they are and when they were said,
        the newest last."""
        size = 0
        for session_id, messages, updated in sessions:
            self._ahead.append((-updated, session_id, messages, []))
            size += messages
        heapify(self._ahead)
        super().__init__(size, conditions)
        self.is_done = not self._ahead

    async def _next(self, tx: Transaction, count: int) -> tuple[str, str]:
        short: list[str] = []
        planned = 0
        while self._ahead and planned < count:
            _, session_id, messages, begun = self._ahead[0]
            if messages > 2 * count or begun:
                break
            heappop(self._ahead)
            short.append(session_id)
            planned += messages
            self.telling += min(messages, _TELLING)
        if short or not self._ahead:
            statement, value = _OF_SESSIONS, json.dumps(short)
        else:
            bound, session_id, messages, begun = heappop(self._ahead)
            self.telling += _TELLING
            if not begun and self._by_date:
                begun = await tx.rows(_OF_LONG, session_id)
            elif not begun:  # that takes a third of the time
                stored = await tx.rows(_OF_LONG_AS_STORED, session_id)
                begun = [(seq, -bound) for (seq,) in sorted(stored)]
            part, rest = begun[-count:], begun[:-count]
            if rest:
                heappush(self._ahead, (-rest[-1][1], session_id, messages, rest))
            planned = len(part)
            statement, value = _THESE, json.dumps([seq for seq, _ in part])
        self.seen += planned
        self.newest_ahead = -self._ahead[0][0] if self._ahead else -inf
        self.is_done = not self._ahead
        return statement, value
