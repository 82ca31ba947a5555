"""Finding messages and sessions by their words.

1. Only so many of the latest matches are ranked (see `candidates`). So a word that is everywhere
   costs no more than one that is rare, and whatever is found less often than that is ordered
   exactly.
2. Ranked, those texts come first where the words stand often and early in a short text; the age
   decides between equals. Sessions that are called so come before messages.
3. What is asked newest first is ordered by when it was said.
4. Filters alone find the newest messages that pass them.
5. What stands beside a text, such as reasoning, comes after what stands in texts, and is looked
   for where those do not fill the answer. A message is found once.
6. Deleted messages and sessions in the trash are in the index, but are never found.
"""
# ruff: noqa: S608 - only our own constants are put into SQL

from __future__ import annotations

import json
from dataclasses import replace

from tui_chat.models.search import Hit, Query
from tui_chat.store import index
from tui_chat.store.asides import ASIDES, PLACES, SCANNED, parts
from tui_chat.store.candidates import COMPARED, Sought, candidates, shown
from tui_chat.store.conditions import of_titles, rows_where
from tui_chat.store.database import Database, Row, Transaction
from tui_chat.store.faults import readable
from tui_chat.store.few import writers
from tui_chat.store.reading import reading_of
from tui_chat.store.rows import refuse_bytes
from tui_chat.store.snippets import Finder
from tui_chat.store.words import terms

_AT_ONCE = 400
"""Messages that are read at a time where no words are looked for."""
_BEGINNING = 200
"""Characters of each that are shown."""

_SESSIONS_FIRST = 10
"""Sessions that are shown at most among the hits."""

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


class Search:
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
            await self._database.write(index.catch_up)
        return await self._database.read(lambda tx: _find(tx, query))

    async def writers(self) -> tuple[tuple[str, str], ...]:
        """Return all pairs of endpoint and model that ever replied, either possibly empty."""
        return await self._database.read(writers)


async def _find(tx: Transaction, query: Query) -> tuple[Hit, ...]:
    if query.narrows and not query.text.strip():
        return await _newest(tx, replace(query, order="newest"))
    wanted = terms(query.text)
    finder = Finder(wanted)
    sought = Sought(query, wanted, finder)
    rows = await candidates(tx, sought)
    sessions = await _sessions(tx, sought)
    beside: list[Row] = []
    if query.order == "newest" or len(sessions) + len(rows) < query.limit:
        beside = await _beside(tx, sought, rows)
    if query.order == "newest":
        ordered = sorted([*sessions, *rows, *beside], key=lambda row: row[_CREATED], reverse=True)
    else:
        ordered = [
            *sorted(sessions, key=lambda row: finder.score(row[_TEXT]), reverse=True),
            *_ranked(rows, finder),
            *_ranked(beside, finder),
        ]
    return tuple([await _hit(tx, row, finder) for row in ordered[: query.limit]])


async def _beside(tx: Transaction, sought: Sought, texts: list[Row]) -> list[Row]:
    """Return messages that have the words beside their texts, those aside that were found. Each
    row ends with the place where they are, and has but that text.
    """
    there = "SELECT 1 FROM aside_index WHERE aside_index MATCH ? LIMIT 1"
    if await tx.row(there, sought.match) is None:
        return []
    known = {row[_MESSAGE] for row in texts}
    found: list[Row] = []
    for row in await candidates(tx, replace(sought, of=ASIDES)):
        if row[_MESSAGE] not in known:
            placed = list(zip(parts(row[_TEXT]), PLACES, strict=True))
            # All of the words are in one of them mostly; else that with any of them counts.
            fitting = (each for each in placed if sought.finder.has_all(each[0]))
            some = (each for each in placed if sought.finder.has_any(each[0]))
            text, place = next(fitting, None) or next(some, placed[0])
            found.append((*row[:_TEXT], text, row[_CREATED], place))
    return found


def _ranked(rows: list[Row], finder: Finder) -> list[Row]:
    return sorted(
        rows,
        key=lambda row: (finder.score(row[_TEXT][:SCANNED]), row[_CREATED]),
        reverse=True,
    )


async def _newest(tx: Transaction, query: Query) -> tuple[Hit, ...]:
    """Return the newest messages that pass the filters, each with how it begins."""
    reading = await reading_of(tx, query)
    rows: list[Row] = []
    while not reading.is_done:
        rows += [row[:2] for row in await reading.read(tx, _AT_ONCE)]
        rows = sorted(rows, key=lambda row: row[1], reverse=True)[: query.limit]
        if len(rows) == query.limit and reading.newest_ahead <= rows[-1][1]:
            break
    return tuple(
        Hit(session_id, message_id, title, role, " ".join(text[:_BEGINNING].split()), (), created)
        for session_id, message_id, title, role, text, created in await shown(
            tx, [seq for seq, _ in rows]
        )
    )


_MESSAGE, _TEXT, _CREATED = 1, 4, 5


async def _sessions(tx: Transaction, sought: Sought) -> list[Row]:
    """Return sessions that are called so, or whose role is, each once."""
    query = sought.query
    if query.message_role is not None or query.session_id:
        return []
    conditions = of_titles(query)
    found = await rows_where(tx, _TITLES, (sought.match,), conditions)
    roles = [
        role_id
        for role_id, name in await tx.rows("SELECT role_id, name FROM roles")
        if sought.finder.has_all(name)
    ]
    if roles:
        found += await rows_where(tx, _BY_ROLE, (json.dumps(roles),), conditions)
    once = {row[0]: row for row in reversed(found)}
    newest = sorted(once.values(), key=lambda row: row[_CREATED], reverse=True)
    return newest[:_SESSIONS_FIRST]


async def _hit(tx: Transaction, row: Row, finder: Finder) -> Hit:
    with readable("message or title"):
        refuse_bytes(row)
    session_id, message_id, title, message_role, text, created, *beside = row
    if message_id is not None and not beside and len(text) == SCANNED and not finder.has_any(text):
        whole = await tx.row("SELECT content FROM messages WHERE message_id = ?", message_id)
        text = whole[0] if whole else text
    snippet, marks = finder.snippet(text)
    return Hit(session_id, message_id, title, message_role, snippet, marks, created, *beside)
