"""The temporary session: nothing of it is written to disk.

1. It has a store of its own, in memory. `Workspace.store_of` returns the store of a session, so
   that messages, drafts, requests and the journal of a reply go where the session is.
2. It is in no list and no search, and ends when another session becomes the active one, or with the
   program, unless it is kept.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tui_chat.errors import InputError
from tui_chat.workspace.events import BranchChanged, Done
from tui_chat.workspace.sessions import default_title

if TYPE_CHECKING:
    from tui_chat.store import Store
    from tui_chat.workspace.workspace import Workspace

TITLE = "Temporary session"


class TemporarySession:
    """Opens, keeps and ends the temporary session."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.store: Store | None = None
        """The store of the temporary session; None if there is none."""
        self.ended: set[str] = set()
        """The ids of temporary sessions that were not kept."""

    async def open(self, role_id: str | None = None) -> None:
        """Open a temporary session with a role; empty for none, None for the role that was used
        last.
        """
        from tui_chat.store import Store

        workspace = self._workspace
        with workspace.reporting():
            store = await Store.open_in_memory(
                now=lambda: workspace.now().timestamp(), new_id=workspace.new_id
            )
            try:
                async with workspace.sessions.session_lock:
                    await workspace.sessions.switch_to_new_chat(role_id)
                    if workspace.state.role is not None:
                        await store.roles.save(workspace.state.role)
                    session = await workspace.sessions.create_in(store, TITLE)
                    self.store, temporary_id = store, session.session_id
                    workspace.update(BranchChanged(), session=session, temporary_id=temporary_id)
            except BaseException:
                await store.close()
                raise

    async def keep(self) -> bool:
        """Store the temporary session like any other; False, reported, if that is not possible."""
        workspace = self._workspace
        with workspace.reporting():
            async with workspace.sessions.session_lock:
                title = await self._keep()
            session_id = workspace.state.session_id
            await workspace.sessions.refresh_list()
            await workspace.remember("session", session_id)
            workspace.publish(Done(f"Kept as “{title}”."))
            return True
        return False

    async def _keep(self) -> str:
        """Copy the session to the file, and return its title. Raises InputError and StoreError."""
        workspace, store = self._workspace, self.store
        session_id = workspace.state.session_id
        if store is None or not workspace.state.is_temporary:
            raise InputError("This session is not a temporary one.")
        if workspace.state.is_streaming:
            raise InputError("A reply is still arriving.", advice="Esc stops it.")
        transcript = await store.transcripts.get(session_id)
        if transcript is None or not transcript.entries:
            raise InputError("There is no message in this session yet.")
        title = transcript.session.title
        if title == TITLE:
            title = default_title(transcript.entries[0].message.content) or "Files"
        session = replace(transcript.session, title=title)
        result = await workspace.store.transcripts.add(replace(transcript, session=session))
        if result.fault:
            raise InputError(result.fault)
        tools = await store.settings.get(f"tools/{session_id}")
        if tools is not None:
            await workspace.store.settings.set(f"tools/{session_id}", tools)
        stored = await workspace.store.sessions.get(session_id)
        await self._close(store)
        workspace.update(BranchChanged(), session=stored)
        return title

    async def end(self) -> None:
        """Drop the temporary session, if there is one, after another one was opened."""
        if self.store is not None:
            self.ended.add(self._workspace.state.temporary_id)
            await self._workspace.replies.stop_in(self._workspace.state.temporary_id)
            await self._close(self.store)

    async def _close(self, store: Store) -> None:
        workspace = self._workspace
        self.store = None
        workspace.forget_messages(store)
        workspace.update(temporary_id="")
        await store.close()
