"""Full-text search: finding messages and sessions by their words.

1. The index names the messages with the words in the order in which they were stored; each is
   joined with the facts that filters ask for. Only a limited number of the latest matches is
   ranked, so a word that is everywhere costs no more than a rare one, and whatever matches less
   often than the limit is ranked exactly.
2. If a filter leaves few messages, other indexes name them at once, and the matches are looked up
   among them: a common word and a rare filter would otherwise join every match in vain.
3. The rank is higher if the words are often and early in a short text; the newer of equal matches
   comes first. Sessions with a matching title or role come before messages.
4. With the order `newest`, results are sorted by time instead: those among the newest messages if
   there are enough, else all of them.
5. Filters without words find the newest messages that pass them.
6. Secondary text, such as reasoning, comes after the text of messages, and attachments come last;
   each is searched only if what is before it does not fill the result. A message is found once.
7. Deleted messages and sessions in the trash are in the index, but are never found.
"""
# ruff: noqa: S608 - only our own constants are put into SQL

from __future__ import annotations

import json
from typing import TypeAlias

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.search import Hit, Query
from tui_chat.store.database import Database, Row, Transaction
from tui_chat.store.errors import decoding
from tui_chat.store.rows import refuse_bytes
from tui_chat.store.search import index
from tui_chat.store.search.index import (
    ATTACHMENTS,
    RANKED_LENGTH,
    SECONDARY,
    SECONDARY_PLACES,
    TEXT,
    SearchField,
    split_texts,
)
from tui_chat.store.search.words import TermMatcher, match_expression, parse_terms

_Sql: TypeAlias = tuple[str, tuple[object, ...]]
"""A piece of SQL, and the values of its question marks."""

_RANKED = 150
"""The most matches that are ranked against each other."""

_FEW = 10_000
"""The most messages that a filter leaves if matches are looked up among them: with more, enough
matches pass the filters soon. Also the newest messages among which the newest matches are looked
for first."""

_EXCERPT = 200
"""Characters that are shown of a message that was found without words."""

_MAX_SESSIONS = 10
"""The most sessions among the hits."""

_INDEXED = """
    FROM {index} AS i CROSS JOIN messages AS m INDEXED BY messages_facts ON m.seq = i.rowid
    WHERE {index} MATCH ?
"""
_STORED = """
    FROM messages AS m INDEXED BY messages_facts
    WHERE m.seq NOT IN (SELECT seq FROM messages WHERE status = 'streaming')
"""
_IS_THERE = """
    m.seq NOT IN (SELECT message FROM hidden_messages)
    AND m.session_id NOT IN (SELECT session_id FROM sessions WHERE deleted IS NOT NULL)
"""
_MATCHES = """
    SELECT m.session_id, m.message_id, s.title, m.message_role, {text}, m.created
    FROM json_each(?) AS i CROSS JOIN messages AS m ON m.seq = i.value
        CROSS JOIN sessions AS s ON s.session_id = m.session_id
"""

_OF_SESSIONS = """
    SELECT m.seq FROM sessions AS s CROSS JOIN messages AS m USING (session_id)
    WHERE s.deleted IS NULL AND {}
"""
_WRITTEN = """
    SELECT seq FROM messages INDEXED BY messages_writer
    WHERE (model <> '' OR endpoint <> '') AND {}
"""
# The index is sorted by endpoint first: there are few of them, and each is one lookup.
_ENDPOINTS = """
    WITH RECURSIVE writers (named) AS (
        SELECT min(endpoint) FROM messages WHERE model <> '' OR endpoint <> ''
        UNION ALL
        SELECT (
            SELECT min(endpoint) FROM messages
            WHERE (model <> '' OR endpoint <> '') AND endpoint > named
        ) FROM writers WHERE named IS NOT NULL
    )
    SELECT named FROM writers
"""
_OF_RARE_ROLE = """
    SELECT seq FROM messages INDEXED BY messages_rare
    WHERE message_role IN ('system', 'tool') AND message_role = ?
"""

_TITLES = f"""
    SELECT s.session_id, NULL, s.title, NULL, s.title, s.updated
    FROM title_index AS i CROSS JOIN sessions AS s ON s.seq = i.rowid
    WHERE title_index MATCH ? AND s.deleted IS NULL AND {{filters}}
    ORDER BY i.rowid DESC LIMIT {_RANKED}
"""

