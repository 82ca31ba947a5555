"""Whole conversations in and out, many messages at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

from tui_chat.errors import InputError
from tui_chat.model.session import Entry
from tui_chat.model.transcript import Imported, Transcript
from tui_chat.store import branches, index, library, messages, roles, sessions
from tui_chat.store.database import Transaction

_HIDE_WHAT_FOLLOWS = """
    INSERT INTO hidden_messages (message, deletion)
    SELECT m.seq, h.deletion FROM messages AS m
    JOIN messages AS p ON p.message_id = m.parent_id
    JOIN hidden_messages AS h ON h.message = p.seq
    WHERE m.session_id = ? AND m.seq NOT IN (SELECT message FROM hidden_messages)
    RETURNING 1
"""


async def take_in(tx: Transaction, transcript: Transcript, now: float) -> Imported:
    """Add what is new of a transcript. InputError where it does not fit together or with what
    is there.
    """
    wanted = transcript.session
    ids = [entry.message.id for entry in transcript.entries]
    found = await tx.rows(
        "SELECT m.message_id, m.session_id FROM json_each(?) AS wanted "
        "JOIN messages AS m ON m.message_id = wanted.value",
        json.dumps(ids),
    )
    known = {message_id for message_id, _ in found}
    _check(transcript, known)
    if any(session_id != wanted.session_id for _, session_id in found):
        raise InputError("Messages of this conversation are already in another session.")
    row = await tx.row(
        "SELECT title, head_id FROM sessions WHERE session_id = ?", wanted.session_id
    )
    if row is None:
        title = await _add_session(tx, transcript, now)
        head = None
    else:
        await sessions.restore(tx, [wanted.session_id])
        title, head = row
    fresh = [entry for entry in transcript.entries if entry.message.id not in known]
    await _add_messages(tx, transcript, fresh, now)
    await library.add_variables(tx, wanted.session_id, dict(transcript.variables))
    if fresh:
        if head is None:
            visible = wanted.head_id if wanted.head_id in ids else ids[-1]
            head = await branches.nearest_visible(tx, visible)
        else:
            head = await branches.newest_below(tx, head)
        await sessions.move_head(tx, wanted.session_id, head)
    return Imported(wanted.session_id, title, row is None, len(fresh), len(known))


async def give_out(tx: Transaction, session_id: str) -> Transcript | None:
    """Return a session with all its branches, None if it is gone. Requests stay here."""
    session = await sessions.find(tx, session_id)
    if session is None:
        return None
    return Transcript(
        session,
        await branches.everything(tx, session_id),
        None if session.role_id is None else await roles.find(tx, session.role_id),
        tuple((await library.variables(tx, session_id)).items()),
    )


def _check(transcript: Transcript, known: set[str]) -> None:
    """Refuse entries that do not make a tree."""
    if not transcript.session.session_id:
        raise InputError("The conversation has no id.")
    there = set(known)
    seen = set[str]()
    for entry in transcript.entries:
        message_id = entry.message.id
        if not message_id or message_id in seen:
            raise InputError(f"The id of a message is missing or there twice: “{message_id}”.")
        if entry.parent_id is not None and entry.parent_id not in there:
            raise InputError(f"The message “{message_id}” follows one that is not there.")
        seen.add(message_id)
        there.add(message_id)


async def _add_session(tx: Transaction, transcript: Transcript, now: float) -> str:
    wanted, role = transcript.session, transcript.role
    if role is not None and await roles.find(tx, role.role_id) is None:
        await roles.save(tx, role, now)
    made = await sessions.insert(
        tx,
        replace(
            wanted,
            title=wanted.title or (role.name if role else "") or sessions.UNTITLED,
            created=wanted.created or now,
            updated=wanted.updated or wanted.created or now,
        ),
    )
    return made.title


async def _add_messages(
    tx: Transaction, transcript: Transcript, fresh: list[Entry], now: float
) -> None:
    session = transcript.session
    row = await tx.row("SELECT coalesce(max(seq), 0) + 1 FROM messages")
    if row is None:
        raise AssertionError("an aggregate returns a row")
    first: int = row[0]
    created = session.created or now

    def rows() -> Iterator[tuple[object, ...]]:
        for seq, entry in enumerate(fresh, first):
            ended = replace(entry, status="interrupted") if entry.status == "streaming" else entry
            time = entry.message.timestamp
            place = messages.Place(session.session_id, created if time is None else time)
            yield (seq, *messages.values(ended, place))

    await tx.run_many(messages.INSERT_AT, rows())
    await index.add_messages(
        tx, ((seq, entry.message.content) for seq, entry in enumerate(fresh, first))
    )
    # What was deleted here stays deleted, with what follows it in the file.
    if await branches.has_hidden(tx, session.session_id):
        while await tx.rows(_HIDE_WHAT_FOLLOWS, session.session_id):
            pass
