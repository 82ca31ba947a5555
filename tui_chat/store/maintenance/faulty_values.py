"""Stored values that are not what was written, and how to repair their rows.

SQLite finds nothing wrong with most of them: a byte within a text may be another one without
anything around it falling apart.
"""
# ruff: noqa: S608 - only names of our own tables are put into SQL

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias, get_args

from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import MESSAGE_ROLES
from tui_chat.models.session import EntryStatus
from tui_chat.store.errors import DECODE_ERRORS
from tui_chat.store.requests import recipe_of, times_of
from tui_chat.store.rows import JsonField, json_value, names_of


@dataclass(frozen=True, slots=True)
class FaultyValue:
    """A value that is not what was written."""

    sentence: str
    without: str
    """The statement that replaces the value or deletes its row."""
    seq: int
    """The `seq` of its row: the value for that statement."""


_Table: TypeAlias = Literal[
    "messages", "sessions", "roles", "requests", "received", "reply_changes"
]
_ROW_NAMES: dict[_Table, tuple[str, str]] = {
    "messages": ("message", "message_id"),
    "sessions": ("session", "session_id"),
    "roles": ("role", "role_id"),
    "requests": ("the request for", "message_id"),
    "received": ("the response of", "message_id"),
    "reply_changes": ("the reply", "message_id"),
}
"""What a row is called in sentences, and its key column."""

_READERS: tuple[tuple[_Table, str, Callable[[str], object], str], ...] = (
    *(("messages", name, partial(json_value, name), "''") for name in get_args(JsonField)),
    ("sessions", "tags", names_of, "''"),
    ("sessions", "lorebooks", names_of, "''"),
    ("requests", "recipe", recipe_of, "'{}'"),
    ("requests", "protocol", Protocol, ""),
    ("received", "times", times_of, ""),
)
"""A table, a column, what reads it, and what is to stand there where it cannot be read; where
nothing can, the row goes."""

_STATUS = get_args(EntryStatus)
_KNOWN_VALUES: tuple[tuple[_Table, str, tuple[object, ...], str], ...] = (
    ("messages", "message_role", MESSAGE_ROLES, "iif(model = '', 'user', 'assistant')"),
    ("messages", "status", _STATUS, "'complete'"),
    ("messages", "pinned", (0, 1), "0"),
    ("sessions", "status", _STATUS, "'complete'"),
    ("sessions", "pinned", (0, 1), "0"),
    ("sessions", "archived", (0, 1), "0"),
    ("sessions", "unread", (0, 1), "0"),
    ("roles", "status", ("enabled", "disabled"), "'enabled'"),
    ("requests", "copied", (0, 1), "0"),
    ("reply_changes", "field", ("content", *get_args(JsonField)), ""),
)
"""The same for columns that know some words or numbers only, as the tables themselves say."""


def undecodable_values(connection: sqlite3.Connection) -> Iterator[FaultyValue]:
    """Find values that cannot be read, in an open database of any version."""
    for table, column, read, instead in _READERS:
        if _has_column(connection, table, column):
            what, name = _ROW_NAMES[table]
            for seq, key, text in connection.execute(
                f"SELECT seq, {name}, {column} FROM {table} WHERE {column} <> ''"
            ):
                try:
                    read(text)
                except DECODE_ERRORS:
                    sentence = f"The {column} of {what} {key} cannot be read."
                    yield FaultyValue(sentence, _replacement(table, column, instead), seq)


def unknown_values(connection: sqlite3.Connection) -> Iterator[FaultyValue]:
    """Find words that their columns do not know, of rows that are there in spite of that."""
    for table, column, known, instead in _KNOWN_VALUES:
        if _has_column(connection, table, column):
            what, name = _ROW_NAMES[table]
            marks = ", ".join("?" * len(known))
            for seq, key in connection.execute(
                f"SELECT seq, {name} FROM {table} WHERE {column} NOT IN ({marks})", known
            ):
                sentence = f"The {column} of {what} {key} is none."
                yield FaultyValue(sentence, _replacement(table, column, instead), seq)


def altered_requests(connection: sqlite3.Connection) -> Iterator[FaultyValue]:
    """Find requests whose bytes are not those that were sent."""
    for seq, message, sha256, body in connection.execute(
        "SELECT seq, message_id, sha256, body FROM requests WHERE body IS NOT NULL"
    ):
        if hashlib.sha256(body).hexdigest() != sha256:
            sentence = f"The request kept for {message} is not the one that was sent."
            yield FaultyValue(sentence, _replacement("requests", "body", "NULL"), seq)


def _has_column(connection: sqlite3.Connection, table: str, column: str) -> bool:
    found = connection.execute(
        "SELECT 1 FROM pragma_table_info(?) WHERE name = ?", (table, column)
    ).fetchone()
    return found is not None


def _replacement(table: str, column: str, instead: str) -> str:
    if instead:
        return f"UPDATE {table} SET {column} = {instead} WHERE seq = ?"
    return f"DELETE FROM {table} WHERE seq = ?"
