"""Full-text search: finding messages and sessions by their words.

1. Sessions with a matching title or role come first, then messages that have all terms.
2. SQLite ranks (`bm25`), which visits every match: text weighs most, then reasoning, calls and a
   refusal, then attachments. What more than `MOST_RANKED` messages have is listed newest first, and
   the result says so.
3. By time, the newest messages are looked through first, and all only if these do not suffice.
4. Deleted messages and sessions in the trash are in the index, but are never found.
"""
# ruff: noqa: S608 - only our own constants are put into SQL

from __future__ import annotations

import json

from tui_chat.models.search import Hit, HitPlace, Hits, Query
from tui_chat.store import index
from tui_chat.store.database import Database, Row, Transaction
from tui_chat.store.errors import decoding
from tui_chat.store.rows import refuse_bytes
from tui_chat.store.words import CLOSE, OPEN, match_expression, readable_snippet

MOST_RANKED = 5_000
"""The most matches that are ranked."""
NEWEST = 4_000
"""The newest messages, among which matches are looked for first."""
_EXCERPT = 200
"""Characters that are shown of a message that was found without words."""
_MOST_SESSIONS, _MOST_TITLES = 10, 150
"""The most sessions among the hits, and the newest titles that are compared."""
_END = 2**62

_PLACES: tuple[HitPlace, ...] = ("text", "reasoning", "call", "refusal", "attachment")
"""The place of a hit in each column of the index."""
_RANK = "bm25(texts, 10, 1, 1, 1, 0.1)"

# The filters are ?1 to ?8 of every statement; an empty one, or NULL, filters nothing.
_SESSION_PASSES = """
    s.deleted IS NULL
    AND (?2 = '' OR s.role_id IN (SELECT role_id FROM roles WHERE name = ?2 COLLATE NOCASE))
    AND (?3 = '' OR EXISTS (SELECT 1 FROM json_each(nullif(s.tags, '')) WHERE value = ?3))
"""
# A user message counts as sent to the model of its session.
_MESSAGE_PASSES = f"""
    m.hidden IS NULL AND (?1 = '' OR m.session_id = ?1) AND (?4 = '' OR m.message_role = ?4)
    AND (?5 = '' OR iif(m.model <> '', m.model, s.model) = ?5)
    AND (?6 = '' OR iif(m.endpoint <> '', m.endpoint, s.endpoint) = ?6)
    AND (?7 IS NULL OR m.created >= ?7) AND (?8 IS NULL OR m.created < ?8) AND {_SESSION_PASSES}
"""
_TITLE_PASSES = f"""
    ?1 = '' AND ?4 = '' AND (?5 = '' OR s.model = ?5) AND (?6 = '' OR s.endpoint = ?6)
    AND (?7 IS NULL OR s.updated >= ?7) AND (?8 IS NULL OR s.updated < ?8) AND {_SESSION_PASSES}
"""
_MATCHES = f"""
    FROM texts CROSS JOIN messages AS m INDEXED BY messages_facts ON m.seq = texts.rowid
    CROSS JOIN sessions AS s ON s.session_id = m.session_id
    WHERE texts MATCH ?9 AND texts.rowid BETWEEN ?10 AND ?11 AND {_MESSAGE_PASSES}
"""
# Messages among which matches are looked for, with ?12 as the most; the plus signs keep SQLite from
# running the query anew for each of them.
_OF_SESSION = "SELECT seq FROM messages WHERE session_id = ?1 LIMIT ?12"
_OF_TIME = """
    SELECT seq FROM messages WHERE created >= ifnull(?7, 0) AND created < ifnull(?8, 9e99)
    ORDER BY created DESC, seq DESC LIMIT ?12
"""


