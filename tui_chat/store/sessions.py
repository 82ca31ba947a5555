"""Sessions: making, finding, listing and changing them."""
# ruff: noqa: S608 - only our own column names and constants are put into SQL

from __future__ import annotations

from typing import TypedDict

from tui_chat.errors import StoreError
from tui_chat.model.session import Session, SessionSummary
from tui_chat.store.database import Transaction
from tui_chat.store.roles import enabled_role
from tui_chat.store.rows import SESSION, session_of, summary_of

UNTITLED = "New chat"
"""The title of a session that has neither a title nor a role."""

_NEXT_TOUCH = "(SELECT coalesce(max(touched), 0) + 1 FROM sessions)"

# The status is that of the first reply on the way from the head to the root.
_SUMMARIES = """
    SELECT
        s.session_id, s.title, coalesce(r.name, ''),
        CASE s.model WHEN '' THEN coalesce(r.model, '') ELSE s.model END, s.endpoint,
        count(m.session_id),
        CAST(total(coalesce(m.usage_input, 0) + coalesce(m.usage_output, 0)) AS INTEGER),
        coalesce((
            WITH RECURSIVE up (parent_id, message_role, status) AS (
                SELECT parent_id, message_role, status
                FROM messages WHERE message_id = s.head_id
                UNION ALL
                SELECT p.parent_id, p.message_role, p.status
                FROM up JOIN messages AS p ON p.message_id = up.parent_id
                WHERE up.message_role <> 'assistant'
            )
            SELECT status FROM up WHERE message_role = 'assistant' LIMIT 1
        ), 'complete'),
        s.updated
    FROM sessions AS s
    LEFT JOIN roles AS r ON r.role_id = s.role_id
    LEFT JOIN messages AS m ON m.session_id = s.session_id
    GROUP BY s.seq
    ORDER BY s.touched DESC
"""


class SessionChanges(TypedDict, total=False):
    """What can be changed of a session; a key that is left out stays as it is."""

    title: str
    model: str
    endpoint: str
    preset: str
    profile: str
    temperature: float | None
    max_tokens: int | None


async def create(tx: Transaction, session: Session) -> Session:
    """Add a session; an empty title or preset comes from its role."""
    title, preset = session.title, session.preset
    if session.role_id is not None:
        role = await enabled_role(tx, session.role_id)
        title, preset = title or role.name, preset or role.preset
    row = await tx.row(
        "INSERT INTO sessions (session_id, title, role_id, model, endpoint, preset, profile, "
        f"created, updated, touched) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, {_NEXT_TOUCH}) "
        f"RETURNING {SESSION}",
        *(session.session_id, title or UNTITLED, session.role_id, session.model),
        *(session.endpoint, preset, session.profile, session.created, session.created),
    )
    if row is None:
        raise AssertionError("an insert returns its row")
    return session_of(row)


async def find(tx: Transaction, session_id: str) -> Session | None:
    """Return the session, None if it is gone."""
    row = await tx.row(f"SELECT {SESSION} FROM sessions WHERE session_id = ?", session_id)
    return None if row is None else session_of(row)


async def require(tx: Transaction, session_id: str) -> None:
    """Refuse a session that is gone; another program may have deleted it."""
    if await tx.row("SELECT 1 FROM sessions WHERE session_id = ?", session_id) is None:
        raise StoreError("This session no longer exists.")


async def summaries(tx: Transaction) -> tuple[SessionSummary, ...]:
    """Return all sessions, the one that was active last first."""
    return tuple(map(summary_of, await tx.rows(_SUMMARIES)))


async def change(tx: Transaction, session_id: str, changes: SessionChanges) -> Session:
    """Change settings. That is no activity: the session keeps its place in the list."""
    unknown = changes.keys() - SessionChanges.__annotations__.keys()
    if unknown:
        raise TypeError(f"a session has no such settings: {', '.join(sorted(unknown))}")
    if changes:
        settings = ", ".join(f"{name} = ?" for name in changes)
        await tx.run(
            f"UPDATE sessions SET {settings} WHERE session_id = ?",
            *changes.values(),
            session_id,
        )
    session = await find(tx, session_id)
    if session is None:
        raise StoreError("This session no longer exists.")
    return session


async def move_head(tx: Transaction, session_id: str, head_id: str, now: float) -> None:
    """Show the branch that ends at `head_id`; the session goes to the top of the list."""
    await tx.run(
        f"UPDATE sessions SET head_id = ?, updated = ?, touched = {_NEXT_TOUCH} "
        "WHERE session_id = ?",
        *(head_id, now, session_id),
    )


async def touch(tx: Transaction, entry_id: str, now: float) -> None:
    """Put the session of an entry at the top of the list."""
    await tx.run(
        f"UPDATE sessions SET updated = ?, touched = {_NEXT_TOUCH} "
        "WHERE session_id = (SELECT session_id FROM messages WHERE message_id = ?)",
        *(now, entry_id),
    )


async def delete(tx: Transaction, session_id: str) -> None:
    """Remove a session with all that belongs to it; one that is gone stays gone."""
    await tx.run("DELETE FROM sessions WHERE session_id = ?", session_id)
