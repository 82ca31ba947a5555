"""Messages: adding, editing, deleting, pinning and muting them."""
# ruff: noqa: S608 - only our own column names and constants are put into SQL

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from tui_chat.errors import NotYet
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.message import About, Message, Muted
from tui_chat.models.session import Entry, NewSession, Session
from tui_chat.store.branches import (
    DESCENDANTS,
    check_parent,
    locate,
    newest_below,
    read_visible,
    sibling_ids,
    version_ids,
)
from tui_chat.store.database import StoreContext, Transaction, writes
from tui_chat.store.drafts import write_settings
from tui_chat.store.errors import decoding
from tui_chat.store.index import put_message, put_messages
from tui_chat.store.rows import (
    ABOUT,
    ENTRY_NAMES,
    MUTED,
    entry_of,
    entry_values,
)
from tui_chat.store.sessions import append_to_branch, create_session, require_session, set_head

_INTO = f"INSERT INTO messages (seq, session_id, owner, created, {', '.join(ENTRY_NAMES)})"
"""Adds a message with a given `seq`, or with the next one if that is NULL."""

_INSERT = f"{_INTO} VALUES ({', '.join('?' * (_INTO.count(',') + 1))}) RETURNING seq"

_PROMPTS_SCANNED = 2_000
"""Messages among which recent prompts are looked for."""


@dataclass(frozen=True, slots=True)
class InsertPosition:
    """The place and time at which an entry is added."""

    session_id: str
    created: float
    owner: str = ""
    """The token of the program that receives it, for a streaming reply."""


