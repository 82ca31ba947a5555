"""The filters of a query as conditions for SQL: `m` is a message, `s` its session."""
# ruff: noqa: S608 - only our own constants are put into SQL

from __future__ import annotations

import json
from collections.abc import Iterable

from tui_chat.models.search import Query
from tui_chat.store.database import Row, Transaction

Conditions = list[tuple[str, object]]
"""Each with the value for all of its question marks."""


async def rows_where(
    tx: Transaction, sql: str, first: tuple[object, ...], conditions: Conditions
) -> list[Row]:
    """Run a statement with its conditions in the place of `{filters}`."""
    text = "".join(f"AND {condition} " for condition, _ in conditions)
    values = [value for condition, value in conditions for _ in range(condition.count("?"))]
    return await tx.rows(sql.format(filters=text), *first, *values)


def of_messages(query: Query) -> Conditions:
    """Return what a message must fulfil besides being in one of the sessions and in the time."""
    conditions: Conditions = []
    if query.message_role is not None:
        conditions.append(("m.message_role = ?", query.message_role))
    # What a person wrote was said to the model of the session.
    for column, value in (("model", query.model), ("endpoint", query.endpoint)):
        if value:
            condition = (
                f"(m.{column} = ? OR m.{column} = '' AND "
                f"(SELECT {column} FROM sessions WHERE session_id = m.session_id) = ?)"
            )
            conditions.append((condition, value))
    return conditions


def among(session_ids: Iterable[str]) -> Conditions:
    """Return that a message is in one of these sessions."""
    listed = json.dumps(list(session_ids))
    return [("m.session_id IN (SELECT value FROM json_each(?))", listed)]


def of_index(query: Query) -> Conditions:
    """Return what spares the index its work: the stretch in which a session's messages lie."""
    if not query.session_id:
        return []
    bounds = "(SELECT {}(seq) FROM messages WHERE session_id = ?)"
    return [
        (f"i.rowid >= {bounds.format('min')}", query.session_id),
        (f"i.rowid <= {bounds.format('max')}", query.session_id),
    ]


def of_titles(query: Query) -> Conditions:
    """Return what a session must fulfil to be found by its title."""
    conditions: Conditions = []
    for column, value in (("model", query.model), ("endpoint", query.endpoint)):
        if value:
            conditions.append((f"s.{column} = ?", value))
    return [*conditions, *of_sessions(query), *of_time(query, "s.updated")]


def of_sessions(query: Query) -> Conditions:
    """Return what leaves only some sessions; nothing where the query does not."""
    conditions: Conditions = []
    if query.session_id:
        conditions.append(("s.session_id = ?", query.session_id))
    if query.role_name:
        named = "SELECT role_id FROM roles WHERE name = ? COLLATE NOCASE"
        conditions.append((f"s.role_id IN ({named})", query.role_name))
    if query.tag:
        # Only sessions with tags are looked at one by one.
        tagged = (
            "s.tags <> '' AND s.seq IN (SELECT t.seq FROM (SELECT seq, tags FROM sessions "
            "WHERE tags <> '') AS t JOIN json_each(t.tags) WHERE value = ?)"
        )
        conditions.append((tagged, query.tag))
    return conditions


def of_time(query: Query, time: str) -> Conditions:
    """Return when something was said."""
    conditions: Conditions = []
    if query.since is not None:
        conditions.append((f"{time} >= ?", query.since))
    if query.until is not None:
        conditions.append((f"{time} < ?", query.until))
    return conditions
