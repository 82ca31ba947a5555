"""Finding messages and sessions by their words.

1. The index gives matches in the order in which they were stored, and only the latest `_POOL`
   that pass the filters are ranked. So a word that is everywhere costs no more than one that is
   rare, and whatever is found less often than that is ordered exactly.
2. Ranked, those texts come first where the words stand often and early in a short text; the age
   decides between equals. Sessions that are called so come before messages.
3. What is asked newest first is ordered by when it was said. For what is found often, the newest
   messages themselves are read until enough of them have the words; so they are for the beginning
   of a word, of which the index would first put together all endings, and where a filter leaves
   few messages.
4. Deleted messages and sessions in the trash are in the index, but are never found.
"""
# ruff: noqa: S608 - only our own constants are put into SQL

from __future__ import annotations

import json
from math import inf

from tui_chat.model.search import Hit, Query
from tui_chat.store.database import Row, Transaction
from tui_chat.store.snippets import Finder
from tui_chat.store.words import terms

_POOL = 400
"""Matches that are compared with each other."""

_DATED = 2_000
"""Matches that are put in order by when they were said."""

_READ_MOST = 8_000
"""Of the newest messages, so many are read to find enough of them without the index."""

_FEW = 8_000
"""Messages that are all read, where a role, a tag or a time leaves no more."""

_SCANNED = 4000
"""Characters of a text that are looked at to rank it."""

_SESSIONS_FIRST = 10
"""Sessions that are shown at most among the hits."""

_MESSAGES = f"""
    SELECT m.session_id, m.message_id, s.title, m.message_role,
        substr(m.content, 1, {_SCANNED}), m.created
    FROM message_index AS i
    CROSS JOIN messages AS m ON m.seq = i.rowid
    CROSS JOIN sessions AS s ON s.session_id = m.session_id
    WHERE message_index MATCH ? AND s.deleted IS NULL
        AND m.seq NOT IN (SELECT message FROM hidden_messages)
        {{filters}}
    ORDER BY i.rowid DESC LIMIT {_POOL}
"""

_DATES = f"""
    SELECT i.rowid, m.created
    FROM message_index AS i
    CROSS JOIN messages AS m ON m.seq = i.rowid
    CROSS JOIN sessions AS s ON s.session_id = m.session_id
    WHERE message_index MATCH ? AND s.deleted IS NULL
        AND m.seq NOT IN (SELECT message FROM hidden_messages)
        {{filters}}
    ORDER BY i.rowid DESC LIMIT {_DATED}
"""

_READ = """
    SELECT m.session_id, m.message_id, s.title, m.message_role, m.content, m.created
    FROM ({source}) AS i
    CROSS JOIN messages AS m ON m.seq = i.rowid
    CROSS JOIN sessions AS s ON s.session_id = m.session_id
    WHERE m.status <> 'streaming' AND s.deleted IS NULL
        AND m.seq NOT IN (SELECT message FROM hidden_messages)
        {{filters}}
"""
_READ_THESE = _READ.format(source="SELECT value AS rowid FROM json_each(?)")
_READ_NEWEST = _READ.format(
    source="""
        SELECT seq AS rowid FROM messages WHERE created >= ? AND created < ?
        ORDER BY created DESC, seq DESC LIMIT ? OFFSET ?
    """
)
_READ_OF_SESSIONS = _READ.format(
    source="""
        SELECT seq AS rowid FROM messages
        WHERE session_id IN (SELECT value FROM json_each(?))
        ORDER BY seq DESC
    """
)

_TITLES = f"""
    SELECT s.session_id, NULL, s.title, NULL, s.title, s.updated
    FROM title_index AS i CROSS JOIN sessions AS s ON s.seq = i.rowid
    WHERE title_index MATCH ? AND s.deleted IS NULL {{filters}}
    ORDER BY i.rowid DESC LIMIT {_POOL}
"""

