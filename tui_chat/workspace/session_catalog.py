"""The list of sessions. It is read in two steps: the first of them at once, all of them soon."""

from __future__ import annotations

import asyncio

from tui_chat.workspace.core import WorkspaceCore, reported
from tui_chat.workspace.events import SessionsChanged

FIRST_SESSIONS = 200
"""Sessions that are listed before all of them are: more than fit on a screen."""


class SessionCatalog:
    """Reads the list of sessions into the state."""

    def __init__(self, core: WorkspaceCore) -> None:
        self.core = core
        self._listing: asyncio.Task[None] | None = None
        self._is_stale = False
        """True if the whole list is to be read once more."""

    async def refresh(self) -> None:
        """Read the list of sessions again: the first of them now, the rest soon."""
        if await self.read_first():
            self.read_all_soon()

    async def refresh_if_changed(self) -> None:
        """Read the list of sessions, and publish it if another program changed it."""
        sessions = await self.core.store.sessions.list()
        if sessions != self.core.state.sessions:
            self.core.update(SessionsChanged(), sessions=sessions)

    async def stop(self) -> None:
        """Stop reading the list, so that the store can be closed."""
        if self._listing is not None:
            self._listing.cancel()
            await asyncio.wait((self._listing,))

    async def read_first(self) -> bool:
        """Read the first sessions of the list; return True if there may be more."""
        first = await self.core.store.sessions.list(FIRST_SESSIONS)
        has_more = len(first) == FIRST_SESSIONS
        if has_more:
            read = {summary.session_id for summary in first}
            listed = self.core.state.sessions
            first = (*first, *(summary for summary in listed if summary.session_id not in read))
        self.core.update(SessionsChanged(), sessions=first)
        return has_more

    def read_all_soon(self) -> None:
        """Read the whole list in the background."""
        self._is_stale = True
        if self._listing is None or self._listing.done():
            self._listing = asyncio.create_task(self._read_all())

    @reported(None)
    async def _read_all(self) -> None:
        while self._is_stale:
            self._is_stale = False
            sessions = await self.core.store.sessions.list()
            if not self._is_stale:  # else something changed while it was read
                self.core.update(SessionsChanged(), sessions=sessions)
                await self.mark_read(self.core.state.session_id)

    async def mark_read(self, session_id: str) -> None:
        """Mark a session as read if it is listed as unread."""
        sessions = self.core.state.sessions
        if self.core.remembers and any(
            session.unread for session in sessions if session.session_id == session_id
        ):
            await self.core.store.sessions.update(session_id, unread=False)
            await self.refresh()
