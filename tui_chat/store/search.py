"""Finding messages and sessions by their words.

1. The index gives matches newest first, and only the newest `_POOL` that pass the filters are
   looked at. So a word that is everywhere costs no more than one that is rare, and whatever is
   found less often than that is ordered exactly.
2. Ranked, those texts come first where the words stand often and early in a short text; the age
   decides between equals. Sessions that are called so come before messages.
3. Deleted messages and sessions in the trash are in the index, but are never found.
"""
# ruff: noqa: S608 - only our own constants are put into SQL

from __future__ import annotations

import json

from tui_chat.model.search import Hit, Query
from tui_chat.store.database import Row, Transaction
from tui_chat.store.snippets import Finder
from tui_chat.store.words import terms

_POOL = 400
"""Matches that are compared with each other."""

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
    rows = await _rows(tx, _MESSAGES, match, _message_filters(query))
    sessions = await _sessions(tx, query, match, finder)
    if query.order == "newest":
        ordered = sorted([*sessions, *rows], key=lambda row: row[_CREATED], reverse=True)
    else:
        ordered = [
            *sorted(sessions, key=lambda row: finder.score(row[_TEXT]), reverse=True),
            *sorted(rows, key=lambda row: finder.score(row[_TEXT]), reverse=True),
        ]
    return tuple([await _hit(tx, row, finder) for row in ordered[: query.limit]])


_TEXT, _CREATED = 4, 5


async def _sessions(tx: Transaction, query: Query, match: str, finder: Finder) -> list[Row]:
    """Return sessions that are called so, or whose role is, each once."""
    if query.message_role is not None or query.session_id:
        return []
    filters = _session_filters(query)
    found = await _rows(tx, _TITLES, match, filters)
    roles = [
        role_id
        for role_id, name in await tx.rows("SELECT role_id, name FROM roles")
        if finder.has_all(name)
    ]
    if roles:
        found += await _rows(tx, _BY_ROLE, json.dumps(roles), filters)
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


async def _rows(tx: Transaction, sql: str, first: object, filters: _Filters) -> list[Row]:
    """Run a statement with its conditions."""
    conditions = "".join(f"AND {condition} " for condition, _ in filters)
    values = [value for condition, value in filters for _ in range(condition.count("?"))]
    return await tx.rows(sql.format(filters=conditions), first, *values)


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
        tags = "json_each(CASE s.tags WHEN '' THEN '[]' ELSE s.tags END)"
        filters.append((f"? IN (SELECT value FROM {tags})", query.tag))
    if query.since is not None:
        filters.append((f"{time} >= ?", query.since))
    if query.until is not None:
        filters.append((f"{time} < ?", query.until))
    return filters
