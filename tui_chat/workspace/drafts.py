"""What is being typed, kept for each session and for the chat not yet begun."""

from __future__ import annotations

import asyncio

from tui_chat.errors import TuiChatError
from tui_chat.models.session import Session
from tui_chat.workspace.changes import Trouble
from tui_chat.workspace.outside import Outside
from tui_chat.workspace.state import State


class Drafts:
    """Reads and keeps drafts; a fault in keeping them is told once."""

    def __init__(self, state: State, outside: Outside) -> None:
        self._state = state
        self._outside = outside
        self._turn = asyncio.Lock()
        """One after the other: what was typed last is to be what is stored."""
        self._fault = ""
        self._files: dict[str, str] = {}
        """What was kept last of each draft's files: they change seldom."""

    async def shown(self) -> str:
        """Return what was being typed in the shown session."""
        store, session = self._outside.store, self._state.session
        with self._outside.telling():
            if session is None:
                return await store.settings.get("draft") or ""
            return await store.drafts.get(session.session_id)
        return ""

    async def files(self) -> tuple[str, ...]:
        """Return the paths of the files that go with the shown session's draft."""
        key, kept = _files_of(self._state.session), ""
        with self._outside.telling():
            kept = await self._outside.store.settings.get(key) or ""
        self._files[key] = kept
        return tuple(kept.split("\n")) if kept else ()

    async def keep(self, session: Session | None, text: str, files: tuple[str, ...] = ()) -> None:
        """Keep what is being typed in a session (None: in the chat not yet begun). Where it cannot
        be written, it is kept in memory until it can be.
        """
        async with self._turn:
            try:
                await self._write(session, text, files)
            except TuiChatError as error:
                if str(error) != self._fault:  # once, not with every word that is typed
                    self._fault = str(error)
                    self._outside.tell(Trouble(error))
            else:
                self._fault = ""

    async def _write(self, session: Session | None, text: str, files: tuple[str, ...]) -> None:
        store = self._outside.store
        key, paths = _files_of(session), "\n".join(files)
        try:
            if self._files.get(key, "") != paths:
                self._files[key] = paths
                await store.settings.set(key, paths)
        finally:  # the text all the same
            if session is None:
                await store.settings.set("draft", text)
            else:
                await store.drafts.save(session.session_id, text)


def _files_of(session: Session | None) -> str:
    """Return what the store calls the files of a draft."""
    return "files" if session is None else f"files:{session.session_id}"
