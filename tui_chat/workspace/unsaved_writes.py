"""What is kept in memory only because the database could not be written to."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from tui_chat.workspace.events import Done, UnsavedWritesChanged

if TYPE_CHECKING:
    from tui_chat.workspace.workspace import Workspace

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0
"""Seconds until the next attempt: the pause doubles from the first to the longest."""


class UnsavedWrites:
    """Retries the store's deferred writes, and publishes when all is written."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._retrying: asyncio.Task[None] | None = None
        self._published = ""
        workspace.store.database.on_deferred = self._retry_later

    @property
    def reason(self) -> str:
        """Why something is in memory only, as a sentence; empty if everything is stored."""
        fault = self._workspace.store.database.write_fault
        partial = self._workspace.state.partial
        return str(fault) if fault else partial.unsaved if partial else ""

    async def stop(self) -> None:
        """Stop retrying."""
        if self._retrying is not None:
            self._retrying.cancel()
            await asyncio.wait((self._retrying,))

    def _retry_later(self) -> None:
        """Retry with growing pauses until everything is stored."""
        self._publish(str(self._workspace.store.database.write_fault or ""))
        if self._retrying is None or self._retrying.done():
            self._retrying = asyncio.create_task(self._retry())

    async def _retry(self) -> None:
        workspace, store = self._workspace, self._workspace.store
        pause, is_written = FIRST_PAUSE, False
        while not is_written:
            # Another write may succeed meanwhile, and take these along.
            with suppress(TimeoutError):
                await asyncio.wait_for(store.database.all_written.wait(), pause)
            is_written = await store.database.write_deferred()
            pause = min(2 * pause, LONGEST_PAUSE)
        self._publish("")
        workspace.publish(Done("What could not be saved before is saved now."))
        with workspace.reporting():
            await workspace.sessions.reload_branch()
            await workspace.sessions.refresh_list()

    def _publish(self, reason: str) -> None:
        if reason != self._published:
            self._published = reason
            self._workspace.publish(UnsavedWritesChanged(reason))
