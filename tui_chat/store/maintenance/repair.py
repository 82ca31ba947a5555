"""Repair of corrupted values, and of references that are broken because rows were lost.

1. SQLite does not notice most corrupted values: a changed byte within a text does not affect its
   structure. Each is replaced by a likely value, or its row is deleted.
2. In a salvaged file, replies may have lost their question, and messages their session. Messages
   are never dropped for that; instead, what they need is created again.
"""
# ruff: noqa: S608 - only names of our own tables are put into SQL

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterator
from functools import partial
from typing import Literal, TypeAlias, get_args

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import MESSAGE_ROLES
from tui_chat.models.session import EntryStatus
from tui_chat.store.errors import DECODE_ERRORS
from tui_chat.store.requests import recipe_of, times_of
from tui_chat.store.rows import JsonField, json_value, names_of, settings_of


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
"""What a row is called in sentences, and its key column."""

_READERS: tuple[tuple[_Table, str, Callable[[str], object], str], ...] = (
    *(("messages", name, partial(json_value, name), "''") for name in get_args(JsonField)),
    ("sessions", "tags", names_of, "''"),
    ("sessions", "lorebooks", names_of, "''"),
    ("sessions", "settings", settings_of, "''"),
    ("roles", "settings", settings_of, "''"),
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
    ("reply_changes", "field", ("content", *get_args(JsonField)), ""),
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
    found = connection.execute(
        "SELECT 1 FROM pragma_table_info(?) WHERE name = ?", (table, column)
    ).fetchone()
    return found is not None


def _replacement(table: str, column: str, instead: str) -> str:
    if instead:
        return f"UPDATE {table} SET {column} = {instead} WHERE seq = ?"
    return f"DELETE FROM {table} WHERE seq = ?"


RECOVERED_TITLE = "Recovered"
"""The title of a session whose own row was lost."""

_LOST_SESSIONS = """
    INSERT INTO sessions (session_id, title, touched, created, updated)
    SELECT session_id, ?, (SELECT coalesce(max(touched), 0) FROM sessions) + min(seq),
           min(created), max(created)
    FROM messages WHERE session_id NOT IN (SELECT session_id FROM sessions)
    GROUP BY session_id
"""

# The nearest message before it in its session that nothing else follows, so that what was one
# branch is one again; where there is none, the nearest of all, or it becomes a first message.
_NEW_PARENT = """
    UPDATE messages AS m SET parent_id = coalesce(
        (SELECT b.message_id FROM messages AS b
         WHERE b.session_id = m.session_id AND b.seq < m.seq
           AND NOT EXISTS (SELECT 1 FROM messages AS c WHERE c.parent_id = b.message_id)
         ORDER BY b.seq DESC LIMIT 1),
        (SELECT b.message_id FROM messages AS b
         WHERE b.session_id = m.session_id AND b.seq < m.seq ORDER BY b.seq DESC LIMIT 1))
    WHERE m.seq = ?
"""

_NO_PARENT = """
    SELECT m.seq FROM messages AS m LEFT JOIN messages AS p ON p.message_id = m.parent_id
    WHERE m.parent_id IS NOT NULL AND (p.seq IS NULL OR p.session_id <> m.session_id)
    ORDER BY m.seq
"""

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

_NO_HEADS = """
    SELECT seq FROM sessions AS s WHERE head_id IS NULL
    AND EXISTS (SELECT 1 FROM messages AS m WHERE m.session_id = s.session_id)
"""

_NEW_HEAD = """
    UPDATE sessions SET head_id = (
        SELECT message_id FROM messages AS m WHERE m.session_id = sessions.session_id
        ORDER BY m.seq DESC LIMIT 1)
    WHERE seq = ?
"""

_UNHIDE_ANCESTORS = """
    DELETE FROM hidden_messages WHERE message IN (
        SELECT p.seq FROM messages AS m JOIN messages AS p ON p.message_id = m.parent_id
        WHERE m.seq NOT IN (SELECT message FROM hidden_messages)
        UNION ALL
        SELECT m.seq FROM sessions AS s JOIN messages AS m ON m.message_id = s.head_id
    )
"""

_COUNTS = """
    UPDATE sessions AS s SET
        message_count = (
            SELECT count(*) FROM messages AS m WHERE m.session_id = s.session_id
            AND m.seq NOT IN (SELECT message FROM hidden_messages)
        ),
        total_tokens = (
            SELECT CAST(min(total(coalesce(usage_input, 0) + coalesce(usage_output, 0)), 4e18)
                        AS INTEGER)
            FROM messages AS m WHERE m.session_id = s.session_id
        )
"""


_REINDEX = (
    "INSERT INTO message_index (message_index) VALUES ('delete-all')",
    "INSERT INTO title_index (title_index) VALUES ('delete-all')",
    "DELETE FROM unindexed_messages",
    "DELETE FROM unindexed_sessions",
    "INSERT INTO unindexed_messages SELECT seq FROM messages WHERE status <> 'streaming'",
    "INSERT INTO unindexed_sessions SELECT seq FROM sessions",
)
_REINDEX_SECONDARY = (
    "INSERT INTO aside_index (aside_index) VALUES ('delete-all')",
    "DELETE FROM unindexed_asides",
    "INSERT INTO unindexed_asides SELECT seq FROM messages "
    "WHERE status <> 'streaming' AND (tool_calls <> '' OR semantics <> '')",
)


def repair(connection: sqlite3.Connection) -> list[str]:
    """Make an open database of any version consistent; return a sentence for each kind of repair.

    Foreign keys must be off, and a transaction open.
    """
    done = _replace_faulty_values(connection)
    made = connection.execute(_LOST_SESSIONS, (RECOVERED_TITLE,)).rowcount
    if made:
        done.append(f"Lost sessions that were created again for their messages: {made:,}.")
    joined = 0
    for found in connection.execute(_NO_PARENT).fetchall():
        connection.execute(_NEW_PARENT, found)
        joined += 1
    while found := connection.execute(UNREACHED).fetchone():
        connection.execute("UPDATE messages SET parent_id = NULL WHERE seq = ?", found)
        joined += 1
    if joined:
        done.append(f"Messages that lost their parent and got a new one: {joined:,}.")
    for (seq,) in connection.execute(WRONG_HEADS + " UNION " + _NO_HEADS).fetchall():
        connection.execute(_NEW_HEAD, (seq,))
    dropped = _drop_dangling_rows(connection)
    if dropped:
        done.append(f"Other rows that were dropped because they belong to lost rows: {dropped:,}.")
    if connection.execute("SELECT 1 FROM pragma_table_info('hidden_messages')").fetchone():
        _unhide_ancestors(connection)
    return done


def _replace_faulty_values(connection: sqlite3.Connection) -> list[str]:
    done: list[str] = []
    for find, sentence in (
        (unknown_values, "Invalid values that were replaced by the most likely ones"),
        (undecodable_values, "Unreadable values that were removed"),
        (
            altered_requests,
            "Requests with altered bytes, which were removed; their recipes were kept",
        ),
    ):
        found = list(find(connection))
        for wrong in found:
            connection.execute(wrong.without, (wrong.seq,))
        if found:
            done.append(f"{sentence}: {len(found):,}.")
    return done


def _unhide_ancestors(connection: sqlite3.Connection) -> None:
    """Unhide the ancestors of visible messages: showing a deleted message is better than hiding
    another one.
    """
    while connection.execute(_UNHIDE_ANCESTORS).rowcount:
        pass
    connection.execute(
        "DELETE FROM deletions WHERE seq NOT IN (SELECT deletion FROM hidden_messages) "
        "OR message_id NOT IN (SELECT m.message_id FROM messages AS m "
        "JOIN hidden_messages AS h ON h.message = m.seq)"
    )
    connection.execute(
        "DELETE FROM hidden_messages WHERE deletion NOT IN (SELECT seq FROM deletions)"
    )


_MISSING = """
    SELECT total(s.message_count - found.messages)
    FROM sessions AS s JOIN (
        SELECT s.seq, count(m.seq) - count(h.message) AS messages FROM sessions AS s
        LEFT JOIN messages AS m ON m.session_id = s.session_id
        LEFT JOIN hidden_messages AS h ON h.message = m.seq
        GROUP BY s.seq
    ) AS found ON found.seq = s.seq
    WHERE s.message_count > found.messages
"""


def count_missing_messages(connection: sqlite3.Connection) -> int:
    """Return how many messages are missing according to the counts of sessions. To be called before
    any repair. Databases of versions without counts give 0.
    """
    if not connection.execute("SELECT 1 FROM pragma_table_info('hidden_messages')").fetchone():
        return 0
    return int(connection.execute(_MISSING).fetchone()[0])


def rebuild_derived(connection: sqlite3.Connection) -> None:
    """Rebuild the derived data of an open database of the current version: the counts of sessions,
    and the search index, which is filled before the next search.
    """
    connection.execute(_COUNTS)
    for index, statements in (("message_index", _REINDEX), ("aside_index", _REINDEX_SECONDARY)):
        if connection.execute("SELECT 1 FROM pragma_table_info(?)", (index,)).fetchone():
            for statement in statements:
                connection.execute(statement)


def _drop_dangling_rows(connection: sqlite3.Connection) -> int:
    """Remove rows with dangling references, or only the reference if it is optional; return the
    number of removed rows.
    """
    dropped = 0
    while found := connection.execute("PRAGMA foreign_key_check").fetchmany(500):
        for table, rowid, _, number in found:
            column = connection.execute(
                'SELECT "from" FROM pragma_foreign_key_list(?) WHERE id = ?', (table, number)
            ).fetchone()[0]
            optional = connection.execute(
                'SELECT 1 FROM pragma_table_info(?) WHERE name = ? AND "notnull" = 0 AND pk = 0',
                (table, column),
            ).fetchone()
            if rowid is None:  # a table without rowids
                other, target = connection.execute(
                    'SELECT "table", "to" FROM pragma_foreign_key_list(?) WHERE id = ?',
                    (table, number),
                ).fetchone()
                sql = f"DELETE FROM {table} WHERE {column} NOT IN (SELECT {target} FROM {other})"
                dropped += connection.execute(sql).rowcount
            elif optional:
                sql = f"UPDATE {table} SET {column} = NULL WHERE rowid = ?"
                connection.execute(sql, (rowid,))
            else:
                sql = f"DELETE FROM {table} WHERE rowid = ?"
                dropped += connection.execute(sql, (rowid,)).rowcount
    return dropped
