"""Sessions: creating, finding, listing and changing them, and the trash.

The list is ordered by `touched`: the moment of the last activity in milliseconds, or one more
than the highest value if the clock has gone backwards. So the session that was active last is
always on top, and an imported one takes the place that its time gives it.
"""
# ruff: noqa: S608 - only our own column names and constants are put into SQL

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypedDict, Unpack

from tui_chat.errors import RecordGone
from tui_chat.models.boundary import pack, unpack
from tui_chat.models.request_edit import RequestEdit
from tui_chat.models.session import Entry, PlaceName, Session, SessionSummary
from tui_chat.models.settings import Settings
from tui_chat.store import index
from tui_chat.store.database import Row, StoreContext, Transaction, writes
from tui_chat.store.errors import decoding
from tui_chat.store.roles import require_enabled_role
from tui_chat.store.rows import (
    EDITS,
    SESSION,
    SESSION_NAMES,
    column_value,
    names_of,
    refuse_bytes,
    session_of,
)

UNTITLED = "New session"
"""The title of a session that has neither a title nor a role."""

# Higher than all others; the first value of the statement is the present time.
_NEXT_TOUCH = """
    max((SELECT coalesce(max(touched), 0) + 1 FROM sessions), CAST(?1 * 1000 AS INTEGER))
"""

# The status of the nearest reply on the way from a message to the root.
_STATUS_AT = """
    coalesce((
        WITH RECURSIVE up (parent_id, message_role, status) AS (
            SELECT parent_id, message_role, status
            FROM messages WHERE message_id = {}
            UNION ALL
            SELECT p.parent_id, p.message_role, p.status
            FROM up JOIN messages AS p ON p.message_id = up.parent_id
            WHERE up.message_role <> 'assistant'
        )
        SELECT status FROM up WHERE message_role = 'assistant' LIMIT 1
    ), 'complete')
"""
_STATUS = _STATUS_AT.format("sessions.head_id")

_APPEND = f"""
    UPDATE sessions SET updated = ?, touched = {_NEXT_TOUCH}, head_id = ?, status = CASE
        WHEN ? = 'assistant' THEN ?
        WHEN head_id IS ?5 THEN status
        ELSE {_STATUS_AT.format("?5")}
    END
    WHERE session_id = ?
"""

_BRANCH_LENGTHS = """
    WITH RECURSIVE up (session_id, parent_id) AS (
        SELECT s.session_id, m.parent_id FROM json_each(?) CROSS JOIN sessions AS s
        ON s.session_id = value JOIN messages AS m ON m.message_id = s.head_id
        UNION ALL
        SELECT up.session_id, m.parent_id FROM up JOIN messages AS m ON m.message_id = up.parent_id
    )
    SELECT session_id, count(*) FROM up GROUP BY session_id
"""

_INSERTED = tuple(name for name in SESSION_NAMES if name != "head_id")
_VALUES = (
    "(SELECT role_id FROM roles WHERE role_id = ?)" if name == "role_id" else "?"
    for name in _INSERTED
)
_INSERT = f"INSERT INTO sessions ({', '.join(_INSERTED)}, touched) VALUES ({', '.join(_VALUES)}, ?)"

_SET_HEAD = (
    f"UPDATE sessions SET head_id = ?1, status = {_STATUS_AT.format('?1')} WHERE session_id = ?2"
)


class SessionChanges(TypedDict, total=False):
    """The settings of a session that can be changed; a missing key leaves its value."""

    title: str
    role_id: str | None
    lost_role: str
    model: str
    endpoint: str
    preset: str
    profile: str
    settings: Settings
    pinned: bool
    archived: bool
    unread: bool
    folder: str
    tags: tuple[str, ...]
    lorebooks: tuple[str, ...]
    parent_id: str
    edits: tuple[RequestEdit, ...]
    places: tuple[PlaceName, ...]
    created: float
    """The time of creation, in seconds since the epoch; 0 if unknown."""
    updated: float
    """The time of the last message, in seconds since the epoch, not in the future."""


