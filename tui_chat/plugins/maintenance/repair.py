"""Repair of corrupted values, and of references that are broken because rows were lost.

In a salvaged file, replies may have lost their question, and messages their session. Messages are
never dropped for that; instead, what they need is created again.
"""
# ruff: noqa: S608 - only names of our own tables are put into SQL

from __future__ import annotations

import sqlite3

from tui_chat.plugins.maintenance.faults import (
    UNREACHED,
    WRONG_HEADS,
    altered_requests,
    undecodable_values,
    unknown_values,
)

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
    UPDATE messages SET hidden = NULL WHERE hidden IS NOT NULL AND (
        EXISTS (SELECT 1 FROM messages AS below
                WHERE below.parent_id = messages.message_id AND below.hidden IS NULL)
        OR EXISTS (SELECT 1 FROM sessions AS s WHERE s.head_id = messages.message_id)
        OR hidden NOT IN (SELECT seq FROM deletions)
    )
"""


def repair(connection: sqlite3.Connection) -> list[str]:
    """Make an open database of any version consistent; return a sentence for each kind of repair.

    Foreign keys must be off, and a transaction open.
    """
    done = _replace_faulty_values(connection)
    made = connection.execute(_LOST_SESSIONS, (RECOVERED_TITLE,)).rowcount
    if made:
        done.append(f"Lost sessions that were created again for their messages: {made:,}.")
    joined = 0
    for row in connection.execute(_NO_PARENT).fetchall():
        connection.execute(_NEW_PARENT, row)
        joined += 1
    while row := connection.execute(UNREACHED).fetchone():
        connection.execute("UPDATE messages SET parent_id = NULL WHERE seq = ?", row)
        joined += 1
    if joined:
        done.append(f"Messages that lost their parent and got a new one: {joined:,}.")
    for (seq,) in connection.execute(WRONG_HEADS + " UNION " + _NO_HEADS).fetchall():
        connection.execute(_NEW_HEAD, (seq,))
    dropped = _drop_dangling_rows(connection)
    if dropped:
        done.append(f"Other rows that were dropped because they belong to lost rows: {dropped:,}.")
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
        faults = list(find(connection))
        for wrong in faults:
            connection.execute(wrong.without, (wrong.seq,))
        if faults:
            done.append(f"{sentence}: {len(faults):,}.")
    return done


def unhide_ancestors(connection: sqlite3.Connection) -> None:
    """Unhide ancestors of visible messages in a database of the current version: better to show a
    deleted message than hide one.
    """
    for _ in range(2):
        while connection.execute(_UNHIDE_ANCESTORS).rowcount:
            pass
        connection.execute(
            "DELETE FROM deletions WHERE message_id NOT IN "
            "(SELECT message_id FROM messages WHERE hidden IS NOT NULL)"
        )


def _drop_dangling_rows(connection: sqlite3.Connection) -> int:
    """Remove rows, or optional references, that dangle; return the number of removed rows."""
    dropped = 0
    while rows := connection.execute("PRAGMA foreign_key_check").fetchmany(500):
        for table, rowid, _, number in rows:
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
