"""The organization of the list of sessions: titles, tags, folders, the archive and the trash."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, cast

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.session import SessionSummary
from tui_chat.models.text import clean
from tui_chat.workspace.active_session import default_title, quoted_title
from tui_chat.workspace.core import WorkspaceCore, reported
from tui_chat.workspace.events import BranchChanged
from tui_chat.workspace.replies import Replies
from tui_chat.workspace.session_catalog import SessionCatalog
from tui_chat.workspace.sessions import Sessions

if TYPE_CHECKING:
    from tui_chat.store import Store
    from tui_chat.store.sessions import SessionChanges


@dataclass(eq=False)
class SessionOrganization:
    """Renames, marks, files and deletes sessions."""

    core: WorkspaceCore
    _sessions: Sessions
    _catalog: SessionCatalog
    _replies: Replies

    @reported(None)
    async def rename(self, session_id: str, title: str) -> None:
        """Change the title of a session. `Workspace.undo` takes it back."""
        core, store = self.core, self.core.store_of(session_id)
        before = await store.sessions.get(session_id)
        title = default_title(title)
        await self._store_title(store, session_id, title)
        if before is None or before.title == title:
            return

        async def restore() -> None:
            await self._store_title(store, session_id, before.title)

        what = f"“{before.title}” to “{title}”"
        core.push_undo(what, restore, done="Renamed", undone="Undone: renamed", store=store)

    async def _store_title(self, store: Store, session_id: str, title: str) -> None:
        session = await store.sessions.update(session_id, title=title)
        if self.core.state.is_active(session_id):
            self.core.update(BranchChanged(), session=session)
        await self._catalog.refresh()

    @reported(None)
    async def organize(
        self,
        session_ids: Collection[str],
        *,
        pinned: bool | None = None,
        archived: bool | None = None,
        tags: Collection[str] | None = None,
        folder: str | None = None,
    ) -> None:
        """Pin, archive, tag or file sessions; None changes nothing. `Workspace.undo` takes it
        back.
        """
        changes: SessionChanges = {}
        if pinned is not None:
            changes["pinned"] = pinned
        if archived is not None:
            changes["archived"] = archived
        if tags is not None:
            changes["tags"] = _normalized_tags(tags)
        if folder is not None:
            changes["folder"] = " ".join(clean(folder).split())
        words = [
            *(["Pinned" if pinned else "Unpinned"] if pinned is not None else []),
            *(["Archived" if archived else "Unarchived"] if archived is not None else []),
            *(["Tagged"] if tags is not None else []),
            *(["Moved"] if folder is not None else []),
        ]
        where = changes.get("folder")
        effect = "" if where is None else f" to “{where}”" if where else " out of its folder"
        done = ", ".join(words[:1] + [word[:1].lower() + word[1:] for word in words[1:]])
        await self._change(dict.fromkeys(session_ids, changes), done, effect)

    @reported(None)
    async def retag(
        self, session_ids: Collection[str], *, add: Collection[str], drop: Collection[str]
    ) -> None:
        """Add tags to sessions and remove others; tags that are not named stay. `Workspace.undo`
        takes it back.
        """
        changes: dict[str, SessionChanges] = {}
        for session in self._summaries(session_ids):
            kept = [tag for tag in session.tags if tag not in drop]
            changes[session.session_id] = {"tags": _normalized_tags((*kept, *add))}
        await self._change(changes, "Tagged")

    async def _change(
        self, changes: Mapping[str, SessionChanges], done: str, effect: str = ""
    ) -> None:
        """Store changes by the ids of their sessions, and let them be the next step to undo."""
        store = self.core.store
        before: dict[str, SessionChanges] = {}
        changed: list[SessionSummary] = []
        for session in self._summaries(changes):
            old = {name: getattr(session, name) for name in changes[session.session_id]}
            if old != changes[session.session_id]:
                before[session.session_id] = cast("SessionChanges", old)
                changed.append(session)
        await store.sessions.update_many(changes)
        await self._refresh(changes.keys())

        async def restore() -> None:
            await store.sessions.update_many(before)
            await self._refresh(before.keys())

        if changed:
            undone = f"Undone: {done[:1].lower()}{done[1:]}"
            self.core.push_undo(
                _description(changed), restore, done=done, undone=undone, effect=effect
            )

    @reported(None)
    async def delete(self, session_ids: Collection[str]) -> None:
        """Delete sessions, and stop replies that arrive there. `Workspace.undo` restores them."""
        core = self.core
        ids = tuple(session_ids)
        for session_id in ids:
            await self._replies.stop(session_id)
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
