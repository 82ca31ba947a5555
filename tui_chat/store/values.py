"""Stored values that only our own readers understand: which of them are not what they were.

SQLite finds nothing wrong with them: a byte within a text may be another one without anything
around it falling apart.
"""
# ruff: noqa: S608 - only names of our own tables are put into SQL

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tui_chat.model.endpoint import Protocol
from tui_chat.store.faults import UNREADABLE
from tui_chat.store.received import times_of
from tui_chat.store.requests import recipe_of
from tui_chat.store.rows import JsonField, json_value, names_of


@dataclass(frozen=True, slots=True)
class Wrong:
    """A value that is not what it was."""

    sentence: str
    without: str
    """What makes its row do without it."""
    seq: int
    """Its row: the value of that statement."""


def unreadable(connection: sqlite3.Connection) -> Iterator[Wrong]:
    """Find values that cannot be read, in an open database of any version."""
    for table, column, of, read in _READERS:
        if not _has(connection, table, column):
            continue
        for seq, name, text in connection.execute(
            f"SELECT seq, {_NAMES[table]}, {column} FROM {table} WHERE {column} <> ''"
        ):
            try:
                read(text)
            except UNREADABLE:
                yield Wrong(f"The {column} of {of} {name} cannot be read.", _without(column), seq)


def altered(connection: sqlite3.Connection) -> Iterator[Wrong]:
    """Find requests whose bytes are not those that were sent."""
    for seq, message, sha256, body in connection.execute(
        "SELECT seq, message_id, sha256, body FROM requests WHERE body IS NOT NULL"
    ):
        if hashlib.sha256(body).hexdigest() != sha256:
            sentence = f"The request kept for {message} is not the one that was sent."
            yield Wrong(sentence, "UPDATE requests SET body = NULL WHERE seq = ?", seq)


def _has(connection: sqlite3.Connection, table: str, column: str) -> bool:
    found = connection.execute(
        "SELECT 1 FROM pragma_table_info(?) WHERE name = ?", (table, column)
    ).fetchone()
    return found is not None


def _field(field: JsonField) -> Callable[[str], object]:
    return lambda text: json_value(field, text)


_READERS: tuple[tuple[str, str, str, Callable[[str], object]], ...] = (
    ("messages", "parts", "message", _field("parts")),
    ("messages", "tool_calls", "message", _field("tool_calls")),
    ("messages", "semantics", "message", _field("semantics")),
    ("sessions", "tags", "session", names_of),
    ("sessions", "lorebooks", "session", names_of),
    ("requests", "recipe", "the request for", recipe_of),
    ("requests", "protocol", "the request for", Protocol),
    ("received", "times", "the response of", times_of),
)
"""Table, column, what a row of it is, and what reads the column."""

_NAMES = {
    "messages": "message_id",
    "sessions": "session_id",
    "requests": "message_id",
    "received": "message_id",
}

_NEEDED = {"protocol": "requests", "times": "received"}
"""Columns without which the row says nothing."""


def _without(column: str) -> str:
    if table := _NEEDED.get(column):
        return f"DELETE FROM {table} WHERE seq = ?"
    if column == "recipe":
        return "UPDATE requests SET recipe = '{}' WHERE seq = ?"
    table = "sessions" if column in ("tags", "lorebooks") else "messages"
    return f"UPDATE {table} SET {column} = '' WHERE seq = ?"
