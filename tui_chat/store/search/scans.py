"""Scans: reading the messages that pass the filters of a search, newest first, without the index.

1. Who wrote a message is a filter that may leave next to nothing: tools, or a model that was tried
   once. Indexes name those messages at once, and only they are read (`_ListScan`).
2. If filters leave some sessions only, their messages are read session by session, the most
   recently active first (`_SessionScan`).
3. Otherwise all messages of the wanted time are read, in the order of that time (`_TimeScan`).

The filters of a query are SQL conditions on a message `m` and its session `s`.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable
from heapq import heapify, heappop, heappush
from math import inf

from tui_chat.models.search import Query
from tui_chat.store.database import Row, Transaction
from tui_chat.store.search.index import TEXT, SearchField

# ruff: noqa: S608 - only our own constants are put into SQL


Filters = list[tuple[str, object]]
"""SQL conditions, each with the one value for all of its question marks."""
# ruff: noqa: S608 - only our own constants are put into SQL


_MAX_COUNTED = 20_000
"""Messages of a time range that are counted; more are too many to read anyway."""
_REPRESENTATIVE = 50
"""Messages of a session that count as a sample of all: more share its subject, model and time."""
_TIMES_SAMPLED = 200
"""Messages whose times are sampled to estimate how many are in a larger range."""

_SHORT = 4_000
"""The most messages of a list that is read one by one."""

_BY_RARE_ROLE = """
    FROM messages AS m INDEXED BY messages_rare
    WHERE m.message_role IN ('system', 'tool') AND m.message_role = ? {filters}
"""

# The index is sorted by endpoint first: there are few of them, and each is one lookup.
_ENDPOINTS = """
    WITH RECURSIVE known (asked) AS (
        SELECT min(endpoint) FROM messages WHERE model <> '' OR endpoint <> ''
        UNION ALL
        SELECT (
            SELECT min(endpoint) FROM messages
            WHERE (model <> '' OR endpoint <> '') AND endpoint > asked
        ) FROM known WHERE asked IS NOT NULL
    )
    SELECT asked FROM known
"""
_WRITTEN = """
    FROM messages AS m INDEXED BY messages_writer
    WHERE (m.model <> '' OR m.endpoint <> '') AND {by} {{filters}}
"""
_BY_MODEL = _WRITTEN.format(by=f"m.endpoint IN ({_ENDPOINTS}) AND m.model = ?")
_BY_ENDPOINT = _WRITTEN.format(by="m.endpoint = ?")

_SENT_TO = """
    FROM sessions AS s CROSS JOIN messages AS m USING (session_id)
    WHERE s.{0} = ? AND m.{0} = '' {{filters}}
"""

_TIME_RANGE = "messages WHERE created >= ? AND created < ?"

_SHARE = """
    SELECT coalesce(avg(m.created >= ? AND m.created < ?), 0)
    FROM json_each(?) AS i CROSS JOIN messages AS m ON m.seq = i.value
"""

_LISTED = "SELECT value AS rowid FROM json_each(?)"
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
_OF_LONG_SESSION = """
    SELECT m.seq, m.created FROM (SELECT seq FROM messages WHERE session_id = ?) AS i
    CROSS JOIN messages AS m INDEXED BY messages_facts ON m.seq = i.seq ORDER BY m.created, m.seq
"""
_OF_LONG_SESSION_AS_STORED = "SELECT seq FROM messages WHERE session_id = ?"


async def select_filtered(
    tx: Transaction, sql: str, first: tuple[object, ...], conditions: Filters
) -> list[Row]:
    """Run a statement with the conditions in place of `{filters}`, after the values `first`."""
    text = "".join(f"AND {condition} " for condition, _ in conditions)
    values = [value for condition, value in conditions for _ in range(condition.count("?"))]
    return await tx.rows(sql.format(filters=text), *first, *values)


def message_filters(query: Query) -> Filters:
    """Return the filters by the writer of a message, without sessions and time."""
    conditions: Filters = []
    if query.message_role is not None:
        conditions.append(("m.message_role = ?", query.message_role))
    # A user message counts as sent to the model of its session.
    for column, value in (("model", query.model), ("endpoint", query.endpoint)):
        if value:
            condition = (
                f"(m.{column} = ? OR m.{column} = '' AND "
                f"(SELECT {column} FROM sessions WHERE session_id = m.session_id) = ?)"
            )
            conditions.append((condition, value))
    return conditions


def in_sessions(session_ids: Iterable[str]) -> Filters:
    """Return the filter for messages in these sessions."""
    listed = json.dumps(list(session_ids))
    return [("m.session_id IN (SELECT value FROM json_each(?))", listed)]


def index_bounds(query: Query) -> Filters:
    """Return the range of rows with a session's messages, which makes the index faster."""
    if not query.session_id:
        return []
    bounds = "(SELECT {}(seq) FROM messages WHERE session_id = ?)"
    return [
        (f"i.rowid >= {bounds.format('min')}", query.session_id),
        (f"i.rowid <= {bounds.format('max')}", query.session_id),
    ]


