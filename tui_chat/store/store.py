"""The store: all data of the program, in one SQLite file."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from tui_chat.store import schema
from tui_chat.store.branches import BranchStore
from tui_chat.store.database import IN_MEMORY, Database, StoreContext
from tui_chat.store.drafts import SessionTexts, SettingStore
from tui_chat.store.messages import MessageStore
from tui_chat.store.replies import ReplyStore
from tui_chat.store.requests import RequestStore, RevisionStore, SideRequestStore
from tui_chat.store.roles import RoleStore
from tui_chat.store.sessions import SessionStore
from tui_chat.store.transcripts import TranscriptStore
from tui_chat.store.usage import UsageStore

if TYPE_CHECKING:
    from tui_chat.store.search import MessageSearch


class Store:
    """An open database, with one object per subject.

    Each method of these objects is one transaction, which is on the disk when the method returns.
    Create it with `Store.open`, and close it or use it with `async with`.
    """

    def __init__(
        self,
        path: Path,
        database: Database,
        *,
        now: Callable[[], float],
        new_id: Callable[[], str],
        backup: Path | None,
    ) -> None:
        self.path = path
        """The database file."""
        self.backup = backup
        """The backup made before the database was migrated; None if it was not migrated now."""
        self.database = database
        """The connection."""
        context = StoreContext(database, now, new_id)
        self.sessions = SessionStore(context)
        self.branches = BranchStore(context)
        self.messages = MessageStore(context)
        self.replies = ReplyStore(path, context)
        self.requests = RequestStore(database)
        self.side_requests = SideRequestStore(database, now)
        self.usage = UsageStore(database)
        self.transcripts = TranscriptStore(database, now)
        self.roles = RoleStore(database, now)
        self.revisions = RevisionStore(database, now)
        self.settings = SettingStore(database)
        self.drafts = SessionTexts(database, "draft")
        self.draft_files = SessionTexts(database, "files")
        """The paths of the files attached to drafts, a line each."""
        self.queues = SessionTexts(database, "queue")
        """Messages that wait for the reply before them, as JSON."""
        self.chosen_tools = SessionTexts(database, "tools")
        """Names of the tools that were chosen for a session, as JSON; empty if none were."""

    @classmethod
    async def open(
        cls,
        path: Path,
        *,
        now: Callable[[], float],
        new_id: Callable[[], str],
        busy_timeout: float = 5.0,
    ) -> Store:
        """Open the database at `path`, creating or migrating it if necessary.

        `now` returns seconds since the epoch, `new_id` ids that are unique among all programs.
        `busy_timeout` is how many seconds to wait for another program that holds the file. Raises
        `StoreBusy`, `StoreNewer`, `StoreDamaged` or a plain `StoreError`. Streaming replies of
        programs that no longer run become `interrupted`.
        """
        backup = await asyncio.to_thread(schema.prepare, path, now=now(), busy_timeout=busy_timeout)
        database = await Database.connect(path, busy_timeout=busy_timeout)
        store = cls(path, database, now=now, new_id=new_id, backup=backup)
        try:
            await store.replies.interrupt_orphans()
        except BaseException:
            await store.close()
            raise
        return store

    @classmethod
    async def open_in_memory(cls, *, now: Callable[[], float], new_id: Callable[[], str]) -> Store:
        """Return an empty store that writes nothing to disk and is gone when it is closed."""
        database = await Database.create_in_memory(step.up for step in schema.migrations())
        return cls(Path(IN_MEMORY), database, now=now, new_id=new_id, backup=None)

    @cached_property
    def search(self) -> MessageSearch:
        """Full-text search; imported when something is searched for."""
        from tui_chat.store.search import MessageSearch

        return MessageSearch(self.database)

    async def close(self) -> None:
        """Wait for pending writes, then close. May be called again."""
        await self.database.close()
        self.replies.close()

    async def __aenter__(self) -> Store:
        return self

    async def __aexit__(self, *_exc: object) -> None:
        await self.close()
