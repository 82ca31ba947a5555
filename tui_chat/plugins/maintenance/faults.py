"""Faults of a database file that SQLite does not notice, and derived data that can be rebuilt.

A changed byte within a text does not affect the structure of a file. Each corrupted value has a
statement that replaces it by a likely value, or deletes its row.
"""
# ruff: noqa: S608 - only names of our own tables are put into SQL

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterator
from functools import partial
from typing import Literal, TypeAlias, get_args

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.boundary import unpack
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import MESSAGE_ROLES
from tui_chat.models.session import EntryStatus
from tui_chat.store.blocks_migration import FLAT_COLUMNS, convert_damaged
from tui_chat.store.errors import DECODE_ERRORS
from tui_chat.store.index import rebuild
from tui_chat.store.requests import recipe_of, times_of
from tui_chat.store.rows import (
    ABOUT,
    BLOCKS,
    EDITS,
    EXTRAS,
    MUTED,
    PLACES,
    SETTINGS,
    names_of,
)
from tui_chat.store.sessions import variables_of


@dataclass(frozen=True, slots=True)
class FaultyValue:
    """A corrupted value."""

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
"""The name of a row in sentences, and its key column."""

_READERS: tuple[tuple[_Table, str, Callable[[str], object], str], ...] = (
    ("messages", "blocks", BLOCKS.read, "''"),
    ("messages", "about", ABOUT.read, "''"),
    ("messages", "extras", EXTRAS.read, "''"),
    # Of a database from before blocks; now they are empty.
    *(("messages", name, partial(unpack, kind), "''") for name, kind in FLAT_COLUMNS.items()),
    ("messages", "muted", MUTED.read, "''"),
    ("sessions", "tags", names_of, "''"),
    ("sessions", "lorebooks", names_of, "''"),
    ("sessions", "settings", SETTINGS.read, "''"),
    ("sessions", "edits", EDITS.read, "''"),
    ("sessions", "places", PLACES.read, "''"),
    ("sessions", "variables", variables_of, "''"),
    ("roles", "settings", SETTINGS.read, "''"),
    ("requests", "recipe", recipe_of, "'{}'"),
    ("requests", "protocol", Protocol, ""),
    ("received", "times", times_of, ""),
)
"""A table, a column, its parser, and SQL for the replacement of an unreadable value; without a
replacement the row is deleted."""

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
    ("reply_changes", "field", ("content", "blocks", "about", *FLAT_COLUMNS), ""),
)
"""The same for columns with a fixed set of values, as their constraints have it."""


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
    """Find values that violate the constraints of their columns."""
    for table, column, known, instead in _KNOWN_VALUES:
        if _has_column(connection, table, column):
            what, name = _ROW_NAMES[table]
            marks = ", ".join("?" * len(known))
            for seq, key in connection.execute(
                f"SELECT seq, {name} FROM {table} WHERE {column} NOT IN ({marks})", known
            ):
                sentence = f"The {column} of {what} {key} is invalid."
                yield FaultyValue(sentence, _replacement(table, column, instead), seq)


def altered_requests(connection: sqlite3.Connection) -> Iterator[FaultyValue]:
    """Find requests whose bytes do not match their hash."""
    for seq, message, sha256, body in connection.execute(
        "SELECT seq, message_id, sha256, body FROM requests WHERE body IS NOT NULL"
    ):
        if hashlib.sha256(body).hexdigest() != sha256:
            sentence = f"The stored request for {message} is not the one that was sent."
            yield FaultyValue(sentence, _replacement("requests", "body", "NULL"), seq)


def _has_column(connection: sqlite3.Connection, table: str, column: str) -> bool:
    row = connection.execute(
        "SELECT 1 FROM pragma_table_info(?) WHERE name = ?", (table, column)
    ).fetchone()
    return row is not None


def _replacement(table: str, column: str, instead: str) -> str:
    if instead:
        return f"UPDATE {table} SET {column} = {instead} WHERE seq = ?"
    return f"DELETE FROM {table} WHERE seq = ?"


UNREACHED = """
    WITH RECURSIVE down (message_id) AS (
        SELECT message_id FROM messages WHERE parent_id IS NULL
        UNION
        SELECT m.message_id FROM down JOIN messages AS m ON m.parent_id = down.message_id
    )
    SELECT seq FROM messages WHERE message_id NOT IN (SELECT message_id FROM down) ORDER BY seq
"""
"""Finds messages that no first message leads to: their parents form a ring."""

WRONG_HEADS = """
    SELECT s.seq FROM sessions AS s LEFT JOIN messages AS m ON m.message_id = s.head_id
    WHERE s.head_id IS NOT NULL AND m.session_id IS NOT s.session_id
"""
"""Finds sessions whose head is missing or in another session."""

_COUNTS = """
    UPDATE sessions AS s SET
        message_count = (
            SELECT count(*) FROM messages AS m
            WHERE m.session_id = s.session_id AND m.hidden IS NULL
        ),
        total_tokens = (
            SELECT CAST(min(total(coalesce(usage_input, 0) + coalesce(usage_output, 0)), 4e18)
                        AS INTEGER)
            FROM messages AS m WHERE m.session_id = s.session_id
        )
"""


def hidden_messages(connection: sqlite3.Connection) -> str:
    """Return the SQL that selects the `seq` of deleted messages in a database of any version."""
    if _has_column(connection, "messages", "hidden"):
        return "SELECT seq FROM messages WHERE hidden IS NOT NULL"
    older = "SELECT 1 FROM sqlite_master WHERE name = 'hidden_messages'"
    if connection.execute(older).fetchone() is not None:
        return "SELECT message FROM hidden_messages"
    return "SELECT seq FROM messages WHERE 0"


def rebuild_derived(connection: sqlite3.Connection) -> None:
    """Rebuild the derived data of an open database of the current version: the counts of sessions,
    and the search index, which the next search completes.
    """
    connection.execute(_COUNTS)
    rebuild(connection)


def replace_faulty_values(connection: sqlite3.Connection) -> list[str]:
    """Replace values that nothing can be read from; return a sentence for each kind. A transaction
    is open.
    """
    done: list[str] = []
    if count := convert_damaged(connection):
        done.append(f"Messages of which everything but unreadable values was kept: {count:,}.")
    for find, sentence in (
        (unknown_values, "Invalid values that were replaced by the most likely ones"),
        (undecodable_values, "Unreadable values that were removed"),
        (altered_requests, "Requests with altered bytes, which were removed"),
    ):
        faults = list(find(connection))
        for fault in faults:
            connection.execute(fault.without, (fault.seq,))
        if faults:
            done.append(f"{sentence}: {len(faults):,}.")
    return done
