"""The organization of the list of sessions: titles, tags, folders, the archive and the trash."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.session import SessionSummary
from tui_chat.models.text import clean
from tui_chat.workspace.active_session import default_title, quoted_title
from tui_chat.workspace.core import WorkspaceCore, reported
from tui_chat.workspace.events import BranchChanged
from tui_chat.workspace.exchanges import Exchanges
from tui_chat.workspace.session_catalog import SessionCatalog
from tui_chat.workspace.sessions import Sessions

if TYPE_CHECKING:
    from tui_chat.store.sessions import SessionChanges


@dataclass(eq=False)
class SessionOrganization:
    """Renames, marks, files and deletes sessions."""

    core: WorkspaceCore
    _sessions: Sessions
    _catalog: SessionCatalog
    _exchanges: Exchanges

    @reported(None)
    async def rename(self, session_id: str, title: str) -> None:
        """Change the title of a session."""
        core = self.core
        title = default_title(title)
        store = core.store_of(session_id)
        session = await store.sessions.update(session_id, title=title)
        if core.state.is_active(session_id):
            core.update(BranchChanged(), session=session)
        await self._catalog.refresh()

    @reported(None)
    async def organize(
        self,
        session_ids: Collection[str],
        *,
        pinned: bool | None = None,
        archived: bool | None = None,
        unread: bool | None = None,
        tags: Collection[str] | None = None,
        folder: str | None = None,
    ) -> None:
        """Pin, archive, tag, file or mark sessions; None changes nothing. `undo` unarchives."""
        core, store = self.core, self.core.store
        not_archived = [session for session in self._summaries(session_ids) if not session.archived]
        changes: SessionChanges = {}
        if pinned is not None:
            changes["pinned"] = pinned
        if archived is not None:
            changes["archived"] = archived
        if tags is not None:
            changes["tags"] = _normalized_tags(tags)
        if folder is not None:
            changes["folder"] = " ".join(clean(folder).split())
        if unread is not None:
            changes["unread"] = unread
        await store.sessions.update_many(dict.fromkeys(session_ids, changes))
        await self._refresh(session_ids)
        if archived and not_archived:
            ids = tuple(session.session_id for session in not_archived)

            async def restore() -> None:
                await store.sessions.update_many({key: {"archived": False} for key in ids})
                await self._refresh(ids)

            core.push_undo(_description(not_archived), restore, done="Archived")

    @reported(None)
    async def retag(
        self, session_ids: Collection[str], *, add: Collection[str], drop: Collection[str]
    ) -> None:
        """Add tags to sessions and remove others; tags that are not named stay."""
        core = self.core
        changes: dict[str, SessionChanges] = {}
        for session in self._summaries(session_ids):
            kept = [tag for tag in session.tags if tag not in drop]
            changes[session.session_id] = {"tags": _normalized_tags((*kept, *add))}
        await core.store.sessions.update_many(changes)
        await self._refresh(session_ids)

    @reported(None)
    async def delete(self, session_ids: Collection[str]) -> None:
        """Delete sessions, and stop replies that arrive there. `Workspace.undo` restores them."""
        core = self.core
        ids = tuple(session_ids)
        for session_id in ids:
            await self._exchanges.stop_in(session_id)
        deleted, state = self._summaries(ids), core.state
        active_id = state.session_id if state.session is not None else ""
        await core.store.sessions.delete(ids)
        await self._sessions.leave(ids)
        await self._catalog.refresh()

        async def restore() -> None:
            await core.store.sessions.restore(ids)
            await self._catalog.refresh()
            if active_id in ids and core.state.session is None:
                await self._sessions.activate(active_id)

        core.push_undo(_description(deleted), restore)

    async def _refresh(self, session_ids: Collection[str]) -> None:
        """Read the list again, and the active session if it was changed."""
        core = self.core
        session_id = core.state.session_id
        if session_id in session_ids and core.state.session is not None:
            session = await core.store_of(session_id).sessions.get(session_id)
            if core.state.is_active(session_id):
                core.update(session=session)
        await self._catalog.refresh()

    def _summaries(self, session_ids: Collection[str]) -> list[SessionSummary]:
        sessions = self.core.state.sessions
        return [session for session in sessions if session.session_id in session_ids]


def _description(sessions: list[SessionSummary]) -> str:
    return quoted_title(sessions[0].title) if len(sessions) == 1 else f"{len(sessions):,} sessions"


def _normalized_tags(tags: Collection[str]) -> tuple[str, ...]:
    """Return tags in their order, without duplicates, empty tags and unprintable characters."""
    cleaned = (" ".join(clean(tag).split()) for tag in tags)
    return tuple(dict.fromkeys(filter(None, cleaned)))
