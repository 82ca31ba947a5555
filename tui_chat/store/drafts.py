"""Drafts, and settings of the program such as the last session."""

from __future__ import annotations

from collections.abc import Callable

from tui_chat.store.database import Database, Transaction
from tui_chat.store.sessions import require_session
from tui_chat.store.unsaved import UnsavedTexts

NEW_CHAT_DRAFT = "draft"
"""The key of the draft of a chat that is not stored yet."""

_SET = """
    INSERT INTO settings (key, value) VALUES (?, ?)
    ON CONFLICT (key) DO UPDATE SET value = excluded.value
"""


class SettingStore:
    """Texts of the program, by key."""

    def __init__(self, database: Database, unsaved: UnsavedTexts) -> None:
        self._database = database
        self._unsaved = unsaved

    async def get(self, key: str) -> str | None:
        """Return a setting; None if it was never set."""
        unsaved = self._unsaved.get(f"setting {key}")
        if unsaved is not None:
            return unsaved
        row = await self._database.row("SELECT value FROM settings WHERE key = ?", key)
        return None if row is None else row[0]

    async def set(self, key: str, value: str) -> None:
        """Set a setting, such as the session that was open last.

        Raises `StoreError` if it is in memory only until the file can be written to.
        """

        async def work(tx: Transaction) -> None:
            await tx.run(_SET, key, value)

        await self._unsaved.write(f"setting {key}", value, work)

    def is_saved(self, key: str) -> bool:
        """False if a setting is in memory only until the file can be written to."""
        return self._unsaved.get(f"setting {key}") is None

    async def update(
        self,
        key: str,
        change: Callable[[str], str],
        value: str,
        committed: Callable[[str], object],
    ) -> None:
        """Change a setting from its stored value, empty if it was never set, in one transaction, so
        that another window's change is not lost. Raises StoreError.

        A change that cannot be written is made once it can, from what is stored by then; until then
        the setting is `value`. `committed` is called with the new value once it is stored.
        """

        async def work(tx: Transaction) -> str:
            row = await tx.row("SELECT value FROM settings WHERE key = ?", key)
            before = "" if row is None else row[0]
            after = change(before)
            if after != before:
                await tx.run(_SET, key, after)
            return after

        await self._unsaved.write(f"setting {key}", value, work, committed)

    async def beginning_with(self, prefix: str) -> dict[str, str]:
        """Return the settings whose keys begin so, by key, in the order in which they were set."""
        sql = "SELECT key, value FROM settings WHERE substr(key, 1, ?) = ? ORDER BY rowid"
        return dict(await self._database.rows(sql, len(prefix), prefix))

    async def remove(self, key: str) -> None:
        """Forget a setting. Raises StoreError."""

        async def work(tx: Transaction) -> None:
            await tx.run("DELETE FROM settings WHERE key = ?", key)

        await self._database.write(work)


class DraftStore:
    """The draft of each session."""

    def __init__(self, database: Database, unsaved: UnsavedTexts) -> None:
        self._database = database
        self._unsaved = unsaved

    async def get(self, session_id: str) -> str:
        """Return the draft of a session; empty if there is none."""
        unsaved = self._unsaved.get(f"draft {session_id}")
        if unsaved is not None:
            return unsaved
        return await self._database.read(lambda tx: find_draft(tx, session_id))

    async def save(self, session_id: str, text: str) -> None:
        """Save the draft of a session; an empty text removes it.

        Raises `RecordGone` if the session is gone, another `StoreError` if the draft is in
        memory only until the file can be written to.
        """
        await self._unsaved.write(
            f"draft {session_id}", text, lambda tx: save_draft(tx, session_id, text)
        )


async def find_draft(tx: Transaction, session_id: str) -> str:
    """Return the draft of a session; empty if there is none."""
    row = await tx.row("SELECT text FROM drafts WHERE session_id = ?", session_id)
    return "" if row is None else row[0]


async def save_draft(tx: Transaction, session_id: str, text: str) -> None:
    """Save the draft of a session; an empty text removes it."""
    if not text:
        await tx.run("DELETE FROM drafts WHERE session_id = ?", session_id)
        return
    await require_session(tx, session_id)
    await tx.run(
        "INSERT INTO drafts (session_id, text) VALUES (?, ?) "
        "ON CONFLICT (session_id) DO UPDATE SET text = excluded.text",
        *(session_id, text),
    )


async def drop_sent_draft(tx: Transaction, session_id: str, text: str) -> None:
    """Remove the draft if it is the text of the sent message; another text is a new draft."""
    await tx.run("DELETE FROM drafts WHERE session_id = ? AND text = ?", session_id, text)
    await tx.run(
        "UPDATE settings SET value = '' WHERE key = ? AND value = ?", *(NEW_CHAT_DRAFT, text)
    )
