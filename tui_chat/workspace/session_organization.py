"""Organising the list of sessions: titles, tags, folders, the archive and the trash."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from tui_chat.models.session import SessionSummary
from tui_chat.models.text import clean
from tui_chat.workspace.events import BranchChanged
from tui_chat.workspace.sessions import default_title

if TYPE_CHECKING:
    from tui_chat.store.sessions import SessionChanges
    from tui_chat.workspace.workspace import Workspace


class SessionOrganization:
    """Renames, marks, files and deletes sessions."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    async def rename(self, session_id: str, title: str) -> None:
        """Change the title of a session."""
        workspace = self._workspace
        with workspace.reporting():
            title = default_title(title)
            store = workspace.store_of(session_id)
            session = await store.sessions.update(session_id, title=title)
            if workspace.state.is_active(session_id):
                workspace.update(BranchChanged(), session=session)
            await workspace.sessions.refresh_list()

    async def organise(
        self,
        session_ids: Collection[str],
        *,
        pinned: bool | None = None,
        archived: bool | None = None,
        unread: bool | None = None,
        tags: Collection[str] | None = None,
        folder: str | None = None,
    ) -> None:
        """Pin, archive, tag or file sessions, or mark them read or unread; None changes nothing.
        `Workspace.undo` restores archived sessions.
        """
        workspace, store = self._workspace, self._workspace.store
        with workspace.reporting():
            not_archived = [each for each in self._summaries(session_ids) if not each.archived]
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
                ids = tuple(each.session_id for each in not_archived)

                async def restore() -> None:
                    await store.sessions.update_many({key: {"archived": False} for key in ids})
                    await self._refresh(ids)

                workspace.push_undo(_description(not_archived), restore, done="Archived")

    async def retag(
        self, session_ids: Collection[str], *, add: Collection[str], drop: Collection[str]
    ) -> None:
        """Add tags to sessions and remove others; tags that are not named stay."""
        workspace = self._workspace
        with workspace.reporting():
            changes: dict[str, SessionChanges] = {}
            for session in self._summaries(session_ids):
                kept = [tag for tag in session.tags if tag not in drop]
                changes[session.session_id] = {"tags": _normalized_tags((*kept, *add))}
            await workspace.store.sessions.update_many(changes)
            await self._refresh(session_ids)

    async def delete(self, session_ids: Collection[str]) -> None:
        """Delete sessions, stopping the replies that arrive there. `Workspace.undo` restores
        them.
        """
        workspace = self._workspace
        with workspace.reporting():
            ids = tuple(session_ids)
            for session_id in ids:
                await workspace.replies.stop_in(session_id)
            deleted, state = self._summaries(ids), workspace.state
            active_id = state.session_id if state.session is not None else ""
            await workspace.store.sessions.delete(ids)
            await workspace.sessions.leave(ids)
            await workspace.sessions.refresh_list()

            async def restore() -> None:
                await workspace.store.sessions.restore(ids)
                await workspace.sessions.refresh_list()
                if active_id in ids and workspace.state.session is None:
                    await workspace.sessions.activate(active_id)

            workspace.push_undo(_description(deleted), restore)

    async def _refresh(self, session_ids: Collection[str]) -> None:
        """Read the list again, and the active session if it was changed."""
        workspace = self._workspace
        session_id = workspace.state.session_id
        if session_id in session_ids and workspace.state.session is not None:
            session = await workspace.store_of(session_id).sessions.get(session_id)
            if workspace.state.is_active(session_id):
                workspace.update(session=session)
        await workspace.sessions.refresh_list()

    def _summaries(self, session_ids: Collection[str]) -> list[SessionSummary]:
        sessions = self._workspace.state.sessions
        return [each for each in sessions if each.session_id in session_ids]


def _description(sessions: list[SessionSummary]) -> str:
    return f"“{sessions[0].title}”" if len(sessions) == 1 else f"{len(sessions):,} sessions"


def _normalized_tags(tags: Collection[str]) -> tuple[str, ...]:
    """Return tags in their order, without duplicates, empty tags and unprintable characters."""
    cleaned = (" ".join(clean(tag).split()) for tag in tags)
    return tuple(dict.fromkeys(filter(None, cleaned)))