class SessionStore:
    """The sessions in the database."""

    def __init__(self, context: StoreContext) -> None:
        self.database, self._now, self._new_id = context
        self.get = self.database.reader(find_session)
        self.variables = self.database.reader(find_variables)
        self.restore = self.database.writer(restore_sessions)
        self.remove = self.database.writer(remove_session)

    @writes
    async def create(
        self, tx: Transaction, *, session_id: str = "", **settings: Unpack[SessionChanges]
    ) -> Session:
        """Create a session and return it.

        Without an id it gets a new one; without a title it is called like its role, or “New
        chat”; without a preset it has its role's. Raises `InputError` if the role is disabled or
        unknown.
        """
        session = Session(session_id or self._new_id(), "")
        return await create_session(tx, replace(session, **settings), self._now())

    async def counted_by_branch(
        self, summaries: Iterable[SessionSummary]
    ) -> tuple[SessionSummary, ...]:
        """Return summaries whose `message_count` has the messages of the active branch alone."""
        summaries = tuple(summaries)
        ids = json.dumps([summary.session_id for summary in summaries])
        lengths = {row[0]: row[1] for row in await self.database.rows(_BRANCH_LENGTHS, ids)}
        return tuple(
            summary._replace(message_count=lengths.get(summary.session_id, 0))
            for summary in summaries
        )

    async def list(self, limit: int | None = None) -> tuple[SessionSummary, ...]:
        """Return the sessions outside the trash, most recently active first, up to a `limit`."""
        return await self._summaries(_LISTED, -1 if limit is None else limit)

    @writes
    async def update(
        self, tx: Transaction, session_id: str, **changes: Unpack[SessionChanges]
    ) -> Session:
        """Change the named settings and return the session.

        That is no activity: its place in the list and its `updated` stay. Raises `RecordGone` if
        the session is gone.
        """
        return await _update(tx, session_id, changes)

    @writes
    async def update_many(self, tx: Transaction, changes: Mapping[str, SessionChanges]) -> None:
        """Change settings of sessions by id, all or none. Raises `RecordGone` if one is gone."""
        for session_id, session_changes in changes.items():
            await _update(tx, session_id, session_changes)

    @writes
    async def replace_title(
        self, tx: Transaction, session_id: str, old: str, new: str
    ) -> Session | None:
        """Change the title of a session if it is `old`, and return the session; else None."""
        session = await find_session(tx, session_id)
        if session is None or session.title != old:
            return None
        return await _update(tx, session_id, {"title": new})

    # The trash

    async def list_trash(self) -> tuple[SessionSummary, ...]:
        """Return the sessions in the trash, the most recently deleted first."""
        return await self._summaries(_TRASHED)

    async def _summaries(self, sql: str, *values: object) -> tuple[SessionSummary, ...]:
        with decoding("list of sessions"):
            return tuple(map(_summary_of, await self.database.rows(sql, *values)))

    @writes
    async def delete(self, tx: Transaction, session_ids: Iterable[str]) -> None:
        """Move sessions to the trash: unlisted, unsearched and read-only until `restore`."""
        now = self._now()
        rows = [(now, session_id) for session_id in session_ids]
        sql = "UPDATE sessions SET deleted = ? WHERE session_id = ? AND deleted IS NULL"
        await tx.run_many(sql, rows)

    @writes
    async def purge_trash(self, tx: Transaction, older_than: float) -> int:
        """Remove what was deleted over `older_than` seconds ago; return how many sessions went."""
        before = self._now() - older_than
        old = await tx.rows("SELECT session_id FROM sessions WHERE deleted < ?", before)
        for (session_id,) in old:
            await remove_session(tx, session_id)
        await tx.run(
            "DELETE FROM messages WHERE hidden IN (SELECT seq FROM deletions WHERE deleted < ?)",
            before,
        )
        return len(old)


_SUMMARIES = """
    SELECT s.session_id, s.title, coalesce(r.name, ''),
        coalesce(nullif(s.model, ''), r.model, ''), s.endpoint, s.message_count, s.total_tokens,
        s.status, s.updated, s.created, s.pinned, s.archived, s.unread, s.folder, s.tags,
        s.deleted, s.fork_of, s.client, s.parent_id
    FROM sessions AS s LEFT JOIN roles AS r USING (role_id)
"""
_OF_SESSION = f"{_SUMMARIES} WHERE s.session_id = ? AND s.deleted IS NULL"
_LISTED = f"{_SUMMARIES} WHERE s.deleted IS NULL ORDER BY s.touched DESC, s.seq DESC LIMIT ?"
_TRASHED = f"{_SUMMARIES} WHERE s.deleted IS NOT NULL ORDER BY s.deleted DESC, s.touched DESC"


async def summary_of(tx: Transaction, session_id: str) -> SessionSummary | None:
    """Return one session as the list shows it; None if it is gone or in the trash."""
    with decoding("list of sessions"):
        row = await tx.row(_OF_SESSION, session_id)
        return None if row is None else _summary_of(row)


def _summary_of(row: Row) -> SessionSummary:
    refuse_bytes(row)
    flags, tags = map(bool, row[10:13]), row[14]
    names = names_of(tags) if tags else ()
    return SessionSummary._make((*row[:10], *flags, row[13], names, *row[15:]))


async def remove_session(tx: Transaction, session_id: str) -> None:
    """Remove a session for good, with its messages and requests."""
    await tx.run("DELETE FROM sessions WHERE session_id = ?", session_id)


async def find_session(tx: Transaction, session_id: str) -> Session | None:
    """Return a session; None if it is gone or in the trash."""
    row = await tx.row(
        f"SELECT {SESSION} FROM sessions WHERE session_id = ? AND deleted IS NULL", session_id
    )
    return None if row is None else session_of(row)


async def require_session(tx: Transaction, session_id: str) -> Session:
    """Return a session. Raises `RecordGone` if another program has deleted it."""
    session = await find_session(tx, session_id)
    if session is None:
        raise RecordGone("This session no longer exists.")
    return session


