"""Sessions: making, finding, listing and changing them, and the trash.

The list is in the order of `touched`: the moment of the last activity in milliseconds, or one
more than the highest where the clock has gone backwards. Who was active last is always on top,
and what is imported takes its place by the time it tells.
"""
# ruff: noqa: S608 - only our own column names and constants are put into SQL

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TypedDict

from tui_chat.errors import RecordGone
from tui_chat.models.session import Entry, Session, SessionSummary
from tui_chat.store import index
from tui_chat.store.database import Transaction
from tui_chat.store.faults import readable
from tui_chat.store.roles import enabled_role
from tui_chat.store.rows import (
    PLACE,
    SESSION,
    Place,
    RoleNames,
    names_text,
    place_reader,
    session_of,
)

UNTITLED = "New chat"
"""The title of a session that has neither a title nor a role."""

# Above all others; the first value of the statement is the present time.
_NEXT_TOUCH = """
    max((SELECT coalesce(max(touched), 0) + 1 FROM sessions), CAST(?1 * 1000 AS INTEGER))
"""

# Where `touched` only counted up, it becomes times, in the same order.
_COUNTS_ONLY = "SELECT touched < min(updated, ?) FROM sessions ORDER BY touched LIMIT 1"
_TIMES_FOR_COUNTS = """
    UPDATE sessions SET touched = timed.touched
    FROM (
        SELECT seq, row_number() OVER by_touch
            + max(CAST(min(updated, ?) * 1000 AS INTEGER)) OVER by_touch AS touched
        FROM sessions WINDOW by_touch AS (ORDER BY touched, seq)
    ) AS timed
    WHERE timed.seq = sessions.seq
"""

# That of the first reply on the way from a message to the root.
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

_SAY = f"""
    UPDATE sessions SET updated = ?, touched = {_NEXT_TOUCH}, head_id = ?, status = CASE
        WHEN ? = 'assistant' THEN ?
        WHEN head_id IS ?5 THEN status
        ELSE {_STATUS_AT.format("?5")}
    END
    WHERE session_id = ?
"""

_MOVE = (
    f"UPDATE sessions SET head_id = ?1, status = {_STATUS_AT.format('?1')} WHERE session_id = ?2"
)


class SessionChanges(TypedDict, total=False):
    """What can be changed of a session; a key that is left out stays as it is."""

    title: str
    model: str
    endpoint: str
    preset: str
    profile: str
    temperature: float | None
    max_tokens: int | None
    pinned: bool
    archived: bool
    unread: bool
    folder: str
    tags: tuple[str, ...]
    lorebooks: tuple[str, ...]


async def create(tx: Transaction, session: Session) -> Session:
    """Add a session; an empty title or preset comes from its role."""
    title, preset = session.title, session.preset
    if session.role_id is not None:
        role = await enabled_role(tx, session.role_id)
        title, preset = title or role.name, preset or role.preset
    return await insert(tx, replace(session, title=title or UNTITLED, preset=preset))


async def insert(tx: Transaction, session: Session) -> Session:
    """Add a session as it is now, without a head, on top of the list; a role that is gone is
    left out.
    """
    await insert_many(tx, (session,), session.updated)
    await tx.run(
        f"UPDATE sessions SET touched = {_NEXT_TOUCH} WHERE session_id = ?",
        *(session.updated, session.session_id),
    )
    return await require(tx, session.session_id)


async def insert_many(tx: Transaction, many: Iterable[Session], now: float) -> None:
    """Add sessions as they are, without heads, at their places in the list."""
    added = tuple(many)
    await tx.run_many(
        "INSERT INTO sessions (session_id, title, role_id, model, endpoint, preset, profile, "
        "temperature, max_tokens, pinned, archived, folder, tags, lorebooks, lost_role, created, "
        "updated, touched) VALUES (?, ?, (SELECT role_id FROM roles WHERE role_id = ?), ?, ?, ?, "
        "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                *(session.session_id, session.title, session.role_id, session.model),
                *(session.endpoint, session.preset, session.profile, session.temperature),
                *(session.max_tokens, session.pinned, session.archived, session.folder),
                *(names_text(session.tags), names_text(session.lorebooks), session.lost_role),
                *(session.created, session.updated, _time(session.updated, now)),
            )
            for session in added
        ],
    )
    await index.add_titles(tx, [session.session_id for session in added])


async def order_by_time(tx: Transaction, now: float) -> None:
    """See to it that the places in the list are times. Programs before this one counted."""
    if await tx.row(_COUNTS_ONLY, now) == (1,):
        await tx.run(_TIMES_FOR_COUNTS, now)


async def has_grown(tx: Transaction, session_id: str, updated: float, now: float) -> None:
    """Note that an import brought messages that were said up to a moment."""
    await tx.run(
        "UPDATE sessions SET updated = max(updated, ?), touched = max(touched, ?) "
        "WHERE session_id = ?",
        *(updated, _time(updated, now), session_id),
    )


def _time(updated: float, now: float) -> int:
    """Return the place in the list of a session; what a file says of the future is not believed."""
    return int(max(0.0, min(updated, now)) * 1000)


async def find(tx: Transaction, session_id: str) -> Session | None:
    """Return the session, None if it is gone or in the trash."""
    row = await tx.row(
        f"SELECT {SESSION} FROM sessions WHERE session_id = ? AND deleted IS NULL", session_id
    )
    return None if row is None else session_of(row)


