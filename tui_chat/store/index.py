"""The search index: what goes into it and out of it.

1. A message is put in when it is whole: not while it streams. Its row there has its `seq`.
2. The index holds no text, so taking a row out needs the very text that was put in. Texts do not
   change after they were put in, and all removing goes through here.
3. What was there before the index waits in `unindexed_messages`, `unindexed_sessions` and
   `unindexed_asides`, and is put in step by step before the first search.
4. What stands beside a text (see `asides`) has an index of its own, so that messages without it
   cost nothing there.
"""
# ruff: noqa: S608 - only our own constants are put into SQL

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator

from tui_chat.models.text import clean
from tui_chat.store.asides import asides_of
from tui_chat.store.database import Transaction
from tui_chat.store.words import indexed

_INTO = "INSERT INTO {} (rowid, words)"
_PUT = f"{_INTO} VALUES (?, ?)"
_TAKE = "INSERT INTO {0} ({0}, rowid, words) VALUES ('delete', ?, ?)"

_PUT_ASIDES = "INSERT INTO aside_index (rowid, reasoning, calls, refusals) VALUES (?, ?, ?, ?)"
_TAKE_ASIDES = """
    INSERT INTO aside_index (aside_index, rowid, reasoning, calls, refusals)
    VALUES ('delete', ?, ?, ?, ?)
"""

_STEP = 2000
"""Rows that are put in within one transaction: some tenths of a second."""


async def add_messages(tx: Transaction, texts: Iterable[tuple[int, str]]) -> None:
    """Put in whole messages, each with its `seq`."""
    rows = ((seq, indexed(text)) for seq, text in texts if text)
    await tx.insert(_INTO.format("message_index"), rows)


_MANY_PIECES = 16
"""Pieces of the index that are joined into one. With fewer, as SQLite would have it, a large
import takes a fifth longer; with more, a search would look into too many."""


async def expect_many(tx: Transaction) -> None:
    """Have the index made in larger steps from now on."""
    if await tx.row("SELECT v FROM message_index_config WHERE k = 'automerge'") is None:
        await tx.run(
            "INSERT INTO message_index (message_index, rank) VALUES ('automerge', ?)", _MANY_PIECES
        )


async def add_asides(tx: Transaction, columns: Iterable[tuple[int, str, str]]) -> None:
    """Put in what stands beside the texts of whole messages, each with its `seq`: the columns
    with tool calls and semantics, as they are stored or as they were given.
    """
    await tx.run_many(_PUT_ASIDES, list(_aside_words(columns)))


def _aside_words(columns: Iterable[tuple[int, str, str]]) -> Iterator[tuple[object, ...]]:
    for seq, calls, semantics in columns:
        asides = asides_of(clean(calls), clean(semantics)) if calls or semantics else ()
        if any(asides):
            yield seq, *map(indexed, asides)


_LONG = 100_000
"""Characters of which the words are found on another thread: a second for ten million."""


async def add_new(tx: Transaction, seq: int, text: str, calls: str, semantics: str) -> None:
    """Put in one message that was written whole just now, with its columns as they were given."""
    if text:
        text = clean(text)
        words = indexed(text) if len(text) <= _LONG else await asyncio.to_thread(indexed, text)
        await tx.run(_PUT.format("message_index"), seq, words)
    if calls or semantics:
        await add_asides(tx, [(seq, calls, semantics)])


async def add_stored(tx: Transaction, where: str, *values: object) -> None:
    """Put in the messages that a condition on `messages` names; they are whole now."""
    rows = await tx.rows(
        f"SELECT seq, content, tool_calls, semantics FROM messages WHERE {where}", *values
    )
    await add_messages(tx, ((seq, text) for seq, text, *_ in rows))
    await add_asides(tx, ((seq, calls, semantics) for seq, _, calls, semantics in rows))


async def remove_messages(tx: Transaction, where: str, *values: object) -> None:
    """Take out the messages that a condition on `messages AS m` names, before they are removed."""
    rows = await tx.rows(
        f"SELECT m.seq, m.content FROM messages AS m WHERE ({where}) AND m.status <> 'streaming' "
        "AND m.seq NOT IN (SELECT message FROM unindexed_messages)",
        *values,
    )
    await tx.run_many(
        _TAKE.format("message_index"), ((seq, indexed(text)) for seq, text in rows if text)
    )
    beside = await tx.rows(
        f"SELECT m.seq, m.tool_calls, m.semantics FROM messages AS m WHERE ({where}) "
        "AND m.status <> 'streaming' AND (m.tool_calls <> '' OR m.semantics <> '') "
        "AND m.seq NOT IN (SELECT message FROM unindexed_asides)",
        *values,
    )
    await tx.run_many(_TAKE_ASIDES, list(_aside_words(beside)))


async def add_titles(tx: Transaction, session_ids: list[str]) -> None:
    """Put in the titles of sessions."""
    await _titles(tx, _PUT, session_ids)


async def remove_title(tx: Transaction, session_id: str) -> None:
    """Take out the title of a session, before it changes or goes."""
    await _titles(tx, _TAKE, [session_id])


async def _titles(tx: Transaction, statement: str, session_ids: list[str]) -> None:
    rows = await tx.rows(
        "SELECT seq, title FROM json_each(?) JOIN sessions ON session_id = value "
        "WHERE seq NOT IN (SELECT session FROM unindexed_sessions)",
        json.dumps(session_ids),
    )
    await tx.run_many(
        statement.format("title_index"), [(seq, indexed(title)) for seq, title in rows if title]
    )


async def is_complete(tx: Transaction) -> bool:
    """Tell whether nothing waits to be put in."""
    found = await tx.row(
        "SELECT 1 WHERE EXISTS (SELECT 1 FROM unindexed_messages) "
        "OR EXISTS (SELECT 1 FROM unindexed_sessions) "
        "OR EXISTS (SELECT 1 FROM unindexed_asides)"
    )
    return found is None


async def catch_up(tx: Transaction) -> None:
    """Put in some of what waits, newest first."""
    sessions = await tx.rows(
        "SELECT s.seq, s.title FROM unindexed_sessions AS u JOIN sessions AS s "
        f"ON s.seq = u.session ORDER BY s.seq DESC LIMIT {_STEP}"
    )
    await tx.run_many(
        _PUT.format("title_index"), [(seq, indexed(title)) for seq, title in sessions if title]
    )
    await tx.run_many("DELETE FROM unindexed_sessions WHERE session = ?", [s[:1] for s in sessions])
    messages = await tx.rows(
        "SELECT m.seq, m.content FROM unindexed_messages AS u JOIN messages AS m "
        f"ON m.seq = u.message ORDER BY m.seq DESC LIMIT {_STEP}"
    )
    await add_messages(tx, messages)
    await tx.run_many("DELETE FROM unindexed_messages WHERE message = ?", [m[:1] for m in messages])
    beside = await tx.rows(
        "SELECT m.seq, m.tool_calls, m.semantics FROM unindexed_asides AS u JOIN messages AS m "
        f"ON m.seq = u.message ORDER BY m.seq DESC LIMIT {_STEP}"
    )
    await add_asides(tx, beside)
    await tx.run_many("DELETE FROM unindexed_asides WHERE message = ?", [m[:1] for m in beside])
