"""Integrity checks, also of what SQLite cannot check: trees, heads, counts, hashes, JSON.

All checks read the same state of the file, even while the app has it open, and change nothing.
"""
# ruff: noqa: S608 - only names of our own tables are put into SQL

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from zlib import crc32

from tui_chat.extensions import plugin_tables
from tui_chat.lazy_dataclass import dataclass
from tui_chat.plugins.maintenance.faults import (
    UNREACHED,
    WRONG_HEADS,
    altered_requests,
    undecodable_values,
)
from tui_chat.store import schema
from tui_chat.store.access import open_for_reading
from tui_chat.store.errors import DECODE_ERRORS, describe_damage, store_errors
from tui_chat.store.search.index import attachment_text_of, secondary_texts_of
from tui_chat.store.search.words import index_words

DERIVED_CHECKS = ("counts", "search")
"""Names of checks of derived data, which can be rebuilt."""

_SHOWN = 5  # faults of one check that are listed; the others are counted


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one check."""

    name: str
    faults: tuple[str, ...]
    """A sentence for each fault."""


def check(path: Path, report: Callable[[CheckResult], object]) -> tuple[CheckResult, ...]:
    """Run all checks, calling `report` with the result of each.

    Raises InputError or StoreError if the file cannot be opened at all.
    """
    done: list[CheckResult] = []
    with open_for_reading(path) as connection, store_errors(path):
        for name, look in _CHECKS:
            try:
                check = CheckResult(name, tuple(_limited(look(connection))))
            except (sqlite3.DatabaseError, *DECODE_ERRORS) as error:
                if not (fault := describe_damage(error)):
                    raise
                check = CheckResult(name, (f"The file is damaged: {fault}.",))
            report(check)
            done.append(check)
    return tuple(done)


def _limited(faults: Iterator[str]) -> Iterator[str]:
    left = 0
    for number, fault in enumerate(faults):
        if number < _SHOWN:
            yield fault
        else:
            left += 1
    if left:
        yield f"... and {left:,} more."


def _pages(connection: sqlite3.Connection) -> Iterator[str]:
    for (verdict,) in connection.execute("PRAGMA integrity_check"):
        if verdict != "ok":
            yield " ".join(str(verdict).split())


def _shape(connection: sqlite3.Connection) -> Iterator[str]:
    """Compare tables, indexes and triggers with those that the version should have."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as fresh:
        version = schema.version_of(connection)
        schema.migrate(fresh, Path(":memory:"), schema.migrations()[:version])
        expected, actual = _objects(fresh), _objects(connection)
    for name in expected.keys() - actual.keys():
        yield f"{name} is missing."
    of_plugins = {f"table {name}" for name in plugin_tables()}
    for name in actual.keys() - expected.keys() - of_plugins:
        yield f"{name} is unexpected."
    for name in expected.keys() & actual.keys():
        if expected[name] != actual[name]:
            yield f"{name} has a different definition."


def _objects(connection: sqlite3.Connection) -> dict[str, str]:
    return {
        f"{kind} {name}": " ".join(sql.split())
        for kind, name, sql in connection.execute(
            "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL"
            " AND name NOT LIKE 'sqlite_%'"
        )
    }


def _references(connection: sqlite3.Connection) -> Iterator[str]:
    for table, rowid, parent, _ in connection.execute("PRAGMA foreign_key_check"):
        yield f"Row {rowid} of {table} refers to a missing row of {parent}."


def _trees(connection: sqlite3.Connection) -> Iterator[str]:
    for message, session in connection.execute(
        "SELECT m.message_id, m.session_id FROM messages AS m "
        "JOIN messages AS p ON p.message_id = m.parent_id WHERE p.session_id <> m.session_id"
    ):
        yield f"Message {message} of session {session} follows a message of another session."
    for (seq,) in connection.execute(UNREACHED):
        yield f"Message {seq} cannot be reached from any first message."
    for (seq,) in connection.execute(WRONG_HEADS):
        yield f"Session {seq} shows a message that is not its own."


def _hidden(connection: sqlite3.Connection) -> Iterator[str]:
    if schema.version_of(connection) < _HIDDEN_SINCE:
        return
    for (message,) in connection.execute(_WRONGLY_HIDDEN):
        yield f"Message {message} is deleted, but messages after it are visible."


_HIDDEN_SINCE = _COUNTED_SINCE = 3

_WRONGLY_HIDDEN = """
    SELECT p.message_id FROM hidden_messages AS h JOIN messages AS p ON p.seq = h.message
    WHERE EXISTS (SELECT 1 FROM sessions AS s WHERE s.head_id = p.message_id)
       OR EXISTS (SELECT 1 FROM messages AS m WHERE m.parent_id = p.message_id
                  AND m.seq NOT IN (SELECT message FROM hidden_messages))
"""