class MessageStore:
    """The messages in the database."""

    def __init__(self, context: StoreContext) -> None:
        self.database, self._now, self._new_id = context
        self.restore = self.database.writer(_unhide)

    async def get(self, message_id: str) -> Entry | None:
        """Return a message, on whatever branch; None if it is gone or deleted."""
        placed = await self.database.read(lambda tx: read_visible(tx, message_id))
        return None if placed is None else entry_of(*placed)

    async def recent_prompts(
        self, limit: int = 200, longest: int = 20_000
    ) -> tuple[tuple[str, str], ...]:
        """Return session id and text of the newest user messages, the newest first: at most
        `limit`, none of more than `longest` characters.
        """
        rows = await self.database.rows(
            "SELECT m.session_id, substr(m.content, 1, ? + 1) FROM messages AS m "
            "JOIN sessions AS s USING (session_id) "
            "WHERE m.seq IN (SELECT seq FROM messages ORDER BY created DESC, seq DESC LIMIT ?) "
            "AND m.message_role = 'user' AND m.content <> '' AND s.deleted IS NULL "
            "AND m.hidden IS NULL "
            "ORDER BY m.created DESC, m.seq DESC LIMIT ?",
            *(longest, _PROMPTS_SCANNED, limit),
        )
        return tuple((session_id, text) for session_id, text in rows if len(text) <= longest)

    @writes
    async def add(
        self,
        tx: Transaction,
        session_id: str,
        message: Message,
        parent_id: str | None,
        model: str = "",
        new: NewSession | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> Entry:
        """Add a complete message after `parent_id` (None: as a first one) and activate its branch.

        An id that it has is kept; `model` wrote it, if one did. A `new` session and settings of the
        program are stored with it.
        Raises `StoreError` if the session is gone or the parent is not in it.
        """
        now = self._now()
        if new is not None:
            await begin_session(tx, new, now)
        await write_settings(tx, settings or {})
        message = replace(message, id=message.id or self._new_id())
        entry = Entry(message, parent_id, model=model)
        await check_parent(tx, session_id, parent_id)
        added = await insert_message(tx, entry, InsertPosition(session_id, now))
        await append_to_branch(tx, session_id, entry, now)
        return added

    @writes
    async def begin_session(self, tx: Transaction, new: NewSession) -> Session:
        """Store a session with its greetings. Raises `InputError` if its role cannot be used."""
        return await begin_session(tx, new, self._now())

    @writes
    async def edit(self, tx: Transaction, message_id: str, message: Message) -> Entry:
        """Add another version of a message as its sibling, and activate that. The old version
        stays with all that follows it. Raises `StoreError` if it is gone.
        """
        now = self._now()
        version = replace(message, id=self._new_id())
        session_id, parent_id = await locate(tx, message_id)
        await check_parent(tx, session_id, message_id)
        added = await insert_message(tx, Entry(version, parent_id), InsertPosition(session_id, now))
        await append_to_branch(tx, session_id, added, now)
        return added

    @writes
    async def pin(self, tx: Transaction, message_id: str, pinned: bool) -> None:
        """Pin a message, so that it is not truncated or muted, or unpin it. Raises `StoreError`."""
        await locate(tx, message_id)
        await tx.run("UPDATE messages SET pinned = ? WHERE message_id = ?", pinned, message_id)
        row = await tx.row("SELECT muted FROM messages WHERE message_id = ?", message_id)
        if pinned and row is not None and (text := row[0]):
            with decoding("message"):
                muted = replace(MUTED.read(text), whole=False)
            await self._mute(tx, ((message_id, muted),))

    @writes
    async def mute(self, tx: Transaction, changes: Mapping[str, Muted]) -> None:
        """Mute messages or parts of them, or unmute them, by their ids. What is muted as a whole is
        not pinned. Other programs that show the session notice it by its time. Raises
        `StoreError` if one is gone.
        """
        session_ids = {(await locate(tx, message_id))[0] for message_id in changes}
        await self._mute(tx, changes.items())
        await tx.run_many(
            "UPDATE sessions SET updated = ? WHERE session_id = ?",
            [(self._now(), session_id) for session_id in session_ids],
        )

    async def _mute(self, tx: Transaction, changes: Iterable[tuple[str, Muted]]) -> None:
        await tx.run_many(
            "UPDATE messages SET muted = ?, pinned = pinned AND NOT ? WHERE message_id = ?",
            [(MUTED.text(muted), muted.whole, message_id) for message_id, muted in changes],
        )

    @writes
    async def replace_about(self, tx: Transaction, message_id: str, about: About) -> None:
        """Store what is known about a message. Raises `StoreError` if it is gone."""
        await locate(tx, message_id)
        await tx.run(
            "UPDATE messages SET about = ? WHERE message_id = ?", ABOUT.text(about), message_id
        )

    @writes
    async def delete(self, tx: Transaction, message_id: str) -> None:
        """Delete a message with all that follows it; `restore` brings it back.

        If it is on the active branch, the sibling beside it becomes active, or its parent if it
        has none. Raises `InputError` while a reply is streaming below it.
        """
        session_id, parent_id = await locate(tx, message_id)
        await check_parent(tx, session_id, message_id)
        if await tx.row(f"{DESCENDANTS} SELECT 1 FROM down JOIN messages AS m USING (seq) "
                        "WHERE m.status = 'streaming'", message_id):  # fmt: skip
            raise NotYet("A reply is still arriving here.", advice="Stop it, then delete it.")
        siblings = await sibling_ids(tx, session_id, parent_id)
        head = await tx.row(
            f"{DESCENDANTS} SELECT s.head_id FROM down "
            "JOIN sessions AS s ON s.head_id = down.message_id",
            message_id,
        )
        # A deletion is never older than those among the messages it hides, whatever the clock says:
        # the trash is emptied by age, and must not take a message without what follows it.
        await tx.run(
            "INSERT INTO deletions (message_id, head_id, deleted) VALUES (?, ?, max(?, coalesce("
            "(SELECT max(d.deleted) FROM deletions AS d JOIN messages AS m USING (message_id) "
            "WHERE m.session_id = ?), 0)))",
            *(message_id, head and head[0], self._now(), session_id),
        )
        await tx.run(
            f"{DESCENDANTS} UPDATE messages SET hidden = (SELECT seq FROM deletions "
            "WHERE message_id = ?) WHERE seq IN (SELECT seq FROM down)",
            *(message_id, message_id),
        )
        if head is not None:
            index = siblings.index(message_id)
            beside = siblings[index - 1] if index else siblings[1] if len(siblings) > 1 else None
            await set_head(
                tx, session_id, parent_id if beside is None else await newest_below(tx, beside)
            )


async def _unhide(tx: Transaction, message_id: str) -> None:
    """Bring back a deleted message with all that was deleted with it, on the active branch if it
    was there; one that is not deleted stays as it is. Raises `StoreError` if it is gone for good,
    or follows another deleted one.
    """
    session_id, parent_id = await locate(tx, message_id)
    row = await tx.row("SELECT head_id FROM deletions WHERE message_id = ?", message_id)
    if row is None:
        return
    await check_parent(tx, session_id, parent_id)
    await tx.run("DELETE FROM deletions WHERE message_id = ?", message_id)
    if row[0] is not None:
        await set_head(tx, session_id, row[0])


async def begin_session(tx: Transaction, new: NewSession, now: float) -> Session:
    """Store a session with its greetings."""
    session = await create_session(tx, new.session, now)
    sql = "UPDATE sessions SET tools = ? WHERE session_id = ?"
    await tx.run(sql, new.tools, session.session_id)
    entries = [Entry(message) for message in new.greetings]
    for entry in entries:
        await insert_message(tx, entry, InsertPosition(session.session_id, now))
    for entry in entries:
        if entry.message.id == new.shown:
            await append_to_branch(tx, session.session_id, entry, now)
    return await require_session(tx, session.session_id)


async def insert_message(tx: Transaction, entry: Entry, placement: InsertPosition) -> Entry:
    """Add an entry, whose parent was checked, to tree and index. Return it with its place."""
    [(seq,)] = await tx.rows(_INSERT, None, *_values(entry, placement))
    if entry.status != "streaming":
        await put_message(tx, seq, entry.message.blocks)
    return await with_siblings_counted(tx, entry, placement.session_id)


async def with_siblings_counted(tx: Transaction, entry: Entry, session_id: str) -> Entry:
    """Return an entry with its place among its siblings; as it is if it was deleted meanwhile."""
    ids = await version_ids(tx, session_id, entry.parent_id, entry.message.id)
    if entry.message.id not in ids:
        return entry
    return replace(entry, sibling=ids.index(entry.message.id), siblings=len(ids))


def _values(entry: Entry, placement: InsertPosition) -> tuple[object, ...]:
    """Return the values for `_INTO` that follow the `seq`."""
    return (placement.session_id, placement.owner, placement.created, *entry_values(entry))


async def insert_messages(tx: Transaction, added: Sequence[tuple[Entry, InsertPosition]]) -> None:
    """Add entries to their sessions' trees and to the search index; their parents were checked."""
    [(first,)] = await tx.rows("SELECT coalesce(max(seq), 0) + 1 FROM messages")
    await tx.insert(
        _INTO,
        ((seq, *_values(entry, placement)) for seq, (entry, placement) in enumerate(added, first)),
    )
    indexed = ((seq, entry.message.blocks) for seq, (entry, _) in enumerate(added, first))
    await put_messages(tx, indexed)
