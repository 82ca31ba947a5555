"""The list of sessions: names, pins, tags, folders, the archive and the trash."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from tui_chat.models.session import SessionSummary
from tui_chat.models.text import clean
from tui_chat.workspace.changes import BranchChanged
from tui_chat.workspace.opening import Opening, first_words
from tui_chat.workspace.outside import Outside
from tui_chat.workspace.replies import Replies
from tui_chat.workspace.state import State
from tui_chat.workspace.undo import Undo


@dataclass(frozen=True, slots=True)
class Order:
    """How sessions are to be put in order; None leaves what is."""

    pinned: bool | None = None
    archived: bool | None = None
    tags: tuple[str, ...] | None = None
    folder: str | None = None
    unread: bool | None = None


class Organising:
    """Changes sessions as the list shows them."""

    def __init__(
        self, state: State, outside: Outside, opening: Opening, replies: Replies, undo: Undo
    ) -> None:
        self._state = state
        self._outside = outside
        self._store = outside.store
        self._opening = opening
        self._replies = replies
        self._undo = undo

    async def rename(self, session_id: str, title: str) -> None:
        """Give a session another title."""
        with self._outside.telling():
            session = await self._store.sessions.update(session_id, title=first_words(title))
            if self._state.shows(session_id):
                self._state.session = session
                self._outside.tell(BranchChanged())
            await self._opening.list_sessions()

    async def organise(self, session_ids: Collection[str], order: Order) -> None:
        """Pin, tag, archive and file sessions; see `Desk.organise`."""
        with self._outside.telling():
            seen = [each for each in self._chosen(session_ids) if not each.archived]
            if order.pinned is not None:
                await self._store.sessions.update_many(session_ids, pinned=order.pinned)
            if order.archived is not None:
                await self._store.sessions.update_many(session_ids, archived=order.archived)
            if order.tags is not None:
                await self._store.sessions.update_many(session_ids, tags=_tags(order.tags))
            if order.folder is not None:
                folder = " ".join(clean(order.folder).split())
                await self._store.sessions.update_many(session_ids, folder=folder)
            if order.unread is not None:
                await self._store.sessions.update_many(session_ids, unread=order.unread)
            await self._reread(session_ids)
            if order.archived and seen:
                ids = tuple(each.session_id for each in seen)

                async def bring_back() -> None:
                    await self._store.sessions.update_many(ids, archived=False)
                    await self._reread(ids)

                self._undo.push(_called(seen), bring_back, done="Archived")

    async def retag(
        self, session_ids: Collection[str], add: Collection[str], drop: Collection[str]
    ) -> None:
        """Give sessions tags and take others from them; see `Desk.retag`."""
        with self._outside.telling():
            wanted: dict[tuple[str, ...], list[str]] = {}
            for session in self._state.sessions:
                if session.session_id in session_ids:
                    kept = [tag for tag in session.tags if tag not in drop]
                    wanted.setdefault(_tags((*kept, *add)), []).append(session.session_id)
            for tags, ids in wanted.items():
                await self._store.sessions.update_many(ids, tags=tags)
            await self._reread(session_ids)

    async def _reread(self, session_ids: Collection[str]) -> None:
        """Read what was changed."""
        if self._state.session is not None and self._state.session_id in session_ids:
            self._state.session = await self._store.sessions.get(self._state.session_id)
        await self._opening.list_sessions()

    async def delete(self, session_ids: Collection[str]) -> None:
        """Put sessions into the trash; see `Desk.delete`."""
        with self._outside.telling():
            ids = tuple(session_ids)
            for session_id in ids:
                await self._replies.stop(session_id)
            gone = self._chosen(ids)
            shown = self._state.session_id if self._state.session is not None else ""
            await self._store.sessions.delete(ids)
            await self._opening.leave(ids)
            await self._opening.list_sessions()

            async def bring_back() -> None:
                await self._store.sessions.restore(ids)
                await self._opening.list_sessions()
                if shown in ids and self._state.session is None:
                    await self._opening.open(shown)

            self._undo.push(_called(gone), bring_back)

    def _chosen(self, session_ids: Collection[str]) -> list[SessionSummary]:
        return [each for each in self._state.sessions if each.session_id in session_ids]


def _called(sessions: list[SessionSummary]) -> str:
    return f"“{sessions[0].title}”" if len(sessions) == 1 else f"{len(sessions):,} sessions"


def _tags(tags: Collection[str]) -> tuple[str, ...]:
    """Return tags without blanks, doubles and what cannot be read, in their order."""
    cleaned = (" ".join(clean(tag).split()) for tag in tags)
    return tuple(dict.fromkeys(filter(None, cleaned)))