class MessageSearch:
    """Full-text search of messages and sessions."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, query: Query) -> Hits:
        """Return messages on all branches, and sessions by title or role, that fit a query. What
        was deleted is never found. Raises `InputError` if the query has neither a word nor a
        filter; no other text is wrong.

        The first search after an update takes longer: it completes the index.
        """
        database = self._database
        while not await database.read(index.is_complete):
            await database.write(index.put_batch)
        return await database.read(lambda tx: _find(tx, query))

    async def writers(self) -> tuple[tuple[str, str], ...]:
        """Return all pairs of endpoint and model that ever replied, either possibly empty."""
        rows = await self._database.rows(
            "SELECT DISTINCT endpoint, model FROM messages WHERE endpoint <> '' OR model <> '' "
            "ORDER BY endpoint, model"
        )
        return tuple((endpoint, model) for endpoint, model in rows)


async def _find(tx: Transaction, query: Query) -> Hits:
    if query.narrows and not query.text.strip():
        return await _newest(tx, query)
    terms = match_expression(query.text)
    seqs, is_ranked = await _seqs(tx, query, terms)
    hits = [*await _sessions(tx, query, terms), *await _message_hits(tx, query, terms, seqs)]
    if query.order == "newest":
        hits.sort(key=lambda hit: hit.created, reverse=True)
    return Hits(hits[: query.limit], is_ranked=is_ranked)


def _filters(query: Query) -> tuple[object, ...]:
    """Return the values of ?1 to ?8."""
    return (
        *(query.session_id, query.role_name, query.tag, query.message_role or ""),
        *(query.model, query.endpoint, query.since, query.until),
    )


async def _newest(tx: Transaction, query: Query) -> Hits:
    """Return the newest messages that pass the filters, each with its beginning."""
    rows = await tx.rows(
        "SELECT m.seq FROM messages AS m INDEXED BY messages_created "
        "CROSS JOIN sessions AS s ON s.session_id = m.session_id "
        f"WHERE m.status <> 'streaming' AND {_MESSAGE_PASSES} "
        "ORDER BY m.created DESC, m.seq DESC LIMIT ?9",
        *(*_filters(query), query.limit),
    )
    rows = await tx.rows(
        "SELECT m.session_id, m.message_id, s.title, m.message_role, substr(m.content, 1, ?2), "
        "m.created FROM json_each(?1) CROSS JOIN messages AS m ON m.seq = value "
        "JOIN sessions AS s USING (session_id)",
        *(json.dumps([seq for (seq,) in rows]), _EXCERPT),
    )
    return Hits(
        Hit(session_id, message_id, title, role, " ".join(text.split()), (), created)
        for session_id, message_id, title, role, text, created in rows
    )


async def _seqs(tx: Transaction, query: Query, match: str) -> tuple[list[int], bool]:
    """Return the `seq` of the first messages that match and pass the filters, and whether they are
    ranked.
    """
    is_few, limit = await _has_few(tx, match), query.limit
    by_rank = is_few and query.order == "rank"
    order = f"{_RANK}, m.created DESC" if by_rank else "m.created DESC, m.seq DESC"
    sql, filters = f"SELECT m.seq {_MATCHES}", _filters(query)
    rows: list[Row] = []
    if query.session_id or not is_few:
        within = _OF_SESSION if query.session_id else _OF_TIME
        most = _END if query.session_id else NEWEST
        [(low, high, size)] = await tx.rows(
            f"SELECT min(seq), max(seq), count(*) FROM ({within})", *filters, *(0, 0, 0), most
        )
        rows = await tx.rows(
            f"{sql} AND +texts.rowid IN ({within}) ORDER BY {order} LIMIT ?13",
            *(*filters, match, low, high, most, limit),
        )
        if len(rows) == limit or size < most:
            return [seq for (seq,) in rows], is_few
    values = (*filters, match, 1, _END, limit)
    rows = await tx.rows(f"{sql} ORDER BY {order} LIMIT ?12", *values)
    return [seq for (seq,) in rows], is_few


async def _has_few(tx: Transaction, match: str) -> bool:
    """Return True if all that matches can be ranked."""
    [(count,)] = await tx.rows(
        "SELECT count(*) FROM (SELECT 1 FROM texts WHERE texts MATCH ? AND rowid > 0 LIMIT ?)",
        *(match, MOST_RANKED + 1),
    )
    return count <= MOST_RANKED


async def _message_hits(tx: Transaction, query: Query, match: str, seqs: list[int]) -> list[Hit]:
    """Return the hits of messages, in one statement, since each begins the query anew."""
    if not seqs:
        return []
    columns = range(len(_PLACES))
    snippets = ", ".join(f"snippet(texts, {column}, ?5, ?6, '…', 30)" for column in columns)
    rows = await tx.rows(
        "SELECT m.seq, m.session_id, m.message_id, s.title, m.message_role, m.created, "
        f"{snippets} FROM texts CROSS JOIN messages AS m ON m.seq = texts.rowid "
        "JOIN sessions AS s USING (session_id) "
        "WHERE texts MATCH ?1 AND texts.rowid BETWEEN ?2 AND ?3 "
        "AND +texts.rowid IN (SELECT value FROM json_each(?4))",
        *(match, min(seqs), max(seqs), json.dumps(seqs), OPEN, CLOSE),
    )
    hits = {row[0]: _message_hit(row[1:], query) for row in rows}
    return [hits[seq] for seq in seqs]


def _message_hit(row: Row, query: Query) -> Hit:
    with decoding("message or title"):
        refuse_bytes(row)
    session_id, message_id, title, role, created, *snippets = row
    column = next((number for number, text in enumerate(snippets) if OPEN in text), 0)
    snippet, marks = readable_snippet(snippets[column], query.text)
    return Hit(session_id, message_id, title, role, snippet, marks, created, _PLACES[column])


_BY_TITLE = f"""
    SELECT s.session_id, s.title, s.updated, snippet(texts, 0, ?10, ?11, '…', 30)
    FROM texts CROSS JOIN sessions AS s ON s.seq = -texts.rowid
    WHERE texts MATCH ?9 AND texts.rowid BETWEEN {index.ROLES} AND -1 AND {_TITLE_PASSES}
    ORDER BY texts.rowid LIMIT {_MOST_TITLES}
"""
_BY_ROLE = f"""
    SELECT s.session_id, s.title, s.updated, snippet(texts, 0, ?10, ?11, '…', 30)
    FROM texts CROSS JOIN roles AS r ON r.seq = {index.ROLES} - texts.rowid
    CROSS JOIN sessions AS s ON s.role_id = r.role_id
    WHERE texts MATCH ?9 AND texts.rowid < {index.ROLES} AND {_TITLE_PASSES}
    ORDER BY s.seq DESC LIMIT {_MOST_TITLES}
"""


async def _sessions(tx: Transaction, query: Query, terms: str) -> list[Hit]:
    """Return the sessions whose title or role matches, each once."""
    found: dict[str, Hit] = {}
    for sql in (_BY_TITLE, _BY_ROLE):
        for row in await tx.rows(sql, *_filters(query), terms, OPEN, CLOSE):
            with decoding("title"):
                refuse_bytes(row)
            session_id, title, updated, snippet = row
            shown, marks = readable_snippet(snippet, query.text)
            hit = Hit(session_id, None, title, None, shown, marks, updated)
            found.setdefault(session_id, hit)
    newest = sorted(found.values(), key=lambda hit: hit.created, reverse=True)
    return [] if query.session_id else newest[:_MOST_SESSIONS]
