"""The temporary session: nothing of it is written to disk.

1. It has a store of its own, in memory. `WorkspaceCore.store_of` returns the store of a session, so
   that messages, drafts, requests and the journal of a reply go where the session is.
2. It is in no list and no search, and ends when another session becomes the active one, or with the
   program, unless it is kept.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tui_chat.errors import InputError, NotYet
from tui_chat.lazy_dataclass import dataclass
from tui_chat.workspace.active_session import ActiveSession, quoted_title, session_title
from tui_chat.workspace.core import WorkspaceCore, reported
from tui_chat.workspace.events import BranchChanged, Done
from tui_chat.workspace.replies import Replies
from tui_chat.workspace.session_catalog import SessionCatalog

if TYPE_CHECKING:
    from tui_chat.store import Store

TITLE = "Temporary session"


@dataclass(eq=False)
class TemporarySession:
    """Begins, keeps and ends the temporary session; `Sessions.new_temporary` opens one."""

    core: WorkspaceCore
    _active: ActiveSession
    _catalog: SessionCatalog
    _replies: Replies

    def __post_init__(self) -> None:
        self.ended: set[str] = set()
        """The ids of temporary sessions that were not kept."""

    async def new_store(self) -> Store:
        """Return an empty store for the temporary session. Raises StoreError."""
        from tui_chat.store import Store

        core = self.core
        return await Store.open_in_memory(now=lambda: core.now().timestamp(), new_id=core.new_id)

    async def begin(self, store: Store) -> None:
        """Make the new chat temporary, in a store of `new_store`. The caller holds the lock."""
        core = self.core
        core.update(edits=())  # those of the new chat wait there for it, as its draft does
        if core.state.role is not None:
            await store.roles.save(core.state.role)
        session = await store.messages.begin_session(self._active.new_session("", title=TITLE))
        core.temporary_store = store
        core.update(BranchChanged(), session=session, temporary_id=session.session_id)

    @reported(False)
    async def keep(self) -> bool:
        """Store the temporary session like any other; False, reported, if that is not possible."""
        core = self.core
        async with self._active.lock:
            title = await self._keep()
        session_id = core.state.session_id
        await self._catalog.refresh()
        await core.remember("session", session_id)
        core.publish(Done(f"Kept as {quoted_title(title)}."))
        return True

    async def _keep(self) -> str:
        """Copy the session to the file, and return its title. Raises InputError and StoreError."""
        core, store = self.core, self.core.temporary_store
        session_id = core.state.session_id
        if store is None or not core.state.is_temporary:
            raise InputError("This session is not a temporary one.")
        if core.state.is_streaming:
            raise NotYet("A reply is still arriving.", advice="Esc stops it.")
        transcript = await store.transcripts.get(session_id)
        if transcript is None or not transcript.entries:
            raise NotYet("There is no message in this session yet.")
        title = transcript.session.title
        if title == TITLE:
            messages = [entry.message for entry in transcript.entries]
            first = next((each for each in messages if each.role == "user"), messages[0])
            title = session_title(core.state.role, first.content, first.parts)
        session = replace(transcript.session, title=title)
        result = await core.store.transcripts.add(replace(transcript, session=session))
        if result.fault:
            raise InputError(result.fault)
        for here, there in (
            (store.draft_files, core.store.draft_files),
            (store.queues, core.store.queues),
            (store.chosen_tools, core.store.chosen_tools),
        ):
            await there.save(session_id, await here.get(session_id))
        stored = await core.store.sessions.get(session_id)
        await self._close(store)
        core.update(BranchChanged(), session=stored)
        return title

    async def end(self) -> None:
        """Drop the temporary session, if there is one, after another one was opened."""
        store, session_id = self.core.temporary_store, self.core.state.temporary_id
        if store is not None:
            self.ended.add(session_id)
            await self._replies.stop(session_id)
            await self._close(store)

    async def _close(self, store: Store) -> None:
        core = self.core
        core.temporary_store = None
        core.forget_messages(store)
        core.update(temporary_id="")
        await store.close()
