"""Drafts: what is being typed, stored for each session and for the new chat."""

from __future__ import annotations

import asyncio

from tui_chat.errors import TuiChatError
from tui_chat.models.session import DRAFT_FILES, Session
from tui_chat.workspace.core import WorkspaceCore, reported
from tui_chat.workspace.events import Failed
from tui_chat.workspace.temporary import TemporarySession


class Drafts:
    """Reads and stores drafts."""

    def __init__(self, core: WorkspaceCore, temporary: TemporarySession) -> None:
        self.core = core
        self._temporary = temporary
        self._lock = asyncio.Lock()
        """One write at a time: what was typed last is what is stored."""
        self._fault = ""
        """The last draft's fault, which is reported once, not with every word."""
        self._stored_files: dict[str, str] = {}
        """The paths stored last, by their key: they seldom change."""

    @reported("")
    async def text(self) -> str:
        """Return the stored draft of the active session."""
        store, session = self.core.active_store, self.core.state.session
        if session is None:
            return await store.settings.get("draft") or ""
        return await store.drafts.get(session.session_id)

    async def files(self) -> tuple[str, ...]:
        """Return the paths of the files attached to the active session's draft."""
        key, paths = _files_key(self.core.state.session), ""
        with self.core.reporting():
            paths = await self.core.active_store.settings.get(key) or ""
        self._stored_files[key] = paths
        return tuple(paths.split("\n")) if paths else ()

    async def save(self, session: Session | None, text: str, files: tuple[str, ...] = ()) -> None:
        """Store the draft of a session (None: of the new chat) and the paths of its attachments.
        If that fails, the store keeps the text in memory and writes it later.
        """
        if session is not None and session.session_id in self._temporary.ended:
            return
        async with self._lock:
            try:
                await self._write(session, text, files)
            except TuiChatError as error:
                if str(error) != self._fault:
                    self._fault = str(error)
                    self.core.publish(Failed(error))
            else:
                self._fault = ""

    async def _write(self, session: Session | None, text: str, files: tuple[str, ...]) -> None:
        store = self.core.store_of(session.session_id if session is not None else "")
        key, paths = _files_key(session), "\n".join(files)
        try:
            if self._stored_files.get(key, "") != paths:
                self._stored_files[key] = paths
                await store.settings.set(key, paths)
        finally:  # the text is stored even if the paths could not be
            if session is None:
                await store.settings.set("draft", text)
            else:
                await store.drafts.save(session.session_id, text)


def _files_key(session: Session | None) -> str:
    """Return the name of the stored setting that holds the paths of a draft's attachments."""
    return "files" if session is None else f"{DRAFT_FILES}{session.session_id}"
