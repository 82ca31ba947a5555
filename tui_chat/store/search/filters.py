"""The filters of a query as SQL conditions on a message `m` and its session `s`."""
# ruff: noqa: S608 - only our own constants are put into SQL

from __future__ import annotations

import json
from collections.abc import Iterable

from tui_chat.models.search import Query
from tui_chat.store.database import Row, Transaction

Filters = list[tuple[str, object]]
"""SQL conditions, each with the one value for all of its question marks."""


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
