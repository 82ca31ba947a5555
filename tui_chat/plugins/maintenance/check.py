"""Integrity checks, also of what SQLite cannot check: trees, heads, counts, hashes, JSON.

All checks read the same state of the file, even while the app has it open, and change nothing.
"""
# ruff: noqa: S608 - only names of our own tables are put into SQL

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from tui_chat.hooks import plugins
from tui_chat.lazy_dataclass import dataclass
from tui_chat.plugins.maintenance.faults import (
    UNREACHED,
    WRONG_HEADS,
    altered_requests,
    hidden_messages,
    undecodable_values,
)
from tui_chat.store import schema
from tui_chat.store.access import open_for_reading
from tui_chat.store.errors import DECODE_ERRORS, describe_damage, store_errors
from tui_chat.store.index import ROLES, indexed_rows

REPAIRED = ("counts", "search", "values", "requests")
"""Names of checks whose faults `repair` removes."""

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
    of_plugins = {f"table {name}" for plugin in plugins() for name in plugin.tables}
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
    hidden = hidden_messages(connection)
    for (message,) in connection.execute(
        f"SELECT p.message_id FROM messages AS p WHERE p.seq IN ({hidden}) AND ("
        "EXISTS (SELECT 1 FROM sessions AS s WHERE s.head_id = p.message_id) "
        "OR EXISTS (SELECT 1 FROM messages AS m WHERE m.parent_id = p.message_id "
        f"AND m.seq NOT IN ({hidden})))"
    ):
        yield f"Message {message} is deleted, but messages after it are visible."


_COUNTED_SINCE = 3
_SEARCHED_SINCE = 21
"""The version of the present search index; those before it are made anew by an update."""


def _counts(connection: sqlite3.Connection) -> Iterator[str]:
    if schema.version_of(connection) < _COUNTED_SINCE:
        return
    for title, kept, true in connection.execute(
        "SELECT s.title, s.message_count, count(m.seq) AS true FROM sessions AS s "
        "LEFT JOIN messages AS m ON m.session_id = s.session_id "
        f"AND m.seq NOT IN ({hidden_messages(connection)}) "
        "GROUP BY s.seq HAVING true <> s.message_count"
    ):
        yield f"The count of session “{title}” is {kept:,}, but it has {true:,} messages."


def _search(connection: sqlite3.Connection) -> Iterator[str]:
    """Compare the search index with a new one of the same texts, which is temporary: FTS5's own
    check needs to write.
    """
    if schema.version_of(connection) < _SEARCHED_SINCE:
        return
    (sql,) = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'texts'").fetchone()
    connection.execute(sql.replace("TABLE texts", "TABLE temp.again"))
    connection.executemany(
        "INSERT INTO temp.again (rowid, text, reasoning, calls, refusal, files) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        indexed_rows(connection),
    )
    for one, other, words in (
        ("temp.again", "main.texts", "is not in the search index"),
        ("main.texts", "temp.again", "is in the search index, but should not be"),
    ):
        for (rowid,) in connection.execute(
            f"SELECT rowid FROM {one} EXCEPT SELECT rowid FROM {other}"
        ):
            yield f"{_name_of(rowid)} {words}."
    rows, words = "SELECT rowid, * FROM {}", "SELECT term, doc, cnt FROM temp.{}_words"
    for schema_name, table in (("main", "texts"), ("temp", "again")):
        connection.execute(
            f"CREATE VIRTUAL TABLE temp.{table}_words USING fts5vocab({schema_name}, {table}, row)"
        )
    for select in (rows, words):
        new, stored = select.format("again"), select.format("texts")
        for one, other in ((new, stored), (stored, new)):
            if connection.execute(f"{one} EXCEPT {other} LIMIT 1").fetchone() is not None:
                yield "The words in the search index differ from those of the texts."
                return


def _name_of(rowid: int) -> str:
    if rowid > 0:
        return f"Message {rowid}"
    return f"Title {-rowid}" if rowid > ROLES else f"Role {ROLES - rowid}"


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