async def require(tx: Transaction, session_id: str) -> Session:
    """Return a session; refuse one that is gone, since another program may have deleted it."""
    session = await find(tx, session_id)
    if session is None:
        raise RecordGone("This session no longer exists.")
    return session


async def first(tx: Transaction, limit: int) -> tuple[SessionSummary, ...]:
    """Return the sessions that were active last, so many of them."""
    return await _listed(tx, "deleted IS NULL ORDER BY touched DESC, seq DESC LIMIT ?", limit)


async def trash(tx: Transaction) -> tuple[SessionSummary, ...]:
    """Return the sessions that were deleted, the latest first."""
    return await _listed(tx, "deleted IS NOT NULL ORDER BY deleted DESC, touched DESC")


async def _listed(tx: Transaction, which: str, *values: object) -> tuple[SessionSummary, ...]:
    return tuple([place[2] for place in await places(tx, which, await role_names(tx), *values)])


async def places(tx: Transaction, which: str, roles: RoleNames, *values: object) -> list[Place]:
    """Return sessions as the list shows them, each with its place."""
    with readable("list of sessions"):
        sql = f"SELECT {PLACE} FROM sessions WHERE {which}"
        return await tx.made(place_reader(roles), sql, *values)


async def role_names(tx: Transaction) -> RoleNames:
    """Return name and model of each role."""
    rows = await tx.rows("SELECT role_id, name, model FROM roles")
    return {role_id: (name, model) for role_id, name, model in rows}


async def change(tx: Transaction, session_id: str, changes: SessionChanges) -> Session:
    """Change settings. That is no activity: the session keeps its place in the list."""
    unknown = changes.keys() - SessionChanges.__annotations__.keys()
    if unknown:
        raise TypeError(f"a session has no such settings: {', '.join(sorted(unknown))}")
    if changes:
        settings = ", ".join(f"{name} = ?" for name in changes)
        stored: dict[str, object] = dict(changes)
        if "title" in changes:
            await index.remove_title(tx, session_id)
        if "tags" in changes:
            stored["tags"] = names_text(changes["tags"])
        if "lorebooks" in changes:
            stored["lorebooks"] = names_text(changes["lorebooks"])
        await tx.run(
            f"UPDATE sessions SET {settings} WHERE session_id = ? AND deleted IS NULL",
            *stored.values(),
            session_id,
        )
        if "title" in changes:
            await index.add_titles(tx, [session_id])
    return await require(tx, session_id)


async def say_in(tx: Transaction, session_id: str, entry: Entry, now: float) -> None:
    """Show the branch that ends with an entry that was added just now: the session goes to the
    top of the list.
    """
    message = entry.message
    await tx.run(_SAY, now, message.id, message.role, entry.status, entry.parent_id, session_id)


async def move_head(tx: Transaction, session_id: str, head_id: str | None) -> None:
    """Show the branch that ends at `head_id`."""
    await move_heads(tx, [(head_id, session_id)])


async def move_heads(tx: Transaction, heads: Iterable[tuple[str | None, str]]) -> None:
    """Show the branches that end at these heads, each told with its session."""
    await tx.run_many(_MOVE, heads)


async def touch(tx: Transaction, session_id: str, now: float) -> None:
    """Put a session at the top of the list, since a reply in it has ended."""
    await tx.run(
        f"UPDATE sessions SET updated = ?, touched = {_NEXT_TOUCH}, status = {_STATUS} "
        "WHERE session_id = ?",
        *(now, session_id),
    )


async def tell_status(tx: Transaction, session_id: str) -> None:
    """Say in the list how the newest reply on the shown branch is."""
    await tx.run(f"UPDATE sessions SET status = {_STATUS} WHERE session_id = ?", session_id)


async def put_in_trash(tx: Transaction, session_ids: Iterable[str], now: float) -> None:
    """Delete sessions so that they can be restored."""
    for session_id in session_ids:
        await tx.run(
            "UPDATE sessions SET deleted = ? WHERE session_id = ? AND deleted IS NULL",
            *(now, session_id),
        )


async def restore(tx: Transaction, session_ids: Iterable[str]) -> None:
    """Bring sessions back as they were; those that are gone stay gone."""
    for session_id in session_ids:
        await tx.run("UPDATE sessions SET deleted = NULL WHERE session_id = ?", session_id)


async def empty_trash(tx: Transaction, before: float) -> int:
    """Remove for good what was deleted before a moment; return how many sessions went."""
    old = await tx.rows("SELECT session_id FROM sessions WHERE deleted < ?", before)
    for (session_id,) in old:
        await remove(tx, session_id)
    await index.remove_messages(tx, f"m.seq IN ({_DELETED})", before)
    await tx.run(f"DELETE FROM messages WHERE seq IN ({_DELETED})", before)
    return len(old)


_DELETED = """
    SELECT message FROM hidden_messages
    WHERE deletion IN (SELECT seq FROM deletions WHERE deleted < ?)
"""


async def remove(tx: Transaction, session_id: str) -> None:
    """Remove a session with all that belongs to it; one that is gone stays gone."""
    await index.remove_title(tx, session_id)
    await index.remove_messages(tx, "m.session_id = ?", session_id)
    await tx.run("DELETE FROM sessions WHERE session_id = ?", session_id)
