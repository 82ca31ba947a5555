"""The shown branch, its siblings, and what becomes of single messages."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from tui_chat.models.message import Message
from tui_chat.models.session import Entry, Node
from tui_chat.store import branches, messages, sessions
from tui_chat.store.api.base import Base
from tui_chat.store.database import Transaction
from tui_chat.store.rows import entry_of

_MANY = 500  # rows from which reading them would be felt on the event loop


class Messages(Base):
    """The store's methods for a session's messages."""

    async def branch(
        self, session_id: str, *, last: int | None = None, before: str | None = None
    ) -> tuple[Entry, ...]:
        """Return the shown branch, first message first; a streaming reply as far as it is.

        `last` leaves it at that many messages of the end, and `before` (the id of a message on
        the branch) at those that come before it: so a long branch can be read from its end.
        """

        async def work(tx: Transaction) -> list[branches.Placed]:
            placed = await branches.shown(tx, session_id, last, before)
            if len(placed) >= _MANY:
                # What was read is kept by the caller; SQLite would keep its pages as well.
                await tx.run("PRAGMA shrink_memory")
            return placed

        placed = await self._database.read(work)
        if len(placed) < _MANY:
            return self._with_unsaved(_entries(placed))
        return self._with_unsaved(await asyncio.to_thread(_entries, placed))

    async def leading_to(self, message_id: str) -> tuple[Entry, ...]:
        """Return the messages that lead to one, itself included, on whatever branch; deleted ones
        too, since what was sent once was made of them. Empty if it is gone for good.
        """
        placed = await self._database.read(lambda tx: branches.leading_to(tx, message_id))
        if len(placed) < _MANY:
            return self._with_unsaved(_entries(placed))
        return self._with_unsaved(await asyncio.to_thread(_entries, placed))

    async def tree(self, session_id: str) -> tuple[Node, ...]:
        """Return all branches of a session, message by message in the order in which they were
        made, so that every message comes after the one it follows.
        """
        nodes = await self._database.read(lambda tx: branches.tree(tx, session_id))
        if not self._unsaved:
            return nodes
        return tuple(self._ended_node(node) for node in nodes)

    def _ended_node(self, node: Node) -> Node:
        unsaved = self._unsaved.get(node.message_id)
        if unsaved is None:
            return node
        words = branches.first_words(unsaved.entry.message.content)
        return replace(node, status=unsaved.entry.status, words=words)

    async def around(self, message_id: str, before: int = 2) -> tuple[Entry, ...]:
        """Return a message among its neighbours: `before` that lead to it, and the newest that
        follows it. Nothing if it is gone or deleted.
        """
        placed = await self._database.read(lambda tx: branches.around(tx, message_id, before))
        return self._with_unsaved(_entries(placed))

    async def entry(self, message_id: str) -> Entry | None:
        """Return a message, on whatever branch; None if it is gone or deleted."""
        placed = await self._database.read(lambda tx: branches.single(tx, message_id))
        return None if placed is None else self._as_ended(entry_of(*placed))

    async def add_message(self, session_id: str, message: Message, parent_id: str | None) -> Entry:
        """Add a finished message after `parent_id` (None: as a first one) and show its branch.

        An id it brings along is kept. `StoreError` if the session is gone or the parent is not
        in it.
        """
        now = self._now()
        entry = Entry(replace(message, id=message.id or self._new_id()), parent_id)

        async def work(tx: Transaction) -> Entry:
            await messages.check_parent(tx, session_id, parent_id)
            added = await messages.add(tx, entry, messages.Place(session_id, now))
            await sessions.say_in(tx, session_id, entry, now)
            return added

        return await self._database.write(work)

    async def edit_message(self, message_id: str, message: Message) -> Entry:
        """Put another version of a message beside it, as a sibling, and show that. The old one
        stays with all that follows it. `StoreError` if it is gone.
        """
        now = self._now()
        fresh = replace(message, id=self._new_id())

        async def work(tx: Transaction) -> Entry:
            session_id, parent_id = await branches.place(tx, message_id)
            await messages.check_parent(tx, session_id, message_id)
            added = await messages.add(tx, Entry(fresh, parent_id), messages.Place(session_id, now))
            await sessions.say_in(tx, session_id, added, now)
            return added

        return await self._database.write(work)

    async def show(self, session_id: str, message_id: str) -> None:
        """Show the branch that a message is on, to the newest leaf below it."""
        await self._database.write(lambda tx: branches.show(tx, session_id, message_id))

    async def show_sibling(self, message_id: str, step: int) -> None:
        """Show the sibling that is `step` places on (back, where negative) instead of a message,
        with the newest of what follows it. Beyond the first and the last nothing happens.
        """
        await self._database.write(lambda tx: branches.show_sibling(tx, message_id, step))

    async def delete_message(self, message_id: str) -> None:
        """Delete a message with all that follows it; `restore_message` brings it back.

        If it is shown, the sibling beside it is shown then, or where there is none the branch
        that it followed. `InputError` while a reply is arriving below it.
        """
        now = self._now()
        await self._database.write(lambda tx: branches.hide(tx, message_id, now))

    async def restore_message(self, message_id: str) -> None:
        """Bring back a deleted message with all that was deleted with it, shown if it was.
        `StoreError` if it is gone for good, or follows another deleted one.
        """
        await self._database.write(lambda tx: branches.unhide(tx, message_id))

    async def pin_message(self, message_id: str, pinned: bool) -> None:
        """Have every truncation keep a message, or no longer. `StoreError` if it is gone."""
        await self._database.write(lambda tx: messages.pin(tx, message_id, pinned))


def _entries(placed: list[branches.Placed]) -> tuple[Entry, ...]:
    return tuple(entry_of(row, place) for row, place in placed)