_BY_ROLE = f"""
    SELECT s.session_id, NULL, s.title, NULL, r.name, s.updated
    FROM sessions AS s JOIN roles AS r USING (role_id)
    WHERE s.role_id IN (SELECT value FROM json_each(?)) AND s.deleted IS NULL {{filters}}
    ORDER BY s.seq DESC LIMIT {_POOL}
"""


async def find(tx: Transaction, query: Query) -> tuple[Hit, ...]:
    """Return what a query finds. InputError where there is no word in it."""
    wanted = terms(query.text)
    finder = Finder(wanted)
    match = " AND ".join(term.match for term in wanted)
    rows = await _messages(tx, query, match, finder)
    sessions = await _sessions(tx, query, match, finder)
    if query.order == "newest":
        ordered = sorted([*sessions, *rows], key=lambda row: row[_CREATED], reverse=True)
    else:
        ordered = [
            *sorted(sessions, key=lambda row: finder.score(row[_TEXT]), reverse=True),
            *sorted(
                rows,
                key=lambda row: (finder.score(row[_TEXT][:_SCANNED]), row[_CREATED]),
                reverse=True,
            ),
        ]
    return tuple([await _hit(tx, row, finder) for row in ordered[: query.limit]])


_TEXT, _CREATED = 4, 5


async def _messages(tx: Transaction, query: Query, match: str, finder: Finder) -> list[Row]:
    """Return the messages that are found, or so many of them as are compared."""
    filters = _message_filters(query)
    few = await _few_sessions(tx, query)
    if few is not None:
        rows = await _rows(tx, _READ_OF_SESSIONS, (few,), filters)
        return [row for row in rows if finder.has_all(row[_TEXT])]
    if await _is_short_time(tx, query):
        rows = await _rows(tx, _READ_NEWEST, (*_times(query), _FEW, 0), filters)
        return [row for row in rows if finder.has_all(row[_TEXT])]
    newest_first = query.order == "newest"
    need = query.limit if newest_first else _POOL
    is_dated = query.since is not None or query.until is not None
    if (newest_first or is_dated or "*" in match) and not query.session_id:
        rows = await _newest(tx, query, finder, need)
        if rows is not None:
            return rows
    if not newest_first:
        return await _rows(tx, _MESSAGES, (match,), filters)
    dates = await _rows(tx, _DATES, (match,), filters)
    dates.sort(key=lambda row: row[1], reverse=True)
    newest = json.dumps([seq for seq, _ in dates[:need]])
    return await _rows(tx, _READ_THESE, (newest,), filters)


async def _few_sessions(tx: Transaction, query: Query) -> str | None:
    """Return the sessions that filters leave, as JSON, if they have few messages altogether."""
    if not (query.role_name or query.tag):
        return None
    whose = Query("", role_name=query.role_name, tag=query.tag)
    sql = (
        "SELECT json_group_array(session_id), total(message_count) FROM sessions AS s "
        "WHERE s.deleted IS NULL {filters}"
    )
    [(session_ids, messages)] = await _rows(tx, sql, (), _session_filters(whose))
    return session_ids if messages <= _FEW else None


async def _is_short_time(tx: Transaction, query: Query) -> bool:
    """Tell whether few messages were said in the time that is asked for."""
    if query.since is None and query.until is None:
        return False
    said = await tx.rows(
        f"SELECT 1 FROM messages WHERE created >= ? AND created < ? LIMIT {_FEW + 1}",
        *_times(query),
    )
    return len(said) <= _FEW


def _times(query: Query) -> tuple[float, float]:
    since = -inf if query.since is None else query.since
    return since, inf if query.until is None else query.until


