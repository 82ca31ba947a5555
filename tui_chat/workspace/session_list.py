"""The list of sessions, and how it is organized: titles, tags, folders, pins and the archive."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.sanitize import one_line
from tui_chat.models.session import SessionSummary
from tui_chat.models.text import clean
from tui_chat.workspace.core import WorkspaceCore, reported
from tui_chat.workspace.events import BranchChanged, Done, SessionsChanged

if TYPE_CHECKING:
    from tui_chat.store.sessions import SessionChanges

TITLE_LENGTH = 200
"""Maximum characters of a title; what shows it cuts it where there is less room."""


@dataclass(eq=False)
class SessionList:
    """Reads the list of sessions into the state, and renames, marks and files them."""

    core: WorkspaceCore

    async def refresh(self) -> None:
        """Read the list of sessions, and publish it if it is another. Raises StoreError."""
        sessions = await self.core.store.sessions.list()
        if sessions != self.core.state.sessions:
            self.core.update(SessionsChanged(), sessions=sessions)

    async def mark_read(self, session_id: str) -> None:
        """Mark a session as read if it is listed as unread. Raises StoreError."""
        listed = self.summaries((session_id,))
        if self.core.remembers and any(session.unread for session in listed):
            await self.core.store.sessions.update(session_id, unread=False)
            await self.refresh()

    def summaries(self, session_ids: Collection[str]) -> list[SessionSummary]:
        """Return the listed ones of these sessions."""
        sessions = self.core.state.sessions
        return [session for session in sessions if session.session_id in session_ids]

    @reported(None)
    async def rename(self, session_id: str, title: str) -> None:
        """Change the title of a session."""
        store = self.core.store_of(session_id)
        session = await store.sessions.update(session_id, title=default_title(title))
        if self.core.state.is_active(session_id):
            self.core.update(BranchChanged(), session=session)
        await self.refresh()

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
        """Pin, archive, tag or file sessions; None changes nothing."""
        changes: SessionChanges = {}
        words: list[str] = []
        if pinned is not None:
            changes["pinned"] = pinned
            words.append("Pinned" if pinned else "Unpinned")
        if archived is not None:
            changes["archived"] = archived
            words.append("Archived" if archived else "Unarchived")
        if tags is not None:
            changes["tags"] = _normalized_tags(tags)
            words.append("Tagged")
        effect = ""
        if folder is not None:
            changes["folder"] = name = " ".join(clean(folder).split())
            words.append("Moved")
            effect = f" to “{name}”" if name else " out of its folder"
        done = ", ".join(words).capitalize()
        await self._change(dict.fromkeys(session_ids, changes), done, effect)

    @reported(None)
    async def retag(
        self, session_ids: Collection[str], *, add: Collection[str], drop: Collection[str]
    ) -> None:
        """Add tags to sessions and remove others; tags that are not named stay."""
        changes: dict[str, SessionChanges] = {}
        for session in self.summaries(session_ids):
            kept = [tag for tag in session.tags if tag not in drop]
            changes[session.session_id] = {"tags": _normalized_tags((*kept, *add))}
        await self._change(changes, "Tagged")

    async def _change(
        self, changes: Mapping[str, SessionChanges], done: str, effect: str = ""
    ) -> None:
        """Store changes by the ids of their sessions, and say what was done."""
        core, session_id = self.core, self.core.state.session_id
        await core.store.sessions.update_many(changes)
        if session_id in changes and core.state.session is not None:
            session = await core.store_of(session_id).sessions.get(session_id)
            if core.state.is_active(session_id):
                core.update(session=session)
        await self.refresh()
        core.publish(Done(f"{done} {described(self.summaries(changes))}{effect}."))


def described(sessions: list[SessionSummary]) -> str:
    """Return a session's title, or the number of several, for sentences."""
    return quoted_title(sessions[0].title) if len(sessions) == 1 else f"{len(sessions):,} sessions"


def _normalized_tags(tags: Collection[str]) -> tuple[str, ...]:
    """Return tags in their order, without duplicates, empty tags and unprintable characters."""
    cleaned = (" ".join(clean(tag).split()) for tag in tags)
    return tuple(dict.fromkeys(filter(None, cleaned)))


def default_title(text: str) -> str:
    """Return a title that is the beginning of a text."""
    line = " ".join(text[: 4 * TITLE_LENGTH].split())
    return line if len(line) <= TITLE_LENGTH else line[: TITLE_LENGTH - 1].rstrip() + "…"


def quoted_title(title: str) -> str:
    """Return a title in quotation marks for a sentence, which has room for less than all of it."""
    line = one_line(title)
    return f"“{line if len(line) <= 60 else line[:59].rstrip() + '…'}”"