def title_filters(query: Query) -> Filters:
    """Return the filters on a session that is found by its title."""
    conditions: Filters = []
    for column, value in (("model", query.model), ("endpoint", query.endpoint)):
        if value:
            conditions.append((f"s.{column} = ?", value))
    return [*conditions, *session_filters(query), *time_filters(query, "s.updated")]


def session_filters(query: Query) -> Filters:
    """Return the filters on sessions; none if the query has none."""
    conditions: Filters = []
    if query.session_id:
        conditions.append(("s.session_id = ?", query.session_id))
    if query.role_name:
        named = "SELECT role_id FROM roles WHERE name = ? COLLATE NOCASE"
        conditions.append((f"s.role_id IN ({named})", query.role_name))
    if query.tag:
        # Only the JSON of sessions with tags is parsed.
        tagged = (
            "s.tags <> '' AND s.seq IN (SELECT t.seq FROM (SELECT seq, tags FROM sessions "
            "WHERE tags <> '') AS t JOIN json_each(t.tags) WHERE value = ?)"
        )
        conditions.append((tagged, query.tag))
    return conditions


def time_filters(query: Query, time: str) -> Filters:
    """Return the filters on a time."""
    conditions: Filters = []
    if query.since is not None:
        conditions.append((f"{time} >= ?", query.since))
    if query.until is not None:
        conditions.append((f"{time} < ?", query.until))
    return conditions


class MessageScan(ABC):
    """A sequence of messages that is read step by step."""

    def __init__(self, size: int, filters: Filters) -> None:
        self.size = size
        """The approximate number of messages."""
        self.seen = 0
        """The number of messages read so far."""
        self.sampled = 0
        """The number of them that count as a sample of the rest; limited for each session."""
        self.is_done = False
        """True if no message is left."""
        self.newest_ahead = inf
        """No unread message is newer than this time."""
        self.filters = filters
        """Conditions on each message."""
        self.sessions: Filters = []
        """The filter for sessions; empty if there is none."""
        self.messages_in_sessions = 0
        """The number of messages in these sessions."""
        self.field = TEXT
        """The field that is read."""

    async def read(self, tx: Transaction, count: int) -> list[Row]:
        """Read about `count` more messages; return `seq`, time and text of those that pass. Other
        columns are read only for the hits.
        """
        source, value = await self._next(tx, count)
        if self.filters:
            source = _PASSING.format(source=source)
        statement = _ROWS.format(source=source, of=self.field)
        rows = await select_filtered(tx, statement, (value,), self.filters)
        return decode_column(self.field, rows, 2)

    @abstractmethod
    async def _next(self, tx: Transaction, count: int) -> tuple[str, str]:
        """Return a statement that selects the next messages, and its value."""


def decode_column(field: SearchField, rows: list[Row], place: int) -> list[Row]:
    """Return rows with the column at `place` decoded to text."""
    if field is TEXT:
        return rows
    return [(*row[:place], field.read(row[place]), *row[place + 1 :]) for row in rows]


async def choose_scan(tx: Transaction, query: Query) -> MessageScan:
    """Return the scan that reads the fewest messages for the filters of a query."""
    filters = message_filters(query)
    has_time = query.since is not None or query.until is not None
    limits = session_filters(query)
    short_list = await _short_list(tx, query)
    if not limits:
        if short_list is not None:
            return _ListScan(short_list, filters)
        return await _time_scan(tx, query, filters)
    sessions = await select_filtered(
        tx,
        "SELECT session_id, message_count, updated FROM sessions AS s "
        "WHERE deleted IS NULL {filters} ORDER BY updated",
        (),
        limits,
    )
    inside, size = in_sessions(row[0] for row in sessions), sum(row[1] for row in sessions)
    if short_list is not None and len(short_list) < size:
        scan: MessageScan = _ListScan(short_list, [*filters, *inside])
    else:
        times = time_filters(query, "m.created")
        scan = _SessionScan(sessions, [*filters, *times], by_date=query.order == "newest")
        if has_time:
            by_time = await _time_scan(tx, query, [*filters, *inside])
            scan = scan if scan.size < by_time.size else by_time
    scan.sessions, scan.messages_in_sessions = inside, size
    return scan


