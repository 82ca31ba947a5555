"""The store: everything the program keeps, behind one object. See `api` for what it can do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from tui_chat.store import schema
from tui_chat.store.api.exchanges import Exchanges
from tui_chat.store.api.library import Library
from tui_chat.store.api.messages import Messages
from tui_chat.store.api.search import Search
from tui_chat.store.api.sessions import Sessions
from tui_chat.store.api.transcripts import Transcripts
from tui_chat.store.database import Database


class Store(Sessions, Messages, Exchanges, Search, Transcripts, Library):
    """An open database. Made by `Store.open`; to be closed, or used with `async with`."""

    def __init__(
        self,
        path: Path,
        database: Database,
        *,
        now: Callable[[], float],
        new_id: Callable[[], str],
        backup: Path | None,
    ) -> None:
        super().__init__(path, database, now=now, new_id=new_id)
        self.path = path
        """The database file."""
        self.backup = backup
        """Where the database was copied to before this opening migrated it, else None."""

    @classmethod
    async def open(
        cls,
        path: Path,
        *,
        now: Callable[[], float],
        new_id: Callable[[], str],
        busy_timeout: float = 5.0,
    ) -> Store:
        """Open the database at `path`, making or migrating it where that is due.

        `now` gives seconds since the epoch, `new_id` ids that are unique for all programs.
        `busy_timeout` is how many seconds to wait for another program that holds the file. Raises
        `StoreBusy`, `StoreNewer`, `StoreDamaged` or a plain `StoreError`. Replies that were
        being received by a program that no longer runs become `interrupted`.
        """
        backup = await asyncio.to_thread(schema.prepare, path, now=now(), busy_timeout=busy_timeout)
        database = await Database.connect(path, busy_timeout=busy_timeout)
        store = cls(path, database, now=now, new_id=new_id, backup=backup)
        try:
            await store.interrupt_orphans()
        except BaseException:
            await store.close()
            raise
        return store

    async def close(self) -> None:
        """Let pending writes end, then close. May be called again."""
        await self._database.close()
        self._owner.release()

    async def __aenter__(self) -> Store:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()
