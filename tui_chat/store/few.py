"""The messages that a filter lets pass, where they are few.

Who wrote a message is a filter that may leave next to nothing: tools, or a model that was tried
once. Indexes name those messages at once, and nothing else need be read.
"""
# ruff: noqa: S608 - only our own constants are put into SQL

from __future__ import annotations

from tui_chat.models.search import Query
from tui_chat.store.conditions import Conditions, of_time, rows_where
from tui_chat.store.database import Row, Transaction

_FEW = 4_000

_RARE = """
    FROM messages AS m INDEXED BY messages_rare
    WHERE m.message_role IN ('system', 'tool') AND m.message_role = ? {filters}
"""

# The index is sorted by endpoint first: there are few of them, and each is one look.
_KNOWN = """
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
_BY_MODEL = _WRITTEN.format(by=f"m.endpoint IN ({_KNOWN}) AND m.model = ?")
_BY_ENDPOINT = _WRITTEN.format(by="m.endpoint = ?")

_SAID_TO = """
    FROM sessions AS s CROSS JOIN messages AS m USING (session_id)
    WHERE s.{0} = ? AND m.{0} = '' {{filters}}
"""

# Each step of the recursion is one look into the index, however many messages there are.
_WRITERS = """
    WITH RECURSIVE known (endpoint, model) AS (
        SELECT * FROM (
            SELECT endpoint, model FROM messages INDEXED BY messages_writer
            WHERE model <> '' OR endpoint <> '' ORDER BY endpoint, model LIMIT 1
        )
        UNION ALL
        SELECT m.endpoint, m.model FROM known AS k JOIN messages AS m ON m.seq = coalesce((
            SELECT seq FROM messages INDEXED BY messages_writer
            WHERE (model <> '' OR endpoint <> '') AND endpoint = k.endpoint AND model > k.model
            ORDER BY model LIMIT 1
        ), (
            SELECT seq FROM messages INDEXED BY messages_writer
            WHERE (model <> '' OR endpoint <> '') AND endpoint > k.endpoint
            ORDER BY endpoint, model LIMIT 1
        ))
    )
    SELECT endpoint, model FROM known
"""


async def writers(tx: Transaction) -> tuple[tuple[str, str], ...]:
    """Return the endpoints and models that ever replied, either of them possibly empty."""
    return tuple([(endpoint, model) for endpoint, model in await tx.rows(_WRITERS)])


async def few_of(tx: Transaction, query: Query) -> list[int] | None:
    """Return the `seq` of some messages, newest first, of which a query's results are a part.
    None where it has no such filter, or they are many.
    """
    times = of_time(query, "m.created")
    if query.message_role in ("system", "tool"):
        rows = await _few(tx, _RARE, query.message_role, times)
        if rows is not None:
            return _newest_first(rows)
    for column, value, written in (
        ("model", query.model, _BY_MODEL),
        ("endpoint", query.endpoint, _BY_ENDPOINT),
    ):
        if not value:
            continue
        by = await _few(tx, written, value, times)
        to = None if by is None else await _few(tx, _SAID_TO.format(column), value, times)
        if by is not None and to is not None and len(by) + len(to) <= _FEW:
            return _newest_first(by + to)
    return None


async def _few(
    tx: Transaction, source: str, value: str, conditions: Conditions
) -> list[Row] | None:
    """Return when messages were said and their `seq`, None where they are many: these are counted
    first, which takes a sixth of the time.
    """
    counted = f"SELECT count(*) FROM (SELECT 1 {source} LIMIT {_FEW + 1})"
    [(some,)] = await rows_where(tx, counted, (value,), conditions)
    if some > _FEW:
        return None
    return await rows_where(tx, f"SELECT m.created, m.seq {source}", (value,), conditions)


def _newest_first(rows: list[Row]) -> list[int]:
    return [seq for _, seq in sorted(rows, reverse=True)]
