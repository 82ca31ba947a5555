"""Settings of the program, and texts that belong to a session, such as its draft."""
# ruff: noqa: S608 - only our own column names are put into SQL

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from tui_chat.store.database import Database, Transaction, writes
from tui_chat.store.sessions import require_session

NEW_CHAT_DRAFT = "draft"
"""The key of the draft of a chat that is not stored yet."""

_SET = """
    INSERT INTO settings (key, value) VALUES (?, ?)
    ON CONFLICT (key) DO UPDATE SET value = excluded.value
"""

_DROP_DRAFT = "UPDATE sessions SET draft = '' WHERE session_id = ? AND draft = ?"


async def write_settings(tx: Transaction, values: Mapping[str, str]) -> None:
    """Set settings together with something else."""
    await tx.run_many(_SET, list(values.items()))


class SettingStore:
    """Texts of the program, by key."""

    def __init__(self, database: Database) -> None:
        self.database = database

    async def get(self, key: str) -> str | None:
        """Return a setting; None if it was never set."""
        row = await self.database.row("SELECT value FROM settings WHERE key = ?", key)
        return None if row is None else row[0]

    @writes
    async def set(self, tx: Transaction, key: str, value: str) -> None:
        """Set a setting, such as the session that was open last. Raises StoreError."""
        await tx.run(_SET, key, value)

    async def beginning_with(self, prefix: str) -> dict[str, str]:
        """Return the settings whose keys begin so, by key, in the order in which they were set."""
        sql = "SELECT key, value FROM settings WHERE substr(key, 1, ?) = ? ORDER BY rowid"
        return dict(await self.database.rows(sql, len(prefix), prefix))

    @writes
    async def remove(self, tx: Transaction, key: str) -> None:
        """Forget a setting. Raises StoreError."""
        await tx.run("DELETE FROM settings WHERE key = ?", key)


class SessionTexts:
    """One text of each session; empty if there is none. That of the new chat, whose id here is
    empty, is the setting with the name of the column.
    """

    def __init__(
        self, database: Database, column: Literal["draft", "files", "queue", "tools"]
    ) -> None:
        self.database = database
        self._column = column

    async def get(self, session_id: str) -> str:
        """Return the text of a session."""
        return await self.database.read(lambda tx: self._read(tx, session_id))

    @writes
    async def save(self, tx: Transaction, session_id: str, text: str) -> None:
        """Set the text of a session. Raises StoreError, `RecordGone` if the session is gone."""
        if session_id:
            await require_session(tx, session_id)
        await self._write(tx, session_id, text)

    @writes
    async def update(
        self, tx: Transaction, session_id: str, change: Callable[[str], str], typed: str = ""
    ) -> str:
        """Change the text of a session from the stored one, in one transaction, so that another
        window's change is not lost; `typed` leaves the draft with it. Return the new text. Raises
        StoreError.
        """
        before = await self._read(tx, session_id)
        after = change(before)
        if after != before:
            await self._write(tx, session_id, after)
        if typed:
            await tx.run(_DROP_DRAFT, session_id, typed)
        return after

    async def _read(self, tx: Transaction, session_id: str) -> str:
        sql = "SELECT value FROM settings WHERE key = ?"
        if session_id:
            sql = f"SELECT {self._column} FROM sessions WHERE session_id = ?"
        row = await tx.row(sql, session_id or self._column)
        return "" if row is None else row[0]

    async def _write(self, tx: Transaction, session_id: str, text: str) -> None:
        if session_id:
            sql = f"UPDATE sessions SET {self._column} = ? WHERE session_id = ?"
            await tx.run(sql, text, session_id)
        else:
            await tx.run(_SET, self._column, text)


async def drop_sent_draft(tx: Transaction, session_id: str, text: str) -> None:
    """Remove the draft if it is the text of the sent message; another text is a new draft."""
    await tx.run(_DROP_DRAFT, session_id, text)
    sql = "UPDATE settings SET value = '' WHERE key = ? AND value = ?"
    await tx.run(sql, NEW_CHAT_DRAFT, text)