def _counts(connection: sqlite3.Connection) -> Iterator[str]:
    if schema.version_of(connection) < _COUNTED_SINCE:
        return
    for title, kept, true in connection.execute(_MISCOUNTED):
        yield f"The count of session “{title}” is {kept:,}, but it has {true:,} messages."


_MISCOUNTED = """
    SELECT s.title, s.message_count, count(m.seq) - count(h.message) AS true
    FROM sessions AS s
    LEFT JOIN messages AS m ON m.session_id = s.session_id
    LEFT JOIN hidden_messages AS h ON h.message = m.seq
    GROUP BY s.seq HAVING true <> s.message_count
"""


def _search(connection: sqlite3.Connection) -> Iterator[str]:
    """Compare the content of the indexes with the texts."""
    version = schema.version_of(connection)
    # Joined by line breaks, so that words of different parts stay separate.
    connection.create_function("asides", 2, _asides, deterministic=True)
    connection.create_function("attachments", 1, attachment_text_of, deterministic=True)
    indexes = {name: where for name, (since, where) in _INDEXES.items() if since <= version}
    for index, expected_ids in indexes.items():
        indexed_ids = f"SELECT id FROM {index}_docsize"
        for one, other, words in (
            (expected_ids, indexed_ids, "is not in the search index"),
            (indexed_ids, expected_ids, "is in the search index, but should not be"),
        ):
            for (seq,) in connection.execute(f"{one} EXCEPT {other}"):
                yield f"{index.split('_')[0].capitalize()} {seq} {words}."
    for index in indexes:
        texts = indexes[index].replace("seq", _TEXTS[index], 1)
        if _words_in(connection, index) != _words_of(connection, texts):
            yield f"The words in the {index.replace('_', ' ')} differ from those of the texts."


def _words_in(connection: sqlite3.Connection, index: str) -> int:
    """Return a checksum of the words of an index, each counted once per text.

    FTS5's own integrity check needs to write.
    """
    connection.execute(f"CREATE VIRTUAL TABLE temp.held USING fts5vocab(main, {index}, row)")
    try:
        held = connection.execute("SELECT term, doc FROM temp.held")
        return sum(crc32(word.encode()) * texts for word, texts in held)
    finally:
        connection.execute("DROP TABLE temp.held")


def _words_of(connection: sqlite3.Connection, texts: str) -> int:
    """Return the same checksum for texts."""
    return sum(
        sum(map(crc32, set(_TOKEN.findall(index_words(text).encode().lower()))))
        for (text,) in connection.execute(texts)
    )


_TOKEN = re.compile(rb"[0-9a-z\x80-\xff]+")
"""A word of the index (https://www.sqlite.org/fts5.html, “Ascii Tokenizer”)."""


def _asides(tool_calls: str, semantics: str) -> str:
    return "\n".join(secondary_texts_of(tool_calls, semantics)).strip()


_INDEXES = {
    "message_index": (
        4,
        "SELECT seq FROM messages WHERE status <> 'streaming' AND content <> '' "
        "AND seq NOT IN (SELECT message FROM unindexed_messages)",
    ),
    "title_index": (
        4,
        "SELECT seq FROM sessions WHERE title <> '' "
        "AND seq NOT IN (SELECT session FROM unindexed_sessions)",
    ),
    "aside_index": (
        9,
        "SELECT seq FROM messages WHERE status <> 'streaming' "
        "AND (tool_calls <> '' OR semantics <> '') AND asides(tool_calls, semantics) <> '' "
        "AND seq NOT IN (SELECT message FROM unindexed_asides)",
    ),
    "attachment_index": (
        16,
        "SELECT seq FROM messages WHERE status <> 'streaming' "
        "AND parts <> '' AND attachments(parts) <> '' "
        "AND seq NOT IN (SELECT message FROM unindexed_attachments)",
    ),
}
"""Each index: the version that added it, and SQL for its rows."""

_TEXTS = {
    "message_index": "content",
    "title_index": "title",
    "aside_index": "asides(tool_calls, semantics)",
    "attachment_index": "attachments(parts)",
}
"""SQL for the indexed text of these rows."""


def _values(connection: sqlite3.Connection) -> Iterator[str]:
    return (wrong.sentence for wrong in undecodable_values(connection))


def _requests(connection: sqlite3.Connection) -> Iterator[str]:
    return (wrong.sentence for wrong in altered_requests(connection))


_CHECKS: tuple[tuple[str, Callable[[sqlite3.Connection], Iterator[str]]], ...] = (
    ("pages and indexes", _pages),
    ("tables", _shape),
    ("references", _references),
    ("branches", _trees),
    ("deletions", _hidden),
    ("counts", _counts),
    ("search", _search),
    ("values", _values),
    ("requests", _requests),
)
