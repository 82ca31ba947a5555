"""Messages: adding them, and how a streaming reply ends."""
# ruff: noqa: S608 - only our own column names and constants are put into SQL

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tui_chat.errors import RecordGone, StoreError
from tui_chat.models.message import Message
from tui_chat.models.quick import quick
from tui_chat.models.reply import NO_USAGE
from tui_chat.models.semantics import NO_MESSAGE_SEMANTICS
from tui_chat.models.session import Entry
from tui_chat.store.database import Transaction
from tui_chat.store.growing import drop_changes, folded
from tui_chat.store.index import (
    add_asides,
    add_messages,
    add_new,
    add_stored,
    expect_many,
    remove_messages,
)
from tui_chat.store.rows import ENTRY_NAMES, entry_of, json_text, usage_values
from tui_chat.store.sessions import require, tell_status, touch

_COLUMNS = 28

_INTO = """
    INSERT INTO messages (
        seq, session_id, message_id, parent_id, message_role, content, parts, tool_calls, semantics,
        tool_call_id, name, timestamp, pinned, status, error, advice, model, endpoint, usage_input,
        usage_output, usage_cached, usage_cache_write, usage_reasoning, finish, seconds, first,
        owner, created
    )
"""
"""Adds a message at a `seq`, or at the next one where that is NULL."""

_INSERT = f"{_INTO} VALUES ({', '.join('?' * _COLUMNS)}) RETURNING seq"

_FINISH = f"""
    UPDATE messages AS m SET
        content = ?, parts = ?, tool_calls = ?, semantics = ?, tool_call_id = ?, name = ?,
        timestamp = coalesce(?, timestamp), status = ?, owner = '', error = ?, advice = ?,
        usage_input = ?, usage_output = ?, usage_cached = ?, usage_cache_write = ?,
        usage_reasoning = ?, finish = ?, seconds = ?, first = ?
    WHERE m.message_id = ?
    RETURNING {", ".join(ENTRY_NAMES)}, seq, session_id
"""


@quick
@dataclass(frozen=True, slots=True)
class Place:
    """Where and when an entry is added."""

    session_id: str
    created: float
    owner: str = ""
    """The receiving program's token, for a streaming reply."""


async def check_parent(tx: Transaction, session_id: str, parent_id: str | None) -> None:
    """Refuse a session that is gone, and a parent that is not one of its messages or hidden."""
    await require(tx, session_id)
    if parent_id is None:
        return
    row = await tx.row(
        "SELECT seq IN (SELECT message FROM hidden_messages) FROM messages "
        "WHERE message_id = ? AND session_id = ?",
        *(parent_id, session_id),
    )
    if row is None:
        raise StoreError("The message to continue from is not in this session.")
    if row[0]:
        raise StoreError("The message to continue from was deleted.")


async def add(tx: Transaction, entry: Entry, place: Place) -> Entry:
    """Add an entry to its session's tree; its parent was checked. Return it with its siblings
    counted.
    """
    await insert(tx, entry, place)
    return await counted(tx, entry, place.session_id)


async def counted(tx: Transaction, entry: Entry, session_id: str) -> Entry:
    """Return an entry that says which of how many siblings it is."""
    ids = await siblings(tx, session_id, entry.parent_id)
    if entry.message.id not in ids:
        return entry  # it was deleted meanwhile
    return replace(entry, sibling=ids.index(entry.message.id), siblings=len(ids))


async def siblings(tx: Transaction, session_id: str, parent_id: str | None) -> list[str]:
    """Return the messages that follow `parent_id` (None: the first ones), oldest first."""
    rows = await tx.rows(
        "SELECT message_id FROM messages WHERE session_id = ? AND parent_id IS ? "
        "AND seq NOT IN (SELECT message FROM hidden_messages) ORDER BY seq",
        *(session_id, parent_id),
    )
    return [message_id for (message_id,) in rows]


async def session_of(tx: Transaction, message_id: str) -> str:
    """Return the session of a message; refuse one that is gone."""
    row = await tx.row("SELECT session_id FROM messages WHERE message_id = ?", message_id)
    if row is None:
        raise StoreError("This message no longer exists.")
    return row[0]


async def insert(tx: Transaction, entry: Entry, place: Place) -> None:
    """Add an entry to its session's tree and to the search index, and nothing else; its parent
    was checked.
    """
    [(seq,)] = await tx.rows(_INSERT, None, *_values(entry, place))
    if entry.status != "streaming":
        _, calls, semantics = _json_texts(entry.message)
        await add_new(tx, seq, entry.message.content, calls, semantics)


def _values(entry: Entry, place: Place) -> tuple[object, ...]:
    """Return the values for `_INTO` that follow the `seq`."""
    message = entry.message
    return (
        *(place.session_id, message.id, entry.parent_id, message.role, message.content),
        *_json_texts(message),
        *(message.tool_call_id, message.name, message.timestamp, message.pinned),
        *(entry.status, entry.error, entry.advice, entry.model, entry.endpoint),
        *(*usage_values(entry.usage), entry.finish, entry.seconds, entry.first),
        *(place.owner, place.created),
    )


