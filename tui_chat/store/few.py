"""The messages that a filter lets pass, where they are few.

Who wrote a message is a filter that may leave next to nothing: tools, or a model that was tried
once. Indexes name those messages at once, and nothing else need be read.
"""
# ruff: noqa: S608 - only our own constants are put into SQL

from __future__ import annotations

from tui_chat.model.search import Query
from tui_chat.store.conditions import of_time, rows_where
from tui_chat.store.database import Row, Transaction

_FEW = 4_000

_RARE = f"""
    SELECT m.created, m.seq FROM messages AS m INDEXED BY messages_rare
    WHERE m.message_role IN ('system', 'tool') AND m.message_role = ? {{filters}} LIMIT {_FEW + 1}
"""

# The index is sorted by endpoint first: there are few of them, and each is one look.
_WRITTEN = f"""
    WITH RECURSIVE known (asked) AS (
        SELECT min(endpoint) FROM messages WHERE model <> '' OR endpoint <> ''
        UNION ALL
        SELECT (
            SELECT min(endpoint) FROM messages
            WHERE (model <> '' OR endpoint <> '') AND endpoint > asked
        ) FROM known WHERE asked IS NOT NULL
    )
    SELECT m.created, m.seq FROM messages AS m INDEXED BY messages_writer
    WHERE (m.model <> '' OR m.endpoint <> '') AND {{by}} {{{{filters}}}} LIMIT {_FEW + 1}
"""
_BY_MODEL = _WRITTEN.format(by="m.endpoint IN (SELECT asked FROM known) AND m.model = ?")
_BY_ENDPOINT = _WRITTEN.format(by="m.endpoint = ?")

_SAID_TO = f"""
    SELECT m.created, m.seq FROM sessions AS s CROSS JOIN messages AS m USING (session_id)
    WHERE s.{{0}} = ? AND m.{{0}} = '' {{{{filters}}}} LIMIT {_FEW + 1}
"""


async def few_of(tx: Transaction, query: Query) -> list[int] | None:
    """Return the `seq` of some messages, newest first, of which a query's results are a part.
    None where it has no such filter, or they are many.
    """
    times = of_time(query, "m.created")
    if query.message_role in ("system", "tool"):
        rows = await rows_where(tx, _RARE, (query.message_role,), times)
        if len(rows) <= _FEW:
            return _newest_first(rows)
    for column, value, written in (
        ("model", query.model, _BY_MODEL),
        ("endpoint", query.endpoint, _BY_ENDPOINT),
    ):
        if not value:
            continue
        rows = await rows_where(tx, written, (value,), times)
        if len(rows) <= _FEW:
            rows += await rows_where(tx, _SAID_TO.format(column), (value,), times)
        if len(rows) <= _FEW:
            return _newest_first(rows)
    return None


def _newest_first(rows: list[Row]) -> list[int]:
    return [seq for _, seq in sorted(rows, reverse=True)]
