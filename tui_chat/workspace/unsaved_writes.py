"""Writes that are only in memory because the database could not be written to."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from tui_chat.workspace.active_session import ActiveSession
from tui_chat.workspace.core import WorkspaceCore
from tui_chat.workspace.events import Done, UnsavedWritesChanged
from tui_chat.workspace.session_catalog import SessionCatalog

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0
"""Seconds until the next attempt: the pause doubles from the first to the longest."""


class UnsavedWrites:
    """Retries the store's deferred writes, and publishes when all is written."""

    def __init__(self, core: WorkspaceCore, active: ActiveSession, catalog: SessionCatalog) -> None:
        self.core = core
        self._active = active
        self._catalog = catalog
        self._retrying: asyncio.Task[None] | None = None
        self._published = ""
        core.store.database.on_deferred = self._retry_later

    @property
    def reason(self) -> str:
        """The reason why something is in memory only, as a sentence; empty if all is stored."""
        fault = self.core.store.database.write_fault
        partial = self.core.state.partial
        return str(fault) if fault else partial.unsaved if partial else ""

    async def written(self, seconds: float) -> bool:
        """Wait until everything is stored, for some seconds at most; return True if it is."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self.core.store.database.all_written.wait(), seconds)
        return not self.reason

    async def stop(self) -> None:
        """Stop retrying."""
        if self._retrying is not None:
            self._retrying.cancel()
            await asyncio.wait((self._retrying,))

    def _retry_later(self) -> None:
        """Retry with growing pauses until everything is stored."""
        self._publish(str(self.core.store.database.write_fault or ""))
        if self._retrying is None or self._retrying.done():
            self._retrying = asyncio.create_task(self._retry())

    async def _retry(self) -> None:
        core, store = self.core, self.core.store
        pause, is_written = FIRST_PAUSE, False
        while not is_written:
            # Another write may succeed meanwhile, and take these along.
            with suppress(TimeoutError):
                await asyncio.wait_for(store.database.all_written.wait(), pause)
            is_written = await store.database.write_deferred()
            pause = min(2 * pause, LONGEST_PAUSE)
        self._publish("")
        core.publish(Done("What could not be saved before is saved now."))
        with core.reporting():
            await self._active.reload_branch()
            await self._catalog.refresh()

    def _publish(self, reason: str) -> None:
        if reason != self._published:
            self._published = reason
            self.core.publish(UnsavedWritesChanged(reason))
