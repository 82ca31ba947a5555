"""Sessions: making, listing, organising and deleting them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Unpack

from tui_chat.models.session import Session, SessionSummary
from tui_chat.store import branches, sessions
from tui_chat.store.api.base import Base
from tui_chat.store.database import Transaction


class Sessions(Base):
    """The store's methods for sessions."""

    async def create_session(
        self,
        *,
        session_id: str = "",
        title: str = "",
        role_id: str | None = None,
        model: str = "",
        endpoint: str = "",
        preset: str = "",
        profile: str = "",
        folder: str = "",
        tags: tuple[str, ...] = (),
        lorebooks: tuple[str, ...] = (),
        temperature: float | None = None,
        max_tokens: int | None = None,
    ) -> Session:
        """Start a session, with an id of its own unless one is given. Without a title it is
        called like its role, or “New chat”; without a preset it has its role's. `InputError` if
        the role is disabled or unknown.
        """
        now = self._now()
        session = Session(
            session_id=session_id or self._new_id(),
            title=title,
            role_id=role_id,
            model=model,
            endpoint=endpoint,
            preset=preset,
            profile=profile,
            folder=folder,
            tags=tags,
            lorebooks=lorebooks,
            temperature=temperature,
            max_tokens=max_tokens,
            created=now,
            updated=now,
        )
        return await self._database.write(lambda tx: sessions.create(tx, session))

    async def session(self, session_id: str) -> Session | None:
        """Return a session, None if it is gone or in the trash."""
        return await self._database.read(lambda tx: sessions.find(tx, session_id))

    async def sessions(self, limit: int | None = None) -> tuple[SessionSummary, ...]:
        """Return all sessions but deleted ones, the one with the newest message first; with a
        `limit` so many of them, for what is to be seen at once.
        """
        if limit is not None:
            listed = await self._database.read(lambda tx: sessions.first(tx, limit))
        else:
            listed = await self._database.read(self._list.read)
        # Such a session would be listed as one in which a reply still arrives.
        ended = {each.session_id: each.entry.status for each in self._unsaved.values()}
        if not ended:
            return listed
        return tuple(
            each._replace(status=ended[each.session_id])
            if each.status == "streaming" and each.session_id in ended
            else each
            for each in listed
        )

    async def update_session(
        self, session_id: str, **changes: Unpack[sessions.SessionChanges]
    ) -> Session:
        """Change the settings that are named and return the session. Its place in the list
        and its `updated` stay, since nothing was said. `StoreError` if it is gone.
        """
        return await self._database.write(lambda tx: sessions.change(tx, session_id, changes))

    async def update_sessions(
        self, session_ids: Iterable[str], **changes: Unpack[sessions.SessionChanges]
    ) -> None:
        """Change several sessions alike, all of them or none. `StoreError` if one is gone."""
        ids = tuple(session_ids)

        async def work(tx: Transaction) -> None:
            for session_id in ids:
                await sessions.change(tx, session_id, changes)

        await self._database.write(work)

    async def fork(self, message_id: str, title: str = "") -> Session:
        """Make a new session of the branch that leads to a message, and return it.

        It has the old one's settings, its title where none is given, and copies of the
        messages under new ids. `StoreError` if the message is gone, `InputError` if it is still
        arriving.
        """
        now = self._now()
        return await self._database.write(
            lambda tx: branches.fork(tx, message_id, title, now, self._new_id)
        )

    # The trash

    async def delete_sessions(self, session_ids: Iterable[str]) -> None:
        """Put sessions into the trash. They are in no list and no search, and nothing can be
        said in them; `restore_sessions` brings them back.
        """
        ids, now = tuple(session_ids), self._now()
        await self._database.write(lambda tx: sessions.put_in_trash(tx, ids, now))

    async def restore_sessions(self, session_ids: Iterable[str]) -> None:
        """Bring sessions back from the trash, to their old places in the list."""
        ids = tuple(session_ids)
        await self._database.write(lambda tx: sessions.restore(tx, ids))

    async def trash(self) -> tuple[SessionSummary, ...]:
        """Return the sessions in the trash, the latest deleted first."""
        return await self._database.read(sessions.trash)

    async def purge_trash(self, older_than: float) -> int:
        """Remove for good what was deleted more than `older_than` seconds ago, sessions and
        messages; return how many sessions went.
        """
        before = self._now() - older_than
        return await self._database.write(lambda tx: sessions.empty_trash(tx, before))

    async def delete_session(self, session_id: str) -> None:
        """Remove a session at once and for good, with its messages, requests and draft."""
        await self._database.write(lambda tx: sessions.remove(tx, session_id))
