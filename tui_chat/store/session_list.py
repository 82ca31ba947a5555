"""The summaries of the session list.

The whole list is kept in memory, so that reading it again costs only what changed:

1. All sessions are read once. Triggers of this connection alone, in SQLite's temporary schema,
   then record the sessions that this program adds, changes or removes; a rollback removes these
   records, too.
2. SQLite counts the commits of other programs (`data_version`). After such a commit, or after a
   role (whose name and model are part of the list) has changed, everything is read again.
"""
# ruff: noqa: S608 - only our own constants are put into SQL

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias

from tui_chat.models.session import SessionSummary
from tui_chat.store.database import Row, Transaction
from tui_chat.store.errors import decoding
from tui_chat.store.rows import names_of

_LISTED = "deleted IS NULL"
_CHANGED = "seq IN (SELECT seq FROM temp.changed_sessions)"

_RoleNames: TypeAlias = "dict[str, tuple[str, str]]"
"""Name and model of each role. Looked up here, since a join takes twice as long."""

_Ranked: TypeAlias = "tuple[int, int, SessionSummary]"
"""A summary after its `touched` and `seq`, which order the list."""

_COLUMNS = """
    touched, seq, session_id, title, role_id, model, endpoint, message_count, total_tokens, status,
    updated, created, pinned + 2 * archived + 4 * unread, folder, tags, deleted, fork_of, client,
    parent_id
"""

_NO_ROLE = ("", "")
_FLAGS: dict[int, tuple[bool, bool, bool]] = {
    flags: (flags & 1 > 0, flags & 2 > 0, flags & 4 > 0) for flags in range(8)
}
"""Pinned, archived and unread, by the number that encodes all three."""

_tags_of = lru_cache(256)(names_of)
"""Many sessions have the same tags."""


class SessionListCache:
    """All sessions that are not in the trash, the most recently active first."""

    def __init__(self) -> None:
        self._version: int | None = None
        """SQLite's `data_version` at the last reading; None before the first."""
        self._roles: _RoleNames = {}
        self._ranked: list[_Ranked] = []
        self._summaries: tuple[SessionSummary, ...] = ()

    async def read(self, tx: Transaction) -> tuple[SessionSummary, ...]:
        """Return the list as it is now; the same object if nothing changed."""
        roles = await _role_names(tx)  # the first statement decides which state of the file is read
        row = await tx.row("PRAGMA data_version")
        version: int | None = row[0] if row else None
        if self._version is None:
            await _track_changes(tx)
        if version != self._version or roles != self._roles:
            condition, unchanged = _LISTED, list[_Ranked]()
        else:
            changed = {seq for (seq,) in await tx.rows("SELECT seq FROM temp.changed_sessions")}
            if not changed:
                return self._summaries
            condition = f"{_LISTED} AND {_CHANGED}"
            unchanged = [rank for rank in self._ranked if rank[1] not in changed]
        ranked = await _read_ranked(tx, condition, roles)
        await tx.run("DELETE FROM temp.changed_sessions")
        ranked += unchanged
        ranked.sort(reverse=True)
        self._version, self._roles, self._ranked = version, roles, ranked
        self._summaries = tuple([rank[2] for rank in ranked])
        return self._summaries


async def newest_summaries(tx: Transaction, limit: int) -> tuple[SessionSummary, ...]:
    """Return the `limit` most recently active sessions."""
    ranked = await _read_ranked(
        tx, f"{_LISTED} ORDER BY touched DESC, seq DESC LIMIT ?", await _role_names(tx), limit
    )
    return tuple([rank[2] for rank in ranked])


async def trashed_summaries(tx: Transaction) -> tuple[SessionSummary, ...]:
    """Return the sessions in the trash, the most recently deleted first."""
    ranked = await _read_ranked(
        tx, "deleted IS NOT NULL ORDER BY deleted DESC, touched DESC", await _role_names(tx)
    )
    return tuple([rank[2] for rank in ranked])


async def _read_ranked(
    tx: Transaction, condition: str, roles: _RoleNames, *values: object
) -> list[_Ranked]:
    with decoding("list of sessions"):
        sql = f"SELECT {_COLUMNS} FROM sessions WHERE {condition}"
        return await tx.map_rows(_row_reader(roles), sql, *values)


def _row_reader(roles: _RoleNames) -> Callable[[object, Row], _Ranked]:
    """Return the function that reads a row of `_COLUMNS`.

    It raises TypeError, ValueError or LookupError if a column holds what it cannot: `+ ""`
    refuses a value that is no text, and costs nothing for one that is.
    """

    def read(_: object, row: Row) -> _Ranked:
        (
            touched, seq, key, title, role_id, model, endpoint, count, tokens, status,
            updated, created, flags, folder, tags, deleted, fork_of, client,
            parent_id,
        ) = row  # fmt: skip
        role, role_model = roles.get(role_id, _NO_ROLE)
        pinned, archived, unread = _FLAGS[flags]
        return touched, seq, SessionSummary(
            key, title + "", role, (model or role_model) + "", endpoint + "", count, tokens,
            status + "", updated, created, pinned, archived, unread, folder + "",
            _tags_of(tags) if tags else (), deleted, fork_of + "",
            client + "", parent_id + "",
        )  # fmt: skip

    return read


async def _role_names(tx: Transaction) -> _RoleNames:
    rows = await tx.rows("SELECT role_id, name, model FROM roles")
    return {role_id: (name, model) for role_id, name, model in rows}


async def _track_changes(tx: Transaction) -> None:
    await tx.run("CREATE TEMP TABLE IF NOT EXISTS changed_sessions (seq INTEGER)")
    await tx.run("CREATE INDEX IF NOT EXISTS temp.changed_session ON changed_sessions (seq)")
    for event, row in (("INSERT", "new"), ("UPDATE", "new"), ("DELETE", "old")):
        # No unique key: the statement that fires the trigger would decide how a conflict is
        # resolved.
        await tx.run(
            f"CREATE TEMP TRIGGER IF NOT EXISTS note_{event} AFTER {event} ON main.sessions BEGIN "
            f"INSERT INTO changed_sessions (seq) SELECT {row}.seq WHERE NOT EXISTS "
            f"(SELECT 1 FROM changed_sessions WHERE seq = {row}.seq); END"
        )
