"""Full-text search: finding messages and sessions by their words.

1. Only a limited number of the latest matches is ranked (see `planner`). So a word that is
   everywhere costs no more than a rare one, and whatever matches less often than the limit is
   ranked exactly.
2. The rank is higher if the words are often and early in a short text; the newer of equal matches
   comes first. Sessions with a matching title or role come before messages.
3. With the order `newest`, results are sorted by time instead.
4. Filters without words find the newest messages that pass them.
5. Secondary text, such as reasoning, comes after the text of messages, and is searched only if
   that does not fill the result. A message is found once.
6. Deleted messages and sessions in the trash are in the index, but are never found.
"""
# ruff: noqa: S608 - only our own constants are put into SQL

from __future__ import annotations

import json
from dataclasses import replace

from tui_chat.models.search import Hit, Query
from tui_chat.store.database import Database, Row, Transaction
from tui_chat.store.errors import decoding
from tui_chat.store.rows import refuse_bytes
from tui_chat.store.search import index
from tui_chat.store.search.index import (
    RANKED_LENGTH,
    SECONDARY,
    SECONDARY_PLACES,
    split_texts,
)
from tui_chat.store.search.planner import COMPARED, SearchTask, find_candidates, read_matches
from tui_chat.store.search.scans import choose_scan, select_filtered, title_filters
from tui_chat.store.search.words import TermMatcher, parse_terms

_SCAN_STEP = 400
"""Messages that are read at a time if the query has no words."""
_EXCERPT = 200
"""Characters of each of them that are shown."""

_MAX_SESSIONS = 10
"""The most sessions among the hits."""

_TITLES = f"""
    SELECT s.session_id, NULL, s.title, NULL, s.title, s.updated
    FROM title_index AS i CROSS JOIN sessions AS s ON s.seq = i.rowid
    WHERE title_index MATCH ? AND s.deleted IS NULL {{filters}}
    ORDER BY i.rowid DESC LIMIT {COMPARED}
"""

_BY_ROLE = f"""
    SELECT s.session_id, NULL, s.title, NULL, r.name, s.updated
    FROM sessions AS s JOIN roles AS r USING (role_id)
    WHERE s.role_id IN (SELECT value FROM json_each(?)) AND s.deleted IS NULL {{filters}}
    ORDER BY s.seq DESC LIMIT {COMPARED}
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


class MessageSearch:
    """Full-text search of messages and sessions."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, query: Query) -> tuple[Hit, ...]:
        """Return messages on all branches, and sessions by title or role, that fit a query. What
        was deleted is never found. Raises `InputError` if the query has neither a word nor a
        filter; no other text is wrong.

        The first search of a database from before the index takes longer: the index is built
        then.
        """
        while not await self._database.read(index.is_complete):
            await self._database.write(index.index_pending)
        return await self._database.read(lambda tx: _find(tx, query))

    async def writers(self) -> tuple[tuple[str, str], ...]:
        """Return all pairs of endpoint and model that ever replied, either possibly empty."""
        rows = await self._database.read(lambda tx: tx.rows(_WRITERS))
        return tuple([(endpoint, model) for endpoint, model in rows])


async def _find(tx: Transaction, query: Query) -> tuple[Hit, ...]:
    if query.narrows and not query.text.strip():
        return await _newest(tx, replace(query, order="newest"))
    terms = parse_terms(query.text)
    matcher = TermMatcher(terms)
    task = SearchTask(query, terms, matcher)
    rows = await find_candidates(tx, task)
    sessions = await _sessions(tx, task)
    secondary: list[Row] = []
    if query.order == "newest" or len(sessions) + len(rows) < query.limit:
        secondary = await _secondary_matches(tx, task, rows)
    if query.order == "newest":
        ordered = sorted(
            [*sessions, *rows, *secondary], key=lambda row: row[_CREATED], reverse=True
        )
    else:
        ordered = [
            *sorted(sessions, key=lambda row: matcher.score(row[_TEXT]), reverse=True),
            *_ranked(rows, matcher),
            *_ranked(secondary, matcher),
        ]
    return tuple([await _hit(tx, row, matcher) for row in ordered[: query.limit]])


async def _secondary_matches(tx: Transaction, task: SearchTask, texts: list[Row]) -> list[Row]:
    """Return messages whose secondary text matches, without those whose text does. Each row has
    that one of the secondary texts, and ends with its place.
    """
    there = "SELECT 1 FROM aside_index WHERE aside_index MATCH ? LIMIT 1"
    if await tx.row(there, task.match) is None:
        return []
    known = {row[_MESSAGE] for row in texts}
    found: list[Row] = []
    for row in await find_candidates(tx, replace(task, field=SECONDARY)):
        if row[_MESSAGE] not in known:
            placed = list(zip(split_texts(row[_TEXT]), SECONDARY_PLACES, strict=True))
            # Mostly one text has all of the words; otherwise the first with any of them counts.
            fitting = (each for each in placed if task.matcher.has_all(each[0]))
            some = (each for each in placed if task.matcher.has_any(each[0]))
            text, place = next(fitting, None) or next(some, placed[0])
            found.append((*row[:_TEXT], text, row[_CREATED], place))
    return found


def _ranked(rows: list[Row], matcher: TermMatcher) -> list[Row]:
    return sorted(
        rows,
        key=lambda row: (matcher.score(row[_TEXT][:RANKED_LENGTH]), row[_CREATED]),
        reverse=True,
    )


async def _newest(tx: Transaction, query: Query) -> tuple[Hit, ...]:
    """Return the newest messages that pass the filters, each with its beginning."""
    scan = await choose_scan(tx, query)
    rows: list[Row] = []
    while not scan.is_done:
        rows += [row[:2] for row in await scan.read(tx, _SCAN_STEP)]
        rows = sorted(rows, key=lambda row: row[1], reverse=True)[: query.limit]
        if len(rows) == query.limit and scan.newest_ahead <= rows[-1][1]:
            break
    return tuple(
        Hit(session_id, message_id, title, role, " ".join(text[:_EXCERPT].split()), (), created)
        for session_id, message_id, title, role, text, created in await read_matches(
            tx, [seq for seq, _ in rows]
        )
    )


_MESSAGE, _TEXT, _CREATED = 1, 4, 5


async def _sessions(tx: Transaction, task: SearchTask) -> list[Row]:
    """Return the sessions whose title or role matches, each once."""
    query = task.query
    if query.message_role is not None or query.session_id:
        return []
    filters = title_filters(query)
    found = await select_filtered(tx, _TITLES, (task.match,), filters)
    roles = [
        role_id
        for role_id, name in await tx.rows("SELECT role_id, name FROM roles")
        if task.matcher.has_all(name)
    ]
    if roles:
        found += await select_filtered(tx, _BY_ROLE, (json.dumps(roles),), filters)
    once = {row[0]: row for row in reversed(found)}
    newest = sorted(once.values(), key=lambda row: row[_CREATED], reverse=True)
    return newest[:_MAX_SESSIONS]


async def _hit(tx: Transaction, row: Row, matcher: TermMatcher) -> Hit:
    with decoding("message or title"):
        refuse_bytes(row)
    session_id, message_id, title, message_role, text, created, *secondary = row
    if (
        message_id is not None
        and not secondary
        and len(text) == RANKED_LENGTH
        and not matcher.has_any(text)
    ):
        whole = await tx.row("SELECT content FROM messages WHERE message_id = ?", message_id)
        text = whole[0] if whole else text
    snippet, marks = matcher.snippet(text)
    return Hit(session_id, message_id, title, message_role, snippet, marks, created, *secondary)
