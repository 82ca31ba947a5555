"""Transcripts: whole conversations imported and exported, many messages at a time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from tui_chat.models.blocks import Block, CallBlock, MediaBlock
from tui_chat.models.session import Entry, ImportResult, SessionTranscript
from tui_chat.models.text import clean
from tui_chat.store.branches import newest_below, read_all_branches, read_tree
from tui_chat.store.database import Database, Transaction
from tui_chat.store.errors import decoding
from tui_chat.store.messages import InsertPosition, insert_messages
from tui_chat.store.replies import write_reply
from tui_chat.store.requests import (
    find_requests,
    insert_request,
    prune_bodies,
    revisions_of_recipes,
    save_revision,
)
from tui_chat.store.roles import find_role, save_role
from tui_chat.store.rows import BLOCKS
from tui_chat.store.sessions import (
    UNTITLED,
    add_variables,
    extend_session,
    find_session,
    find_variables,
    place_session,
    restore_sessions,
    set_head,
)

_HIDE_BELOW_HIDDEN = """
    UPDATE messages AS m SET hidden = p.hidden FROM messages AS p
    WHERE p.message_id = m.parent_id AND p.hidden IS NOT NULL
    AND m.session_id = ? AND m.hidden IS NULL RETURNING 1
"""


class TranscriptStore:
    """Imports and exports of conversations."""

    def __init__(self, database: Database, now: Callable[[], float]) -> None:
        self._database = database
        self._now = now

    async def add(self, transcript: SessionTranscript) -> ImportResult:
        """Import a conversation; see `add_many`."""
        (imported,) = await self.add_many((transcript,))
        return imported

    async def add_many(
        self, batch: Iterable[SessionTranscript], *, dry_run: bool = False
    ) -> tuple[ImportResult, ...]:
        """Import conversations in one transaction, which is much faster than one by one.

        See `SessionTranscript` for what is added to known sessions; a session in the trash is
        restored. A conversation that cannot be imported is skipped, with the reason as `fault` of
        its result. With `dry_run` nothing is changed, and the results say what would be.

        Other work waits meanwhile: a few thousand messages are a good batch.
        """
        transcripts, now = tuple(batch), self._now()

        async def work(tx: Transaction) -> tuple[ImportResult, ...]:
            results = tuple([await _import(tx, transcript, now) for transcript in transcripts])
            if dry_run:
                raise _DryRun(results)
            return results

        try:
            return await self._database.write(work)
        except _DryRun as rolled_back:
            return rolled_back.results

    async def get(self, session_id: str, *, requests: bool = True) -> SessionTranscript | None:
        """Return a session with all its branches, its role and variables; None if it is gone.

        With `requests`, also the requests of its replies, with the exact bodies that are kept,
        and its draft.
        """

        async def work(tx: Transaction) -> SessionTranscript | None:
            session = await find_session(tx, session_id)
            if session is None:
                return None
            sent = await find_requests(tx, session_id, bodies=True) if requests else ()
            return SessionTranscript(
                session,
                await read_all_branches(tx, session_id),
                None if session.role_id is None else await find_role(tx, session.role_id),
                tuple((await find_variables(tx, session_id)).items()),
                sent,
                await revisions_of_recipes(tx, (request.request.recipe for request in sent)),
                await _draft(tx, session_id) if requests else "",
            )

        return await self._database.read(work)


async def _draft(tx: Transaction, session_id: str) -> str:
    [(draft,)] = await tx.rows("SELECT draft FROM sessions WHERE session_id = ?", session_id)
    return draft


class _DryRun(Exception):
    """Rolls a transaction back, and carries what it would have done."""

    def __init__(self, results: tuple[ImportResult, ...]) -> None:
        super().__init__()
        self.results = results


async def _import(tx: Transaction, transcript: SessionTranscript, now: float) -> ImportResult:
    session, session_id = transcript.session, transcript.session.session_id
    stored = await _stored_messages(tx, transcript)
    if fault := _fault(transcript, stored):
        return ImportResult(session_id, session.title, False, fault=fault)
    role = transcript.role
    if role is not None and await find_role(tx, role.role_id) is None:
        await save_role(tx, role, now)
    row = await tx.row("SELECT title FROM sessions WHERE session_id = ?", session_id)
    is_new, created = row is None, session.created or now
    if row is not None:
        title = row[0]
        await restore_sessions(tx, [session_id])
    else:
        title = session.title or (role.name if role else "") or UNTITLED
        updated = session.updated or created
        session = replace(session, title=title, created=created, updated=updated)
        await place_session(tx, session, now)
        sql = "UPDATE sessions SET draft = ? WHERE session_id = ?"
        await tx.run(sql, transcript.draft, session_id)
    added: list[tuple[Entry, InsertPosition]] = []
    completed = different = 0
    for entry in transcript.entries:
        message = entry.message
        if (known := stored.get(message.id)) is None:
            time = created if message.timestamp is None else message.timestamp
            status = "interrupted" if entry.status == "streaming" else entry.status
            added.append((replace(entry, status=status), InsertPosition(session_id, time)))
        elif _is_longer(entry, known):
            await write_reply(tx, entry)
            completed += 1
        else:
            different += clean(message.content) != known.content
    await insert_messages(tx, added)
    new_ids = {entry.message.id for entry, _ in added}
    if sent := [request for request in transcript.requests if request.message_id in new_ids]:
        for request in sent:
            record = request.request
            await insert_request(tx, request.message_id, record, record.created, copied=True)
        await prune_bodies(tx)
        for kind, text in transcript.revisions:
            await save_revision(tx, kind, text, now)
    if transcript.variables:
        await add_variables(tx, session_id, dict(transcript.variables))
    if is_new and transcript.entries:
        head_id = session.head_id if session.head_id in new_ids else added[-1][0].message.id
        await set_head(tx, session_id, head_id)
    elif not is_new and (added or completed):
        await _extend_active_branch(tx, session_id)
        await extend_session(tx, session_id, session.updated, now)
    kept = len(transcript.entries) - len(added)
    return ImportResult(session_id, title, is_new, len(added), kept, completed, different)


class _StoredMessage(NamedTuple):
    """The fields of a message in the database that are compared."""

    session_id: str
    content: str
    blocks: str
    status: str


async def _stored_messages(
    tx: Transaction, transcript: SessionTranscript
) -> dict[str, _StoredMessage]:
    """Return the messages of a transcript that are in the database, by id."""
    rows = await tx.rows(
        "SELECT m.message_id, m.session_id, m.content, m.blocks, m.status "
        "FROM json_each(?) AS wanted JOIN messages AS m ON m.message_id = wanted.value",
        json.dumps([entry.message.id for entry in transcript.entries]),
    )
    return {message_id: _StoredMessage(*values) for message_id, *values in rows}


def _is_longer(entry: Entry, stored: _StoredMessage) -> bool:
    """Return True if an entry continues a stored message: its program was still writing it."""
    if "streaming" in (entry.status, stored.status):
        return False
    content = clean(entry.message.content)
    with decoding("message"):
        old = _own_blocks(BLOCKS.read(stored.blocks))
    new = _own_blocks(entry.message.blocks)
    if (content, new) == (stored.content, old):
        return False
    return content.startswith(stored.content) and new[: len(old)] == old


def _own_blocks(blocks: Iterable[Block]) -> tuple[Block, ...]:
    """Return the calls, pictures and files among blocks."""
    return tuple(block for block in blocks if isinstance(block, CallBlock | MediaBlock))


def _fault(transcript: SessionTranscript, stored: Mapping[str, _StoredMessage]) -> str:
    """Return why a transcript cannot be imported, as a sentence; empty if it can."""
    session_id = transcript.session.session_id
    if not session_id:
        return "The conversation has no id."
    if any(message.session_id != session_id for message in stored.values()):
        return "Messages of this conversation are already in another session."
    seen = set[str]()
    for entry in transcript.entries:
        message_id, parent_id = entry.message.id, entry.parent_id
        if not message_id or message_id in seen:
            return f"The id of a message is missing or a duplicate: “{message_id}”."
        if parent_id is not None and parent_id not in seen and parent_id not in stored:
            return f"The message “{message_id}” has no parent in the conversation."
        seen.add(message_id)
    return ""


async def _extend_active_branch(tx: Transaction, session_id: str) -> None:
    """Make what an import added below the head of a session part of its active branch."""
    # What was deleted here stays deleted, with what follows it in the file.
    has_deleted = await tx.row(
        "SELECT 1 FROM deletions JOIN messages AS m USING (message_id) WHERE m.session_id = ?",
        session_id,
    )
    if has_deleted is not None:
        while await tx.rows(_HIDE_BELOW_HIDDEN, session_id):
            pass
    session = await find_session(tx, session_id)
    if session is not None and session.head_id is not None:
        head = await newest_below(tx, session.head_id)
    else:
        nodes = await read_tree(tx, session_id)
        head = nodes[-1].message_id if nodes else None
    await set_head(tx, session_id, head)
