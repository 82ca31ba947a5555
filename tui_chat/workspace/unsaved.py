"""What is in memory only, because the database could not be written to."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from tui_chat.errors import StoreError
from tui_chat.workspace.changes import Done, SavingFailed
from tui_chat.workspace.opening import Opening
from tui_chat.workspace.outside import Outside

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0
"""Seconds until the next attempt: the pause doubles from the first to the longest."""


class UnsavedWrites:
    """Tries again to write what the store keeps in memory, and tells when all is written."""

    def __init__(self, outside: Outside, opening: Opening) -> None:
        self._outside = outside
        self._opening = opening
        self._retrying: asyncio.Task[None] | None = None
        self._told = ""
        outside.store.database.on_deferred = self._retry_later

    @property
    def fault(self) -> StoreError | None:
        """Why something is in memory only; None if everything is stored."""
        return self._outside.store.database.write_fault

    def _retry_later(self) -> None:
        """Go on trying, with growing pauses, until everything is stored."""
        self._tell(str(self.fault or ""))
        if self._retrying is None or self._retrying.done():
            self._retrying = asyncio.create_task(self._retry())

    async def write_now(self) -> bool:
        """Try once; return True if everything is stored."""
        return await self._outside.store.database.write_deferred()

    async def stop(self) -> None:
        """Give up trying."""
        if self._retrying is not None:
            self._retrying.cancel()
            await asyncio.wait((self._retrying,))

    async def _retry(self) -> None:
        store, pause, is_written = self._outside.store, FIRST_PAUSE, False
        while not is_written:
            # Another write may succeed meanwhile, and take these along.
            with suppress(TimeoutError):
                await asyncio.wait_for(store.database.all_written.wait(), pause)
            is_written = await store.database.write_deferred()
            pause = min(2 * pause, LONGEST_PAUSE)
        self._tell("")
        self._outside.tell(Done("What could not be saved before is saved now."))
        with self._outside.telling():
            await self._opening.reload()
            await self._opening.list_sessions()

    def _tell(self, why: str) -> None:
        if why != self._told:
            self._told = why
            self._outside.tell(SavingFailed(why))
