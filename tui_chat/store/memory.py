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