async def create_session(tx: Transaction, session: Session, now: float) -> Session:
    """Add a session that begins now; see `SessionStore.create`."""
    title, preset = session.title, session.preset
    if session.role_id is not None:
        role = await require_enabled_role(tx, session.role_id)
        title, preset = title or role.name, preset or role.preset
    session = replace(session, title=title or UNTITLED, preset=preset, created=now, updated=now)
    return await insert_session(tx, session)


async def insert_session(tx: Transaction, session: Session) -> Session:
    """Add a session without a head, at the top of the list; return it as it is stored."""
    await place_session(tx, session, session.updated)
    sql = f"UPDATE sessions SET touched = {_NEXT_TOUCH} WHERE session_id = ?"
    await tx.run(sql, session.updated, session.session_id)
    return await require_session(tx, session.session_id)


async def place_session(tx: Transaction, session: Session, now: float) -> None:
    """Add a session without a head, and without a role that is gone, at its place in the list."""
    values = (column_value(name, getattr(session, name)) for name in _INSERTED)
    await tx.run(_INSERT, *values, _touched_at(session.updated, now))
    await index.put_titles(tx, [session.session_id])


async def extend_session(tx: Transaction, session_id: str, updated: float, now: float) -> None:
    """Note that an import added messages to a session, the latest of them at `updated`."""
    await tx.run(
        "UPDATE sessions SET updated = max(updated, ?), touched = max(touched, ?) "
        "WHERE session_id = ?",
        *(updated, _touched_at(updated, now), session_id),
    )


def _touched_at(updated: float, now: float) -> int:
    """Return the place in the list for a time in seconds; a time in the future counts as now."""
    return int(max(0.0, min(updated, now)) * 1000)


async def _update(tx: Transaction, session_id: str, changes: SessionChanges) -> Session:
    unknown = changes.keys() - SessionChanges.__annotations__.keys()
    if unknown:
        raise TypeError(f"a session has no such settings: {', '.join(sorted(unknown))}")
    if changes:
        stored = {name: column_value(name, value) for name, value in changes.items()}
        if "updated" in changes:
            stored["touched"] = _touched_at(changes["updated"], changes["updated"])
        assignments = ", ".join(f"{name} = ?" for name in stored)
        await tx.run(
            f"UPDATE sessions SET {assignments} WHERE session_id = ? AND deleted IS NULL",
            *stored.values(),
            session_id,
        )
        if "title" in changes:
            await index.put_titles(tx, [session_id])
    return await require_session(tx, session_id)


async def set_edits(tx: Transaction, session_id: str, edits: tuple[RequestEdit, ...]) -> None:
    """Set the edits by hand of a session."""
    await tx.run(
        "UPDATE sessions SET edits = ? WHERE session_id = ?", EDITS.text(edits), session_id
    )


async def restore_sessions(tx: Transaction, session_ids: Iterable[str]) -> None:
    """Restore sessions from the trash to their old places, without those gone for good."""
    await tx.run_many(
        "UPDATE sessions SET deleted = NULL WHERE session_id = ?",
        [(session_id,) for session_id in session_ids],
    )


async def append_to_branch(tx: Transaction, session_id: str, entry: Entry, now: float) -> None:
    """Make an entry just added the head of its session, which goes to the top of the list."""
    message = entry.message
    await tx.run(_APPEND, now, message.id, message.role, entry.status, entry.parent_id, session_id)


async def set_head(tx: Transaction, session_id: str, head_id: str | None) -> None:
    """Make the branch that ends at `head_id` the active one."""
    await tx.run(_SET_HEAD, head_id, session_id)


async def touch_session(tx: Transaction, session_id: str, now: float) -> None:
    """Move a session to the top of the list after a reply in it has ended."""
    await tx.run(
        f"UPDATE sessions SET updated = ?, touched = {_NEXT_TOUCH}, status = {_STATUS} "
        "WHERE session_id = ?",
        *(now, session_id),
    )


async def refresh_status(tx: Transaction, session_id: str) -> None:
    """Copy the status of the newest reply on the active branch to the session."""
    await tx.run(f"UPDATE sessions SET status = {_STATUS} WHERE session_id = ?", session_id)


async def find_variables(tx: Transaction, session_id: str) -> dict[str, str]:
    """Return the macro variables of a session by name."""
    row = await tx.row("SELECT variables FROM sessions WHERE session_id = ?", session_id)
    with decoding("session"):
        return dict(sorted(variables_of(row[0]).items())) if row else {}


def variables_of(text: str) -> dict[str, str]:
    """Return variables from their column. Raises ValueError or TypeError."""
    return unpack(dict[str, str], text) if text else {}


async def add_variables(tx: Transaction, session_id: str, values: Mapping[str, str]) -> None:
    """Add macro variables to a session; those it has already keep their values."""
    both = {**values, **await find_variables(tx, session_id)}
    await tx.run("UPDATE sessions SET variables = ? WHERE session_id = ?", pack(both), session_id)