async def _time_scan(tx: Transaction, query: Query, filters: Filters) -> MessageScan:
    since = -inf if query.since is None else query.since
    until = inf if query.until is None else query.until
    [(size,)] = await tx.rows("SELECT coalesce(max(seq), 0) FROM messages")
    if since > -inf or until < inf:
        counted = f"SELECT count(*) FROM (SELECT 1 FROM {_TIME_RANGE} LIMIT ?)"
        [(some,)] = await tx.rows(counted, since, until, _MAX_COUNTED)
        if some == _MAX_COUNTED:
            places = json.dumps([size * place // _TIMES_SAMPLED for place in range(_TIMES_SAMPLED)])
            [(inside,)] = await tx.rows(_SHARE, since, until, places)
            some = max(some, int(size * inside))
        size = some
    return _TimeScan((since, until), size, filters)


class _TimeScan(MessageScan):
    def __init__(self, times: tuple[float, float], size: int, filters: Filters) -> None:
        super().__init__(size, filters)
        self.newest_ahead = -inf  # they are read in this order
        self._times = times

    async def _next(self, tx: Transaction, count: int) -> tuple[str, str]:
        rows = await tx.rows(
            f"SELECT seq FROM {_TIME_RANGE} ORDER BY created DESC, seq DESC LIMIT ? OFFSET ?",
            *(*self._times, count, self.seen),
        )
        self.seen += len(rows)
        self.sampled = self.seen
        self.size = max(self.size, self.seen)
        self.is_done = len(rows) < count
        return _LISTED, json.dumps([seq for (seq,) in rows])


class _ListScan(MessageScan):
    """A short list of messages."""

    def __init__(self, seqs: list[int], filters: Filters) -> None:
        super().__init__(len(seqs), filters)
        self.newest_ahead = -inf  # they are read in this order
        self.is_done = not seqs
        self._seqs = seqs

    async def _next(self, tx: Transaction, count: int) -> tuple[str, str]:
        part = self._seqs[self.seen : self.seen + count]
        self.seen += len(part)
        self.sampled = self.seen
        self.is_done = self.seen >= len(self._seqs)
        return _LISTED, json.dumps(part)


class _SessionScan(MessageScan):
    """Messages of some sessions. The session that may have the newest unread message comes next; a
    session that is too long to be read at once comes again for its next part.
    """

    def __init__(self, sessions: Iterable[Row], filters: Filters, *, by_date: bool) -> None:
        self._by_date = by_date
        self._ahead: list[tuple[float, str, int, list[Row]]] = []
        """A heap of sessions: the negated time after which it has no unread message, its id, how
        many messages it has, and of a long one that was begun, the `seq` and time of each unread
        message, the newest last."""
        size = 0
        for session_id, messages, updated in sessions:
            self._ahead.append((-updated, session_id, messages, []))
            size += messages
        heapify(self._ahead)
        super().__init__(size, filters)
        self.is_done = not self._ahead

    async def _next(self, tx: Transaction, count: int) -> tuple[str, str]:
        short: list[str] = []
        planned = 0
        while self._ahead and planned < count:
            _, session_id, messages, unread = self._ahead[0]
            if messages > 2 * count or unread:
                break
            heappop(self._ahead)
            short.append(session_id)
            planned += messages
            self.sampled += min(messages, _REPRESENTATIVE)
        if short or not self._ahead:
            statement, value = _OF_SESSIONS, json.dumps(short)
        else:
            bound, session_id, messages, unread = heappop(self._ahead)
            self.sampled += _REPRESENTATIVE
            if not unread and self._by_date:
                unread = await tx.rows(_OF_LONG_SESSION, session_id)
            elif not unread:  # that takes a third of the time
                stored = await tx.rows(_OF_LONG_SESSION_AS_STORED, session_id)
                unread = [(seq, -bound) for (seq,) in sorted(stored)]
            part, rest = unread[-count:], unread[:-count]
            if rest:
                heappush(self._ahead, (-rest[-1][1], session_id, messages, rest))
            planned = len(part)
            statement, value = _LISTED, json.dumps([seq for seq, _ in part])
        self.seen += planned
        self.newest_ahead = -self._ahead[0][0] if self._ahead else -inf
        self.is_done = not self._ahead
        return statement, value


async def _short_list(tx: Transaction, query: Query) -> list[int] | None:
    """Return the `seq` of messages, newest first, which include all that pass the filters; None if
    the query has no such filter, or they are many.
    """
    times = time_filters(query, "m.created")
    if query.message_role in ("system", "tool"):
        rows = await _rows_if_short(tx, _BY_RARE_ROLE, query.message_role, times)
        if rows is not None:
            return _newest_first(rows)
    for column, value, written in (
        ("model", query.model, _BY_MODEL),
        ("endpoint", query.endpoint, _BY_ENDPOINT),
    ):
        if not value:
            continue
        by = await _rows_if_short(tx, written, value, times)
        to = None if by is None else await _rows_if_short(tx, _SENT_TO.format(column), value, times)
        if by is not None and to is not None and len(by) + len(to) <= _SHORT:
            return _newest_first(by + to)
    return None


async def _rows_if_short(
    tx: Transaction, source: str, value: str, filters: Filters
) -> list[Row] | None:
    """Return the times and `seq` of messages; None if they are many, for which they are counted
    first: that takes a sixth of the time.
    """
    counted = f"SELECT count(*) FROM (SELECT 1 {source} LIMIT {_SHORT + 1})"
    [(some,)] = await select_filtered(tx, counted, (value,), filters)
    if some > _SHORT:
        return None
    return await select_filtered(tx, f"SELECT m.created, m.seq {source}", (value,), filters)


def _newest_first(rows: list[Row]) -> list[int]:
    return [seq for _, seq in sorted(rows, reverse=True)]