_BY_ROLE = f"""
    SELECT s.session_id, NULL, s.title, NULL, r.name, s.updated
    FROM sessions AS s JOIN roles AS r USING (role_id)
    WHERE s.role_id IN (SELECT value FROM json_each(?)) AND s.deleted IS NULL AND {{filters}}
    ORDER BY s.seq DESC LIMIT {_RANKED}
"""


# Each step of the recursion is one look into the index, however many messages there are.
_WRITERS = """
    WITH RECURSIVE writers (endpoint, model) AS (
        SELECT * FROM (
            SELECT endpoint, model FROM messages INDEXED BY messages_writer
            WHERE model <> '' OR endpoint <> '' ORDER BY endpoint, model LIMIT 1
        )
        UNION ALL
        SELECT m.endpoint, m.model FROM writers AS w JOIN messages AS m ON m.seq = coalesce((
            SELECT seq FROM messages INDEXED BY messages_writer
            WHERE (model <> '' OR endpoint <> '') AND endpoint = w.endpoint AND model > w.model
            ORDER BY model LIMIT 1
        ), (
            SELECT seq FROM messages INDEXED BY messages_writer
            WHERE (model <> '' OR endpoint <> '') AND endpoint > w.endpoint
            ORDER BY endpoint, model LIMIT 1
        ))
    )
    SELECT endpoint, model FROM writers
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
        return await _newest(tx, query)
    terms = parse_terms(query.text)
    match, matcher = match_expression(terms), TermMatcher(terms)
    groups = [
        await _sessions(tx, query, match, matcher),
        await _read(tx, await _message_seqs(tx, query, TEXT, match), TEXT),
    ]
    for search in (_secondary_matches, _attachment_matches):
        before = [row for group in groups for row in group]
        if query.order == "newest" or len(before) < query.limit:
            groups.append(await search(tx, query, match, matcher, before))
    if query.order == "rank":
        groups = [_ranked(group, matcher) for group in groups]
    rows = [row for group in groups for row in group]
    if query.order == "newest":
        rows.sort(key=lambda row: row[_CREATED], reverse=True)
    return tuple([await _hit(tx, row, matcher) for row in rows[: query.limit]])


async def _newest(tx: Transaction, query: Query) -> tuple[Hit, ...]:
    """Return the newest messages that pass the filters, each with its beginning."""
    return tuple(
        Hit(session_id, message_id, title, role, " ".join(text[:_EXCERPT].split()), (), created)
        for session_id, message_id, title, role, text, created in await _read(
            tx, await _message_seqs(tx, query), TEXT
        )
    )


async def _message_seqs(
    tx: Transaction, query: Query, field: SearchField | None = None, match: str = ""
) -> list[int]:
    """Return the `seq` of the latest messages that pass the filters and, with a field, have the
    words in it: newest first, or for ranking in the order in which they were stored.
    """
    if field is None:
        statement, row = (_STORED, ()), "m.seq"
    else:
        statement, row = (_INDEXED.format(index=field.index), (match,)), "i.rowid"
    statement = _all_of([statement, *_message_filters(query)])
    by_time = field is None or query.order == "newest"
    count = query.limit if by_time else max(_RANKED, query.limit)
    order = "m.created DESC, m.seq DESC" if by_time else "i.rowid DESC"
    seqs: list[int] = []
    for rows in await _searched_rows(tx, query, by_time=by_time):
        sql, values = statement if rows is None else _all_of([statement, rows.condition(row)])
        if rows is None or rows.size:
            matches = await tx.rows(f"SELECT m.seq {sql} ORDER BY {order} LIMIT ?", *values, count)
            seqs = [seq for (seq,) in matches]
        if len(seqs) == count or (rows is not None and rows.is_complete):
            break
    return seqs


@dataclass(frozen=True, slots=True)
class _Rows:
    """Messages among which matches are looked up."""

    select: _Sql
    """The statement that selects their `seq`."""
    size: int
    lowest: int
    highest: int

    @classmethod
    async def count(cls, tx: Transaction, select: _Sql) -> _Rows:
        """Count what a statement selects, up to the first that is too many."""
        sql, values = select
        sql = f"{sql} LIMIT {_FEW + 1}"
        [(size, lowest, highest)] = await tx.rows(
            f"SELECT count(*), min(seq), max(seq) FROM ({sql})", *values
        )
        return cls((sql, values), size, lowest, highest)

    @property
    def is_complete(self) -> bool:
        """True if they are all that the statement selects without a limit."""
        return self.size <= _FEW

    def condition(self, row: str) -> _Sql:
        """Return the condition that the `seq` in the column `row` is one of them."""
        sql, values = self.select
        if row != "i.rowid":
            return f"{row} IN ({sql})", values
        # The index passes over what is outside of the bounds. Inside, looking its matches up (hence
        # the plus) is cheaper than asking it for each message.
        bounded = f"{row} BETWEEN ? AND ? AND +{row} IN ({sql})"
        return bounded, (self.lowest, self.highest, *values)


async def _searched_rows(
    tx: Transaction, query: Query, *, by_time: bool
) -> tuple[_Rows | None, ...]:
    """Return where to look for matches, in turn until there are enough; None is everywhere."""
    narrowed = [await _Rows.count(tx, select) for select in _narrowing(query)]
    few = [rows for rows in narrowed if rows.is_complete]
    if few:
        return (min(few, key=lambda rows: rows.size),)
    return (await _Rows.count(tx, _by_time(query)), None) if by_time else (None,)


def _narrowing(query: Query) -> list[_Sql]:
    """Return, for each filter that may leave few messages, a statement that selects them."""
    selects: list[_Sql] = []
    sessions = _session_filters(query)
    if sessions:
        selects.append(_formatted(_OF_SESSIONS, sessions))
    if query.model:
        written = _WRITTEN.format(f"model = ? AND endpoint IN ({_ENDPOINTS})")
        selects.append(_of_writer(written, "model", query.model))
    if query.endpoint:
        selects.append(_of_writer(_WRITTEN.format("endpoint = ?"), "endpoint", query.endpoint))
    if query.message_role in ("system", "tool"):
        selects.append((_OF_RARE_ROLE, (query.message_role,)))
    if query.since is not None or query.until is not None:
        selects.append(_by_time(query))
    return selects


def _of_writer(written: str, column: str, value: str) -> _Sql:
    # A user message counts as sent to the model of its session.
    return f"{written} UNION ALL {_OF_SESSIONS.format(f's.{column} = ?')}", (value, value)


def _by_time(query: Query) -> _Sql:
    newest_first = "SELECT seq FROM messages WHERE {} ORDER BY created DESC, seq DESC"
    return _formatted(newest_first, _time_filters(query, "created"))


def _message_filters(query: Query) -> list[_Sql]:
    """Return the conditions on a message `m`."""
    conditions: list[_Sql] = [(_IS_THERE, ())]
    sessions = _session_filters(query)
    if sessions:
        of_sessions = "m.session_id IN (SELECT session_id FROM sessions AS s WHERE {})"
        conditions.append(_formatted(of_sessions, sessions))
    if query.message_role is not None:
        conditions.append(("m.message_role = ?", (query.message_role,)))
    # A user message counts as sent to the model of its session.
    for column, value in (("model", query.model), ("endpoint", query.endpoint)):
        if value:
            condition = (
                f"(m.{column} = ? OR m.{column} = '' AND "
                f"(SELECT {column} FROM sessions WHERE session_id = m.session_id) = ?)"
            )
            conditions.append((condition, (value, value)))
    return [*conditions, *_time_filters(query, "m.created")]


def _title_filters(query: Query) -> list[_Sql]:
    """Return the conditions on a session `s` that is found by its title."""
    conditions: list[_Sql] = []
    for column, value in (("model", query.model), ("endpoint", query.endpoint)):
        if value:
            conditions.append((f"s.{column} = ?", (value,)))
    return [*conditions, *_session_filters(query), *_time_filters(query, "s.updated")]


def _session_filters(query: Query) -> list[_Sql]:
    """Return the conditions on the session `s` of a message; none if the query has none."""
    conditions: list[_Sql] = []
    if query.session_id:
        conditions.append(("s.session_id = ?", (query.session_id,)))
    if query.role_name:
        named = "SELECT role_id FROM roles WHERE name = ? COLLATE NOCASE"
        conditions.append((f"s.role_id IN ({named})", (query.role_name,)))
    if query.tag:
        # Only the JSON of sessions with tags is parsed.
        tagged = (
            "s.tags <> '' AND s.seq IN (SELECT t.seq FROM (SELECT seq, tags FROM sessions "
            "WHERE tags <> '') AS t JOIN json_each(t.tags) WHERE value = ?)"
        )
        conditions.append((tagged, (query.tag,)))
    return conditions


def _time_filters(query: Query, time: str) -> list[_Sql]:
    conditions: list[_Sql] = []
    if query.since is not None:
        conditions.append((f"{time} >= ?", (query.since,)))
    if query.until is not None:
        conditions.append((f"{time} < ?", (query.until,)))
    return conditions


def _all_of(conditions: list[_Sql]) -> _Sql:
    """Join conditions by AND; true if there are none."""
    return (
        " AND ".join(sql for sql, _ in conditions) or "1",
        tuple(value for _, values in conditions for value in values),
    )


def _formatted(statement: str, conditions: list[_Sql]) -> _Sql:
    """Put conditions in the place of `{}` in a statement."""
    sql, values = _all_of(conditions)
    return statement.format(sql), values


async def _read(tx: Transaction, seqs: list[int], field: SearchField) -> list[Row]:
    """Return session id, message id, title, role, text of a field, and time of messages."""

    def decoded(_: object, row: Row) -> Row:
        return *row[:_TEXT], field.read(row[_TEXT]), row[_CREATED]

    return await tx.map_rows(decoded, _MATCHES.format(text=field.columns), json.dumps(seqs))


async def _secondary_matches(
    tx: Transaction, query: Query, match: str, matcher: TermMatcher, found: list[Row]
) -> list[Row]:
    """Return messages whose secondary text matches, without those that were found before. Each row
    has that one of the secondary texts, and ends with its place.
    """
    matches: list[Row] = []
    for row in await _later_matches(tx, query, SECONDARY, match, found):
        placed = list(zip(split_texts(row[_TEXT]), SECONDARY_PLACES, strict=True))
        # Mostly one text has all of the words; otherwise the first with any of them counts.
        with_all = (pair for pair in placed if matcher.has_all(pair[0]))
        with_any = (pair for pair in placed if matcher.has_any(pair[0]))
        text, place = next(with_all, None) or next(with_any, placed[0])
        matches.append((*row[:_TEXT], text, row[_CREATED], place))
    return matches


async def _attachment_matches(
    tx: Transaction, query: Query, match: str, matcher: TermMatcher, found: list[Row]
) -> list[Row]:
    """Return the same for attachments."""
    rows = await _later_matches(tx, query, ATTACHMENTS, match, found)
    return [(*row, "attachment") for row in rows]


async def _later_matches(
    tx: Transaction, query: Query, field: SearchField, match: str, found: list[Row]
) -> list[Row]:
    """Return the messages that match in a field, without those that were found before."""
    exists = f"SELECT 1 FROM {field.index} WHERE {field.index} MATCH ? LIMIT 1"
    if await tx.row(exists, match) is None:
        return []
    before = {row[_MESSAGE] for row in found}
    rows = await _read(tx, await _message_seqs(tx, query, field, match), field)
    return [row for row in rows if row[_MESSAGE] not in before]


def _ranked(rows: list[Row], matcher: TermMatcher) -> list[Row]:
    return sorted(
        rows,
        key=lambda row: (matcher.score(row[_TEXT][:RANKED_LENGTH]), row[_CREATED]),
        reverse=True,
    )


_MESSAGE, _TEXT, _CREATED = 1, 4, 5


async def _sessions(tx: Transaction, query: Query, match: str, matcher: TermMatcher) -> list[Row]:
    """Return the sessions whose title or role matches, each once."""
    if query.message_role is not None or query.session_id:
        return []
    filters, values = _all_of(_title_filters(query))
    sessions = await tx.rows(_TITLES.format(filters=filters), match, *values)
    roles = [
        role_id
        for role_id, name in await tx.rows("SELECT role_id, name FROM roles")
        if matcher.has_all(name)
    ]
    if roles:
        by_role = _BY_ROLE.format(filters=filters)
        sessions += await tx.rows(by_role, json.dumps(roles), *values)
    once = {row[0]: row for row in reversed(sessions)}
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
    snippet, marks = matcher.snippet(matcher.part_with_term(text))
    return Hit(session_id, message_id, title, message_role, snippet, marks, created, *secondary)