async def _newest(tx: Transaction, query: Query, finder: Finder, need: int) -> list[Row] | None:
    """Return the `need` newest messages with the words, None where that would take reading more
    than `_READ_MOST` messages.
    """
    filters = _message_filters(query)
    found: list[Row] = []
    seen, step = 0, _READ_MOST // 10
    while seen < _READ_MOST:
        rows = await _rows(tx, _READ_NEWEST, (*_times(query), step, seen), filters)
        found += [row for row in rows if finder.has_all(row[_TEXT])]
        seen += step
        if len(found) >= need:
            return sorted(found, key=lambda row: row[_CREATED], reverse=True)[:need]
        if len(found) * _READ_MOST < need * seen // 2:
            return None  # it would go on like this
    return None


async def _sessions(tx: Transaction, query: Query, match: str, finder: Finder) -> list[Row]:
    """Return sessions that are called so, or whose role is, each once."""
    if query.message_role is not None or query.session_id:
        return []
    filters = _session_filters(query)
    found = await _rows(tx, _TITLES, (match,), filters)
    roles = [
        role_id
        for role_id, name in await tx.rows("SELECT role_id, name FROM roles")
        if finder.has_all(name)
    ]
    if roles:
        found += await _rows(tx, _BY_ROLE, (json.dumps(roles),), filters)
    once = {row[0]: row for row in reversed(found)}
    newest = sorted(once.values(), key=lambda row: row[_CREATED], reverse=True)
    return newest[:_SESSIONS_FIRST]


async def _hit(tx: Transaction, row: Row, finder: Finder) -> Hit:
    session_id, message_id, title, message_role, text, created = row
    if message_id is not None and len(text) == _SCANNED and not finder.has_any(text):
        whole = await tx.row("SELECT content FROM messages WHERE message_id = ?", message_id)
        text = whole[0] if whole else text
    snippet, marks = finder.snippet(text)
    return Hit(session_id, message_id, title, message_role, snippet, marks, created)


_Filters = list[tuple[str, object]]


async def _rows(
    tx: Transaction, sql: str, first: tuple[object, ...], filters: _Filters
) -> list[Row]:
    """Run a statement with its conditions."""
    conditions = "".join(f"AND {condition} " for condition, _ in filters)
    values = [value for condition, value in filters for _ in range(condition.count("?"))]
    return await tx.rows(sql.format(filters=conditions), *first, *values)


def _message_filters(query: Query) -> _Filters:
    filters: _Filters = []
    if query.session_id:
        # The index is asked for the stretch in which the session's messages lie.
        bounds = "(SELECT {}(seq) FROM messages WHERE session_id = ?)"
        filters += [
            (f"i.rowid >= {bounds.format('min')}", query.session_id),
            (f"i.rowid <= {bounds.format('max')}", query.session_id),
            ("m.session_id = ?", query.session_id),
        ]
    if query.message_role is not None:
        filters.append(("m.message_role = ?", query.message_role))
    # What a person wrote was said to the model of the session.
    for column, value in (("model", query.model), ("endpoint", query.endpoint)):
        if value:
            condition = f"CASE m.{column} WHEN '' THEN s.{column} ELSE m.{column} END = ?"
            filters.append((condition, value))
    return [*filters, *_common_filters(query, "m.created")]


def _session_filters(query: Query) -> _Filters:
    filters: _Filters = []
    for column, value in (("model", query.model), ("endpoint", query.endpoint)):
        if value:
            filters.append((f"s.{column} = ?", value))
    return [*filters, *_common_filters(query, "s.updated")]


def _common_filters(query: Query, time: str) -> _Filters:
    filters: _Filters = []
    if query.role_name:
        named = "SELECT role_id FROM roles WHERE name = ? COLLATE NOCASE"
        filters.append((f"s.role_id IN ({named})", query.role_name))
    if query.tag:
        tagged = (
            "SELECT session_id FROM (SELECT session_id, tags FROM sessions WHERE tags <> '') "
            "JOIN json_each(tags) WHERE value = ?"
        )
        filters.append((f"s.session_id IN ({tagged})", query.tag))
    if query.since is not None:
        filters.append((f"{time} >= ?", query.since))
    if query.until is not None:
        filters.append((f"{time} < ?", query.until))
    return filters
