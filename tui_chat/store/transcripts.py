"""Transcripts: whole conversations imported and exported, many messages at a time.

An import adds many conversations at once, and each statement runs once for all of them: calling
the database costs more than its work for one message.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field, replace

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import Block, CallBlock, MediaBlock
from tui_chat.models.session import Entry, ImportResult, Session, SessionTranscript
from tui_chat.models.text import clean
from tui_chat.store.branches import newest_below, read_all_branches, read_tree
from tui_chat.store.database import Database, Transaction
from tui_chat.store.errors import decoding
from tui_chat.store.messages import InsertPosition, insert_messages
from tui_chat.store.replies import write_reply
from tui_chat.store.requests import (
    find_requests,
    insert_imported_requests,
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
    insert_sessions,
    refresh_status,
    restore_sessions,
    set_head,
    set_heads,
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
            results = await _import(tx, transcripts, now)
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


async def _import(
    tx: Transaction, batch: Sequence[SessionTranscript], now: float
) -> tuple[ImportResult, ...]:
    stored = await _known_messages(tx, batch)
    sessions = {message_id: request.session_id for message_id, request in stored.items()}
    plan = _Plan(stored, await _known_titles(tx, batch), sessions)
    results = tuple(plan.add(transcript, now) for transcript in batch)
    for transcript in batch:
        role = transcript.role
        if role is not None and await find_role(tx, role.role_id) is None:
            await save_role(tx, role, now)
    await insert_sessions(tx, plan.sessions, now)
    await restore_sessions(tx, plan.present)
    await insert_messages(tx, plan.entries)
    for entry in plan.completed:
        await write_reply(tx, entry)
    new_ids = {entry.message.id for entry, _ in plan.entries}
    new_sessions = {session.session_id for session in plan.sessions}
    for transcript in batch:
        session_id = transcript.session.session_id
        sent = [request for request in transcript.requests if request.message_id in new_ids]
        if sent:
            await insert_imported_requests(tx, sent)
            for kind, text in transcript.revisions:
                await save_revision(tx, kind, text, now)
        if transcript.variables and session_id in plan.titles:
            await add_variables(tx, session_id, dict(transcript.variables))
        if transcript.draft and session_id in new_sessions:
            sql = "UPDATE sessions SET draft = ? WHERE session_id = ?"
            await tx.run(sql, transcript.draft, session_id)
    await set_heads(tx, [(head, session_id) for session_id, head in plan.heads.items()])
    for session_id, updated in plan.extended.items():
        await _extend_active_branch(tx, session_id)
        await extend_session(tx, session_id, updated, now)
    for session_id in {plan.known[entry.message.id] for entry in plan.completed}:
        await refresh_status(tx, session_id)
    return results


@dataclass(frozen=True, slots=True)
class _StoredMessage:
    """The fields of a message in the database that are compared."""

    session_id: str
    content: str
    blocks: str
    status: str

    @property
    def own_blocks(self) -> tuple[Block, ...]:
        """The calls, pictures and files of it."""
        with decoding("message"):
            return _own_blocks(BLOCKS.read(self.blocks))


@dataclass
class _Plan:
    """The rows that an import adds, planned before anything is written."""

    stored: dict[str, _StoredMessage]
    """The messages of the batch that are in the database, by id."""
    titles: dict[str, str]
    """Titles by session id: those in the database, then also the planned ones."""
    known: dict[str, str]
    """Session ids by message id, likewise."""
    sessions: list[Session] = field(default_factory=list[Session])
    """New sessions."""
    completed: list[Entry] = field(default_factory=list[Entry])
    """Messages in the database that are longer in the file."""
    entries: list[tuple[Entry, InsertPosition]] = field(
        default_factory=list[tuple[Entry, InsertPosition]]
    )
    """New messages."""
    heads: dict[str, str] = field(default_factory=dict[str, str])
    """The heads of new sessions."""
    present: dict[str, None] = field(default_factory=dict[str, None])
    """Sessions of the batch that were in the database before, in the order of the batch."""
    extended: dict[str, float] = field(default_factory=dict[str, float])
    """Those of them with new messages, and the time of the last activity in the file."""

    def add(self, transcript: SessionTranscript, now: float) -> ImportResult:
        """Plan a transcript; return what its import will do."""
        session = transcript.session
        session_id = session.session_id
        if fault := _fault(transcript, self.known):
            return ImportResult(session_id, session.title, False, fault=fault)
        is_new = session_id not in self.titles
        if is_new:
            role = transcript.role
            title = session.title or (role.name if role else "") or UNTITLED
            created = session.created or now
            updated = session.updated or created
            self.titles[session_id] = title
            self.sessions.append(replace(session, title=title, created=created, updated=updated))
        else:
            self.present[session_id] = None
        added = completed = different = 0
        for entry in transcript.entries:
            if entry.message.id in self.known:
                stored = self.stored.get(entry.message.id)
                if stored is not None and _is_longer(entry, stored):
                    self.completed.append(entry)
                    completed += 1
                elif stored is not None and clean(entry.message.content) != stored.content:
                    different += 1
                continue
            if entry.status == "streaming":
                entry = replace(entry, status="interrupted")
            time = entry.message.timestamp
            placement = InsertPosition(
                session_id, (session.created or now) if time is None else time
            )
            self.entries.append((entry, placement))
            self.known[entry.message.id] = session_id
            added += 1
        if (added or completed) and not is_new:
            self.extended[session_id] = session.updated
        if is_new and transcript.entries:
            shown = session.head_id if session.head_id in self.known else None
            self.heads[session_id] = shown or transcript.entries[-1].message.id
        kept = len(transcript.entries) - added
        return ImportResult(
            session_id, self.titles[session_id], is_new, added, kept, completed, different
        )


def _is_longer(entry: Entry, stored: _StoredMessage) -> bool:
    """Return True if an entry continues a stored message: its program was still writing it."""
    if "streaming" in (entry.status, stored.status):
        return False
    content, known = clean(entry.message.content), stored.content
    old, new = stored.own_blocks, _own_blocks(entry.message.blocks)
    if (content, new) == (known, old):
        return False
    return content.startswith(known) and new[: len(old)] == old


def _own_blocks(blocks: Iterable[Block]) -> tuple[Block, ...]:
    """Return the calls, pictures and files among blocks."""
    return tuple(block for block in blocks if isinstance(block, CallBlock | MediaBlock))


def _fault(transcript: SessionTranscript, sessions: dict[str, str]) -> str:
    """Return why a transcript cannot be imported, as a sentence; empty if it can."""
    session = transcript.session
    if not session.session_id:
        return "The conversation has no id."
    seen = set[str]()
    for entry in transcript.entries:
        message_id, parent_id = entry.message.id, entry.parent_id
        if not message_id or message_id in seen:
            return f"The id of a message is missing or a duplicate: “{message_id}”."
        if sessions.get(message_id, session.session_id) != session.session_id:
            return "Messages of this conversation are already in another session."
        if (
            parent_id is not None
            and parent_id not in seen
            and sessions.get(parent_id) != session.session_id
        ):
            return f"The message “{message_id}” has no parent in the conversation."
        seen.add(message_id)
    return ""


async def _known_messages(
    tx: Transaction, batch: Sequence[SessionTranscript]
) -> dict[str, _StoredMessage]:
    ids = [entry.message.id for transcript in batch for entry in transcript.entries]
    rows = await tx.rows(
        "SELECT m.message_id, m.session_id, m.content, m.blocks, m.status "
        "FROM json_each(?) AS wanted JOIN messages AS m ON m.message_id = wanted.value",
        json.dumps(ids),
    )
    return {message_id: _StoredMessage(*values) for message_id, *values in rows}


async def _known_titles(tx: Transaction, batch: Sequence[SessionTranscript]) -> dict[str, str]:
    rows = await tx.rows(
        "SELECT session_id, title FROM json_each(?) JOIN sessions ON session_id = value",
        json.dumps([transcript.session.session_id for transcript in batch]),
    )
    return dict(rows)


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
