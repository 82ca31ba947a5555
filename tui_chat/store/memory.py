"""What the program remembers between two runs: drafts, and settings such as the last session."""

from __future__ import annotations

from tui_chat.store.database import Transaction
from tui_chat.store.sessions import require


async def draft(tx: Transaction, session_id: str) -> str:
    """Return what was being typed in a session, empty where nothing was."""
    row = await tx.row("SELECT text FROM drafts WHERE session_id = ?", session_id)
    return "" if row is None else row[0]


async def save_draft(tx: Transaction, session_id: str, text: str) -> None:
    """Keep what is being typed; an empty text leaves nothing behind."""
    if not text:
        await tx.run("DELETE FROM drafts WHERE session_id = ?", session_id)
        return
    await require(tx, session_id)
    await tx.run(
        "INSERT INTO drafts (session_id, text) VALUES (?, ?) "
        "ON CONFLICT (session_id) DO UPDATE SET text = excluded.text",
        *(session_id, text),
    )


async def drop_sent_draft(tx: Transaction, session_id: str, text: str) -> None:
    """Forget the draft that has become a message; a different one is still being typed."""
    await tx.run("DELETE FROM drafts WHERE session_id = ? AND text = ?", session_id, text)
    # In a chat that begins with it, it was kept under this name.
    await tx.run("UPDATE settings SET value = '' WHERE key = 'draft' AND value = ?", text)


async def remember(tx: Transaction, key: str, value: str) -> None:
    """Keep a setting."""
    await tx.run(
        "INSERT INTO settings (key, value) VALUES (?, ?) "
        "ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        *(key, value),
    )


async def recall(tx: Transaction, key: str) -> str | None:
    """Return a setting, None where it was never kept."""
    row = await tx.row("SELECT value FROM settings WHERE key = ?", key)
    return None if row is None else row[0]


_SCANNED = 2_000
"""Messages among which recent prompts are looked for."""


async def recent_prompts(tx: Transaction, limit: int, longest: int) -> tuple[tuple[str, str], ...]:
    """Return session id and text of the newest user messages, the newest first: at most `limit`,
    none of more than `longest` characters, and nothing that was deleted.
    """
    rows = await tx.rows(
        "SELECT m.session_id, substr(m.content, 1, ? + 1) FROM messages AS m "
        "JOIN sessions AS s USING (session_id) "
        "WHERE m.seq IN (SELECT seq FROM messages ORDER BY created DESC, seq DESC LIMIT ?) "
        "AND m.message_role = 'user' AND m.content <> '' AND s.deleted IS NULL "
        "AND m.seq NOT IN (SELECT message FROM hidden_messages) "
        "ORDER BY m.created DESC, m.seq DESC LIMIT ?",
        *(longest, _SCANNED, limit),
    )
    return tuple((session_id, text) for session_id, text in rows if len(text) <= longest)
