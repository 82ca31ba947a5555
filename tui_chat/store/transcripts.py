"""Whole conversations in and out, many messages at a time.

Taking in is done for many conversations at once: each statement runs once for all of them, since
the way to the database and back costs more than what is done there for one message.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tui_chat.models.session import Entry, Session
from tui_chat.models.transcript import Imported, Transcript
from tui_chat.store import branches, library, memory, messages, roles, sessions
from tui_chat.store.database import Transaction
from tui_chat.store.requests import insert_many, of_session

_HIDE_WHAT_FOLLOWS = """
    INSERT INTO hidden_messages (message, deletion)
    SELECT m.seq, h.deletion FROM messages AS m
    JOIN messages AS p ON p.message_id = m.parent_id
    JOIN hidden_messages AS h ON h.message = p.seq
    WHERE m.session_id = ? AND m.seq NOT IN (SELECT message FROM hidden_messages)
    RETURNING 1
"""


async def take_in(tx: Transaction, batch: Sequence[Transcript], now: float) -> tuple[Imported, ...]:
    """Add what is new of transcripts. What does not fit is left out and told."""
    plan = _Plan(await _known(tx, batch), await _titles(tx, batch))
    done = tuple(plan.add(transcript, now) for transcript in batch)
    for transcript in batch:
        role = transcript.role
        if role is not None and await roles.find(tx, role.role_id) is None:
            await roles.save(tx, role, now)
    await sessions.order_by_time(tx, now)
    await sessions.insert_many(tx, plan.sessions, now)
    await sessions.restore(tx, plan.grown)
    await messages.add_many(tx, plan.fresh)
    fresh = {entry.message.id for entry, _ in plan.fresh}
    for transcript in batch:
        sent = [each for each in transcript.requests if each.message_id in fresh]
        if sent:
            await insert_many(tx, sent)
            for kind, text in transcript.revisions:
                await library.keep_revision(tx, kind, text, now)
    for transcript in batch:
        if transcript.variables and transcript.session.session_id in plan.titles:
            values = dict(transcript.variables)
            await library.add_variables(tx, transcript.session.session_id, values)
    fresh_sessions = {session.session_id for session in plan.sessions}
    for transcript in batch:
        if transcript.draft and transcript.session.session_id in fresh_sessions:
            await memory.save_draft(tx, transcript.session.session_id, transcript.draft)
    await sessions.move_heads(tx, [(head, session_id) for session_id, head in plan.heads.items()])
    for session_id, updated in plan.longer.items():
        await _go_on(tx, session_id)
        await sessions.has_grown(tx, session_id, updated, now)
    return done


async def give_out(tx: Transaction, session_id: str, *, requests: bool = True) -> Transcript | None:
    """Return a session with all its branches, None if it is gone; with `requests`, also with what
    was sent for it, and its draft.
    """
    session = await sessions.find(tx, session_id)
    if session is None:
        return None
    sent = await of_session(tx, session_id, bodies=True) if requests else ()
    return Transcript(
        session,
        await branches.everything(tx, session_id),
        None if session.role_id is None else await roles.find(tx, session.role_id),
        tuple((await library.variables(tx, session_id)).items()),
        sent,
        await library.named_revisions(tx, (each.request.recipe for each in sent)) if sent else (),
        await memory.draft(tx, session_id) if requests else "",
    )


@dataclass
class _Plan:
    """What is to be added, worked out before anything is."""

    known: dict[str, str]
    """The messages that are there, with their sessions."""
    titles: dict[str, str]
    """The sessions that are there, with their titles."""
    sessions: list[Session] = field(default_factory=list[Session])
    fresh: list[tuple[Entry, messages.Place]] = field(
        default_factory=list[tuple[Entry, messages.Place]]
    )
    heads: dict[str, str] = field(default_factory=dict[str, str])
    """Of new sessions."""
    grown: dict[str, None] = field(default_factory=dict[str, None])
    """Sessions that were there before, in the order in which they came."""
    longer: dict[str, float] = field(default_factory=dict[str, float])
    """Those of them that have new messages, with the time of the last activity in the file."""

    def add(self, transcript: Transcript, now: float) -> Imported:
        """Plan for a transcript."""
        wanted = transcript.session
        session_id = wanted.session_id
        if fault := _fault(transcript, self.known):
            return Imported(session_id, wanted.title, False, fault=fault)
        is_new = session_id not in self.titles
        if is_new:
            role = transcript.role
            title = wanted.title or (role.name if role else "") or sessions.UNTITLED
            created = wanted.created or now
            updated = wanted.updated or created
            self.titles[session_id] = title
            self.sessions.append(replace(wanted, title=title, created=created, updated=updated))
        else:
            self.grown[session_id] = None
        added = 0
        for entry in transcript.entries:
            if entry.message.id in self.known:
                continue
            if entry.status == "streaming":
                entry = replace(entry, status="interrupted")
            time = entry.message.timestamp
            place = messages.Place(session_id, (wanted.created or now) if time is None else time)
            self.fresh.append((entry, place))
            self.known[entry.message.id] = session_id
            added += 1
        if added and not is_new:
            self.longer[session_id] = wanted.updated
        if is_new and transcript.entries:
            shown = wanted.head_id if wanted.head_id in self.known else None
            self.heads[session_id] = shown or transcript.entries[-1].message.id
        known = len(transcript.entries) - added
        return Imported(session_id, self.titles[session_id], is_new, added, known)


def _fault(transcript: Transcript, known: dict[str, str]) -> str:
    """Return why a transcript cannot be taken in, empty if it can."""
    session = transcript.session
    if not session.session_id:
        return "The conversation has no id."
    seen = set[str]()
    for entry in transcript.entries:
        message_id, parent_id = entry.message.id, entry.parent_id
        if not message_id or message_id in seen:
            return f"The id of a message is missing or there twice: “{message_id}”."
        if known.get(message_id, session.session_id) != session.session_id:
            return "Messages of this conversation are already in another session."
        if (
            parent_id is not None
            and parent_id not in seen
            and known.get(parent_id) != session.session_id
        ):
            return f"The message “{message_id}” follows one that is not there."
        seen.add(message_id)
    return ""


async def _known(tx: Transaction, batch: Sequence[Transcript]) -> dict[str, str]:
    ids = [entry.message.id for transcript in batch for entry in transcript.entries]
    rows = await tx.rows(
        "SELECT m.message_id, m.session_id FROM json_each(?) AS wanted "
        "JOIN messages AS m ON m.message_id = wanted.value",
        json.dumps(ids),
    )
    return dict(rows)


async def _titles(tx: Transaction, batch: Sequence[Transcript]) -> dict[str, str]:
    rows = await tx.rows(
        "SELECT session_id, title FROM json_each(?) JOIN sessions ON session_id = value",
        json.dumps([transcript.session.session_id for transcript in batch]),
    )
    return dict(rows)


async def _go_on(tx: Transaction, session_id: str) -> None:
    """Show what follows now where a session that was there before ended."""
    # What was deleted here stays deleted, with what follows it in the file.
    if await branches.has_hidden(tx, session_id):
        while await tx.rows(_HIDE_WHAT_FOLLOWS, session_id):
            pass
    session = await sessions.find(tx, session_id)
    if session is not None and session.head_id is not None:
        head = await branches.newest_below(tx, session.head_id)
    else:
        nodes = await branches.tree(tx, session_id)
        head = nodes[-1].message_id if nodes else None
    await sessions.move_head(tx, session_id, head)
