"""The store: everything the program keeps, behind one object.

Each method is one transaction; when it returns, what it wrote is on the disk. The SQL stands
in one module per subject, as functions over a `Transaction`; here they are put together,
given ids and times, and hold against cancellation (see `database`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Literal, Unpack

from tui_chat.errors import StoreError
from tui_chat.model.message import Message
from tui_chat.model.reply import NO_USAGE, Usage
from tui_chat.model.request import Exchange, RequestRecord
from tui_chat.model.role import Role
from tui_chat.model.session import Entry, Session, SessionSummary
from tui_chat.store import memory, messages, owner, requests, roles, schema, sessions
from tui_chat.store.database import Database, Row, Transaction
from tui_chat.store.faults import told
from tui_chat.store.growing import Written, grown, write_changes
from tui_chat.store.rows import entry_of

Ending = Literal["complete", "stopped", "failed", "interrupted"]
"""How a reply can end."""


class Store:
    """An open database. Made by `Store.open`; to be closed, or used with `async with`."""

    def __init__(
        self,
        path: Path,
        database: Database,
        *,
        now: Callable[[], float],
        new_id: Callable[[], str],
        backup: Path | None,
    ) -> None:
        self.path = path
        """The database file."""
        self.backup = backup
        """Where the database was copied to before this opening migrated it, else None."""
        self._database = database
        self._now = now
        self._new_id = new_id
        self._owner = owner.Owner(path, new_id())
        self._written: dict[str, Written] = {}
        """The replies that this store receives, by entry id."""

    @classmethod
    async def open(
        cls,
        path: Path,
        *,
        now: Callable[[], float],
        new_id: Callable[[], str],
        busy_timeout: float = 5.0,
    ) -> Store:
        """Open the database at `path`, making or migrating it where that is due.

        `now` gives seconds since the epoch, `new_id` ids that are unique for all programs.
        `busy_timeout` is how many seconds to wait for another program that holds the file. Raises
        `StoreBusy`, `StoreNewer`, `StoreDamaged` or a plain `StoreError`. Replies that were
        being received by a program that no longer runs become `interrupted`.
        """
        backup = await asyncio.to_thread(schema.prepare, path, now=now(), busy_timeout=busy_timeout)
        database = await Database.connect(path, busy_timeout=busy_timeout)
        store = cls(path, database, now=now, new_id=new_id, backup=backup)
        try:
            await store._interrupt_orphans()
        except BaseException:
            await store.close()
            raise
        return store

    async def close(self) -> None:
        """Let pending writes end, then close. May be called again."""
        await self._database.close()
        self._owner.release()

    async def __aenter__(self) -> Store:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    # Sessions

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
            created=now,
            updated=now,
        )
        return await self._database.write(lambda tx: sessions.create(tx, session))

    async def session(self, session_id: str) -> Session | None:
        """Return a session, None if it is gone."""
        return await self._database.read(lambda tx: sessions.find(tx, session_id))

    async def sessions(self) -> tuple[SessionSummary, ...]:
        """Return all sessions, the one with the newest message first."""
        return await self._database.read(sessions.summaries)

    async def update_session(
        self, session_id: str, **changes: Unpack[sessions.SessionChanges]
    ) -> Session:
        """Change the settings that are named and return the session. Its place in the list
        and its `updated` stay, since nothing was said. `StoreError` if it is gone.
        """
        return await self._database.write(lambda tx: sessions.change(tx, session_id, changes))

    async def delete_session(self, session_id: str) -> None:
        """Remove a session with its messages, requests and draft."""
        await self._database.write(lambda tx: sessions.delete(tx, session_id))

    # Messages

    async def branch(self, session_id: str) -> tuple[Entry, ...]:
        """Return the shown branch, first message first; a streaming reply as far as it is."""
        rows = await self._database.read(lambda tx: messages.branch(tx, session_id))
        if len(rows) < _MANY:
            return _entries(rows)
        return await asyncio.to_thread(_entries, rows)

    async def add_message(self, session_id: str, message: Message, parent_id: str | None) -> Entry:
        """Add a finished message after `parent_id` (None: as a first one) and show its branch.

        An id it brings along is kept. `StoreError` if the session is gone or the parent is not
        in it.
        """
        now = self._now()
        entry = Entry(replace(message, id=message.id or self._new_id()), parent_id)

        async def work(tx: Transaction) -> Entry:
            await messages.check_parent(tx, session_id, parent_id)
            await messages.insert(tx, entry, messages.Place(session_id, now))
            await sessions.move_head(tx, session_id, entry.message.id, now)
            return entry

        return await self._database.write(work)

    # An exchange: a question, its request, and the reply as it arrives

    async def begin_exchange(
        self,
        session_id: str,
        *,
        parent_id: str | None,
        user: Message | None,
        model: str,
        endpoint: str,
        request: RequestRecord,
    ) -> Exchange:
        """Store a question and the empty, `streaming` reply to it; to be awaited before the
        request leaves.

        `parent_id` is what the question follows or, where `user` is None because a reply is
        asked for again, what the reply follows. The reply becomes the session's head. A draft
        with the question's very text is done with and goes. `StoreError` if the session is
        gone or the parent is not in it.
        """
        now = self._now()
        asked = None
        if user is not None:
            stamp = now if user.timestamp is None else user.timestamp
            asked = Entry(replace(user, id=user.id or self._new_id(), timestamp=stamp), parent_id)
        reply = Entry(
            Message("assistant", id=self._new_id(), timestamp=now),
            parent_id=parent_id if asked is None else asked.message.id,
            status="streaming",
            model=model,
            endpoint=endpoint,
        )

        async def work(tx: Transaction) -> Exchange:
            await messages.check_parent(tx, session_id, parent_id)
            self._owner.claim()
            if asked is not None:
                await messages.insert(tx, asked, messages.Place(session_id, now))
                await memory.drop_sent_draft(tx, session_id, asked.message.content)
            await messages.insert(tx, reply, messages.Place(session_id, now, self._owner.token))
            await requests.insert(tx, reply.message.id, request, now)
            await sessions.move_head(tx, session_id, reply.message.id, now)
            return Exchange(asked, reply)

        def begun(exchange: Exchange) -> None:
            self._written[reply.message.id] = Written(exchange.reply.message)

        return await self._database.write(work, committed=begun)

    async def flush_reply(self, entry_id: str, message: Message) -> None:
        """Store what has arrived of a streaming reply: text, parts, tool calls, semantics.

        Costs what was added since the last flush, and nothing if nothing was. `StoreError` if
        this store does not receive the reply, or its session is gone.
        """

        async def work(tx: Transaction) -> Written:
            written = self._written.get(entry_id)
            if written is None or not await messages.is_streaming(tx, entry_id):
                raise StoreError("This reply is no longer being received.")
            after, changes = grown(written, message)
            await write_changes(tx, entry_id, changes)
            return after

        await self._database.write(work, committed=partial(self._written.__setitem__, entry_id))

    async def finish_reply(
        self,
        entry_id: str,
        *,
        message: Message,
        status: Ending,
        error: str = "",
        advice: str = "",
        usage: Usage = NO_USAGE,
        finish: str = "",
        seconds: float | None = None,
    ) -> Entry:
        """End a reply with all of what arrived; return it as it is stored now.

        `StoreError` if its session is gone.
        """
        now = self._now()
        ended = Entry(
            replace(message, id=entry_id),
            status=status,
            error=error,
            advice=advice,
            usage=usage,
            finish=finish,
            seconds=seconds,
        )

        async def work(tx: Transaction) -> Entry:
            entry = await messages.finish(tx, ended)
            await sessions.touch(tx, entry_id, now)
            return entry

        def over(_: Entry) -> None:
            self._written.pop(entry_id, None)

        return await self._database.write(work, committed=over)

    async def request_of(self, entry_id: str) -> RequestRecord | None:
        """Return the request that produced a reply, None where there was none."""
        return await self._database.read(lambda tx: requests.find(tx, entry_id))

    # Roles

    async def save_role(self, role: Role) -> None:
        """Add a role, or change the one that has its id."""
        now = self._now()
        await self._database.write(lambda tx: roles.save(tx, role, now))

    async def delete_role(self, role_id: str) -> None:
        """Remove a role; its sessions stay. One that is gone stays gone."""
        await self._database.write(lambda tx: roles.delete(tx, role_id))

    async def role(self, role_id: str) -> Role | None:
        """Return a role, None if there is none."""
        return await self._database.read(lambda tx: roles.find(tx, role_id))

    async def roles(self) -> tuple[Role, ...]:
        """Return all roles by name, disabled ones too."""
        return await self._database.read(roles.every)

    # What the program remembers

    async def draft(self, session_id: str) -> str:
        """Return what was being typed in a session, empty where nothing was."""
        return await self._database.read(lambda tx: memory.draft(tx, session_id))

    async def save_draft(self, session_id: str, text: str) -> None:
        """Keep what is being typed. `StoreError` if the session is gone."""
        await self._database.write(lambda tx: memory.save_draft(tx, session_id, text))

    async def remember(self, key: str, value: str) -> None:
        """Keep a setting of the program, such as the session that was open last."""
        await self._database.write(lambda tx: memory.remember(tx, key, value))

    async def recall(self, key: str) -> str | None:
        """Return what was remembered, None where nothing was."""
        return await self._database.read(lambda tx: memory.recall(tx, key))

    async def _interrupt_orphans(self) -> None:
        """End the replies of programs that no longer run."""
        with told(self.path):
            left_behind = owner.tokens(self.path)
        if not left_behind and not await self._database.read(messages.owners):
            return

        async def work(tx: Transaction) -> None:
            for token in {*left_behind, *await messages.owners(tx)}:
                if not owner.is_alive(self.path, token):
                    await messages.interrupt_all(tx, token)

        await self._database.write(work)


_MANY = 500  # rows from which reading them would be felt on the event loop


def _entries(rows: list[Row]) -> tuple[Entry, ...]:
    return tuple(map(entry_of, rows))
