"""Sessions: which one is the active one, stored, new or temporary.

A long branch is shown in two steps: its end at once, the whole when it is read.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress

from tui_chat.errors import InputError, StoreError, TuiChatError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.session import Session
from tui_chat.workspace.active_session import ActiveSession
from tui_chat.workspace.core import WorkspaceCore, reported
from tui_chat.workspace.events import BranchEndLoaded, Failed
from tui_chat.workspace.roles import Roles
from tui_chat.workspace.session_catalog import SessionCatalog
from tui_chat.workspace.settings import SessionSetup
from tui_chat.workspace.temporary import TemporarySession
from tui_chat.workspace.tools import Tools

FIRST_MESSAGES = 60
"""Messages of a branch's end that are shown before all of it is read: more than fit on a screen."""

_STARTING = "starting"
"""The name of the stored setting that holds the id of the session which is being opened at the
start, until it has been on the screen."""
_AGAIN = " again"
"""Stored behind the id if the start before was not confirmed either, or if this one failed."""

TRASH_KEPT = 30 * 24 * 3600.0
"""Seconds after which deleted sessions and messages are purged."""


@dataclass(eq=False)
class Sessions:
    """Opens sessions and new chats."""

    core: WorkspaceCore
    _active: ActiveSession
    _catalog: SessionCatalog
    _settings: SessionSetup
    _roles: Roles
    _tools: Tools
    _temporary: TemporarySession

    # --- at the start ----------------------------------------------------------------------

    async def open_last(self, *, guarded: bool) -> None:
        """Open the session that was open last, else a new chat; see `Workspace.start`."""
        store = self.core.store
        last = await store.settings.get("session")
        has_more = await self._catalog.read_first()
        if last is None or await store.sessions.get(last) is None:
            await self._start_new_chat()
        elif guarded:
            await self._open_guarded(last)
        else:
            await self.activate(last)
        await store.sessions.purge_trash(TRASH_KEPT)
        if has_more:
            self._catalog.read_all_soon()

    async def _open_guarded(self, session_id: str) -> None:
        """Open a session; a new chat if it cannot be shown, or ended the program last time."""
        store = self.core.store
        fault = ""
        started = await store.settings.get(_STARTING)
        if started == f"{session_id}{_AGAIN}":
            fault = "tui-chat ended while it was showing the last session, so it was not opened."
        else:
            again = _AGAIN if started == session_id else ""  # one end may have been a kill
            await store.settings.set(_STARTING, f"{session_id}{again}")
            try:
                await self.activate(session_id)
            except StoreError:
                raise  # the database is at fault, and more than this session
            except Exception as error:  # whatever is wrong with one session, the others are there
                why = str(error) if isinstance(error, TuiChatError) else type(error).__name__
                fault = f"The last session cannot be shown ({why}), so it was not opened."
        if fault:
            await store.settings.set("session", "")
            await self.confirm_start()
            await self._start_new_chat()
            advice = "It is in the session list; everything in it is kept, and can be exported."
            self.core.publish(Failed(InputError(fault, advice=advice)))

    async def confirm_start(self) -> None:
        """Note that the session which was opened at the start has been shown."""
        with suppress(StoreError):  # the consequence: it is not opened at the next start
            await self.core.store.settings.set(_STARTING, "")

    async def record_crash_at_start(self) -> None:
        """Note that the program crashed before `confirm_start`: the session is not opened again."""
        with suppress(StoreError):
            settings = self.core.store.settings
            if started := (await settings.get(_STARTING) or "").removesuffix(_AGAIN):
                await settings.set(_STARTING, f"{started}{_AGAIN}")

    # --- stored sessions -------------------------------------------------------------------

    @reported(None)
    async def open(self, session_id: str) -> None:
        """Make a session the active one."""
        await self.activate(session_id)

    @reported(None)
    async def open_at(self, session_id: str, message_id: str) -> None:
        """Open a session on the branch of a message, such as one that was searched for."""
        await self.activate(session_id)
        if all(entry.message.id != message_id for entry in self.core.state.entries):
            await self.core.store.branches.activate(session_id, message_id)
            await self.activate(session_id)

    async def activate(self, session_id: str) -> None:
        """Make a session the active one. Raises InputError if it is gone, and StoreError."""
        core, active = self.core, self._active
        store = core.store_of(session_id)
        session = await store.sessions.get(session_id)
        if session is None:
            raise InputError("This session is gone; another window may have deleted it.")
        role = await core.store.roles.get(session.role_id) if session.role_id else None
        with active.loading_branch():
            async with active.lock:
                is_other = not core.state.is_active(session_id)
                if is_other:  # another session's messages must not be sent in its name
                    await self._switch(session, session_id)
                else:
                    core.update(session=session)
                await self._settings.apply_session(session, role)
            if is_other:
                newest = await store.branches.load(session_id, last=FIRST_MESSAGES)
                if len(newest) == FIRST_MESSAGES:
                    draft = await store.drafts.get(session_id)
                    if core.state.is_active(session_id):
                        core.publish(BranchEndLoaded(newest, draft))
            entries, foreign = await active.read_branch(session)
        # Nothing may be awaited from here to the update: tasks that wait for the branch go on then.
        if core.state.is_active(session_id):
            active.show_branch(entries, foreign)
        if store is core.store:
            await core.remember("session", session_id)
        await self._catalog.mark_read(session_id)

    async def open_added(self, session_id: str) -> None:
        """Make a session that was just stored the active one, and list it. Raises StoreError."""
        await self.activate(session_id)
        await self._catalog.refresh()

    async def refresh(self, session_id: str) -> None:
        """Read the list again, and a session if it is the active one. Raises StoreError."""
        if self.core.state.is_active(session_id):
            await self.activate(session_id)
        await self._catalog.refresh()

    async def leave(self, session_ids: Collection[str]) -> bool:
        """Open a new chat if one of these sessions is the active one; return True if it was."""
        async with self._active.lock:
            session = self.core.state.session
            if session is None or session.session_id not in session_ids:
                return False
            await self._switch_to_new_chat(None)
            return True

    async def _switch(self, session: Session | None, session_id: str) -> None:
        """Make a session, or a new chat, the active one, and end the temporary session."""
        if self.core.state.is_temporary:
            self._tools.stop()
        self._active.switch(session, session_id)
        await self._temporary.end()

    # --- new chats ---------------------------------------------------------------------------

    @reported(None)
    async def new(self, role_id: str | None = None) -> None:
        """Open a new chat with a role; empty for none, None for the role that was used last."""
        await self._start_new_chat(role_id)
        await self.core.remember("session", "")

    async def _start_new_chat(self, role_id: str | None = None) -> None:
        async with self._active.lock:
            await self._switch_to_new_chat(role_id)

    async def _switch_to_new_chat(self, role_id: str | None) -> None:
        """Open a new chat, see `new`. The caller holds the lock. Raises InputError for the role."""
        role = await self._roles.to_start_with(role_id)
        await self._switch(None, self.core.new_id())
        await self._settings.apply_new_chat(role)
        self._active.cancel_loading()
        self._active.show_opening()

    @reported(None)
    async def choose_role(self, role_id: str) -> None:
        """Give the new chat another role; empty for none. A session keeps its own: reported."""
        if self.core.state.session is not None:
            raise InputError(
                "A session keeps the role it began with.", advice="Start a new session for it."
            )
        await self._settings.apply_new_chat(await self._roles.to_start_with(role_id))
        self._active.show_opening()

    @reported(None)
    async def new_temporary(self, role_id: str | None = None) -> None:
        """Open a temporary session with a role; see `new`."""
        store = await self._temporary.new_store()
        try:
            async with self._active.lock:
                await self._switch_to_new_chat(role_id)
                await self._temporary.begin(store)
        except BaseException:
            await store.close()
            raise
