"""Drafts: what is being typed, stored for each session and for the new chat."""

from __future__ import annotations

import asyncio

from tui_chat.errors import TuiChatError
from tui_chat.models.session import Session
from tui_chat.workspace.core import WorkspaceCore, reported
from tui_chat.workspace.events import BranchChanged, Failed
from tui_chat.workspace.temporary import TemporarySession


class Drafts:
    """Reads and stores drafts."""

    def __init__(self, core: WorkspaceCore, temporary: TemporarySession) -> None:
        self.core = core
        self._temporary = temporary
        self._lock = asyncio.Lock()
        """One write at a time: what was typed last is what is stored."""
        self._stored_files: dict[str, str] = {}
        """The paths stored last, by session id: they seldom change."""

    @reported("")
    async def text(self) -> str:
        """Return the stored draft of the active session."""
        store, session = self.core.active_store, self.core.state.session
        if session is None:
            return await store.settings.get("draft") or ""
        return await store.drafts.get(session.session_id)

    async def files(self) -> tuple[str, ...]:
        """Return the paths of the files attached to the active session's draft."""
        session, store, paths = self.core.state.session, self.core.active_store, ""
        session_id = "" if session is None else session.session_id
        with self.core.reporting():
            if session_id:
                paths = await store.draft_files.get(session_id)
            else:
                paths = await store.settings.get(_NEW_CHAT_FILES) or ""
        self._stored_files[session_id] = paths
        return tuple(paths.split("\n")) if paths else ()

    async def save(self, session: Session | None, text: str, files: tuple[str, ...] = ()) -> None:
        """Store the draft of a session (None: of the new chat) and the paths of its attachments.
        A fault is reported once, not with every word, and stays in the state until it is stored.
        """
        if session is not None and session.session_id in self._temporary.ended:
            return
        async with self._lock:
            core, known = self.core, self.core.state.unsaved_draft
            try:
                await self._write(session, text, files)
            except TuiChatError as error:
                if str(error) != known:
                    core.update(BranchChanged(), Failed(error), unsaved_draft=str(error))
            else:
                if known:
                    core.update(BranchChanged(), unsaved_draft="")

    async def _write(self, session: Session | None, text: str, files: tuple[str, ...]) -> None:
        store = self.core.store_of(session.session_id if session is not None else "")
        session_id, paths = "" if session is None else session.session_id, "\n".join(files)
        try:
            if self._stored_files.get(session_id, "") != paths:
                self._stored_files[session_id] = paths
                if session_id:
                    await store.draft_files.save(session_id, paths)
                else:
                    await store.settings.set(_NEW_CHAT_FILES, paths)
        finally:  # the text is stored even if the paths could not be
            if session is None:
                await store.settings.set("draft", text)
            else:
                await store.drafts.save(session.session_id, text)


_NEW_CHAT_FILES = "files"
"""The stored setting that holds the paths of the files of a new chat's draft."""