async def add_many(tx: Transaction, fresh: Sequence[tuple[Entry, Place]]) -> None:
    """Add entries to their sessions' trees and to the search index; parents were checked.

    The trigger that counts each message would cost as much as all the rest, so it is taken away
    meanwhile, and every session is counted once. Nobody else sees the file without it: the
    transaction brings it back, or never happened.
    """
    found = await tx.row("SELECT coalesce(max(seq), 0) + 1 FROM messages")
    counting = await tx.row("SELECT sql FROM sqlite_master WHERE name = 'message_is_counted'")
    if found is None or counting is None:
        raise AssertionError("an aggregate returns a row, and every schema has the trigger")
    first: int = found[0]
    counts: dict[str, list[int]] = {}
    for entry, place in fresh:
        count = counts.setdefault(place.session_id, [0, 0])
        count[0] += 1
        if entry.usage is not NO_USAGE:
            count[1] += sum(number or 0 for number in usage_values(entry.usage)[:2])
    await tx.run("DROP TRIGGER message_is_counted")
    await tx.insert(
        _INTO, ((seq, *_values(entry, place)) for seq, (entry, place) in enumerate(fresh, first))
    )
    await tx.run(counting[0])
    await tx.run_many(
        _COUNT, [(new, min(tokens, 4 * 10**18), key) for key, (new, tokens) in counts.items()]
    )
    await expect_many(tx)
    await add_messages(
        tx, ((seq, entry.message.content) for seq, (entry, _) in enumerate(fresh, first))
    )
    await add_asides(
        tx,
        (
            (seq, *_json_texts(entry.message)[1:])
            for seq, (entry, _) in enumerate(fresh, first)
            if entry.message.tool_calls or entry.message.semantics is not NO_MESSAGE_SEMANTICS
        ),
    )


_COUNT = """
    UPDATE sessions SET message_count = message_count + ?,
        total_tokens = min(total_tokens + ?, 4000000000000000000)
    WHERE session_id = ?
"""


async def finish(tx: Transaction, entry: Entry, now: float) -> Entry:
    """Write a reply whole and end it, now; return the entry as it is stored."""
    message = entry.message
    await remove_messages(tx, "m.message_id = ?", message.id)  # one that had ended before
    row = await tx.row(
        _FINISH,
        *(message.content, *_json_texts(message), message.tool_call_id, message.name),
        *(message.timestamp, entry.status, entry.error, entry.advice),
        *(*usage_values(entry.usage), entry.finish, entry.seconds, entry.first, message.id),
    )
    if row is None:
        raise RecordGone("The session of this reply no longer exists.")
    await drop_changes(tx, message.id)
    *stored, seq, session_id = row
    await add_new(tx, seq, message.content, *_json_texts(message)[1:])
    await touch(tx, session_id, now)
    return await counted(tx, entry_of(tuple(stored)), session_id)


async def pin(tx: Transaction, message_id: str, pinned: bool) -> None:
    """Have every truncation keep a message, or no longer."""
    await session_of(tx, message_id)
    await tx.run("UPDATE messages SET pinned = ? WHERE message_id = ?", pinned, message_id)


async def is_streaming(tx: Transaction, entry_id: str) -> bool:
    """Tell whether an entry is there and still arriving."""
    sql = "SELECT 1 FROM messages WHERE message_id = ? AND status = 'streaming'"
    return await tx.row(sql, entry_id) is not None


async def owners(tx: Transaction) -> list[str]:
    """Return the tokens of the programs that are said to be receiving replies."""
    rows = await tx.rows("SELECT DISTINCT owner FROM messages WHERE status = 'streaming'")
    return [token for (token,) in rows]


async def interrupt_all(tx: Transaction, token: str) -> int:
    """End the replies of a program that is gone, each with what it had received; return how
    many they were.
    """
    streaming = await tx.rows(
        "SELECT message_id, session_id FROM messages WHERE status = 'streaming' AND owner = ?",
        token,
    )
    for entry_id, session_id in streaming:
        fields = await folded(tx, entry_id)
        await tx.run(
            "UPDATE messages SET content = ?, parts = ?, tool_calls = ?, semantics = ?, "
            "status = 'interrupted', owner = '' WHERE message_id = ?",
            *(fields["content"], fields["parts"], fields["tool_calls"], fields["semantics"]),
            entry_id,
        )
        await drop_changes(tx, entry_id)
        await add_stored(tx, "message_id = ?", entry_id)
        await tell_status(tx, session_id)
    return len(streaming)


def _json_texts(message: Message) -> tuple[str, str, str]:
    """Write the JSON columns, in the order in which statements name them."""
    if message.semantics is NO_MESSAGE_SEMANTICS and not (message.parts or message.tool_calls):
        return "", "", ""
    return (
        json_text(message, "parts"),
        json_text(message, "tool_calls"),
        json_text(message, "semantics"),
    )
