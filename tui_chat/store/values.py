"""Stored values that are not what they were, and how their rows do without them.

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
from tui_chat.store.faults import UNREADABLE
from tui_chat.store.requests import recipe_of, times_of
from tui_chat.store.rows import JsonField, json_value, names_of


@dataclass(frozen=True, slots=True)
class Wrong:
    """A value that is not what it was."""

    sentence: str
    without: str
    """What makes its row do without it."""
    seq: int
    """Its row: the value of that statement."""


_Table: TypeAlias = Literal[
    "messages", "sessions", "roles", "requests", "received", "reply_changes"
]
_NAMES: dict[_Table, tuple[str, str]] = {
    "messages": ("message", "message_id"),
    "sessions": ("session", "session_id"),
    "roles": ("role", "role_id"),
    "requests": ("the request for", "message_id"),
    "received": ("the response of", "message_id"),
    "reply_changes": ("the reply", "message_id"),
}
"""What a row is called."""

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
_WORDS: tuple[tuple[_Table, str, tuple[object, ...], str], ...] = (
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


def unreadable(connection: sqlite3.Connection) -> Iterator[Wrong]:
    """Find values that cannot be read, in an open database of any version."""
    for table, column, read, instead in _READERS:
        if _has(connection, table, column):
            what, name = _NAMES[table]
            for seq, key, text in connection.execute(
                f"SELECT seq, {name}, {column} FROM {table} WHERE {column} <> ''"
            ):
                try:
                    read(text)
                except UNREADABLE:
                    sentence = f"The {column} of {what} {key} cannot be read."
                    yield Wrong(sentence, _without(table, column, instead), seq)


def unknown(connection: sqlite3.Connection) -> Iterator[Wrong]:
    """Find words that their columns do not know, of rows that are there in spite of that."""
    for table, column, known, instead in _WORDS:
        if _has(connection, table, column):
            what, name = _NAMES[table]
            marks = ", ".join("?" * len(known))
            for seq, key in connection.execute(
                f"SELECT seq, {name} FROM {table} WHERE {column} NOT IN ({marks})", known
            ):
                sentence = f"The {column} of {what} {key} is none."
                yield Wrong(sentence, _without(table, column, instead), seq)


def altered(connection: sqlite3.Connection) -> Iterator[Wrong]:
    """Find requests whose bytes are not those that were sent."""
    for seq, message, sha256, body in connection.execute(
        "SELECT seq, message_id, sha256, body FROM requests WHERE body IS NOT NULL"
    ):
        if hashlib.sha256(body).hexdigest() != sha256:
            sentence = f"The request kept for {message} is not the one that was sent."
            yield Wrong(sentence, _without("requests", "body", "NULL"), seq)


def _has(connection: sqlite3.Connection, table: str, column: str) -> bool:
    found = connection.execute(
        "SELECT 1 FROM pragma_table_info(?) WHERE name = ?", (table, column)
    ).fetchone()
    return found is not None


def _without(table: str, column: str, instead: str) -> str:
    if instead:
        return f"UPDATE {table} SET {column} = {instead} WHERE seq = ?"
    return f"DELETE FROM {table} WHERE seq = ?"
