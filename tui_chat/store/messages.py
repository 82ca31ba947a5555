"""The tree of messages: adding to it, and the branch from its root to a session's head."""
# ruff: noqa: S608 - only our own column names and constants are put into SQL

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter

from tui_chat.errors import StoreError
from tui_chat.model.message import Message
from tui_chat.model.session import Entry
from tui_chat.store.database import Row, Transaction
from tui_chat.store.growing import drop_changes, folded
from tui_chat.store.rows import (
    ENTRY,
    ENTRY_NAMES,
    entry_of,
    json_text,
    usage_values,
)
from tui_chat.store.sessions import require

_COLUMNS = 26

_INSERT = f"""
    INSERT INTO messages (
        session_id, message_id, parent_id, message_role, content, parts, tool_calls, semantics,
        tool_call_id, name, timestamp, pinned, status, error, advice, model, endpoint, usage_input,
        usage_output, usage_cached, usage_cache_write, usage_reasoning, finish, seconds, owner,
        created
    ) VALUES ({", ".join("?" * _COLUMNS)})
"""

_BRANCH = f"""
    WITH RECURSIVE up (seq, parent_id, height) AS (
        SELECT m.seq, m.parent_id, 0
        FROM sessions AS s JOIN messages AS m ON m.message_id = s.head_id
        WHERE s.session_id = ?
        UNION ALL
        SELECT m.seq, m.parent_id, up.height + 1
        FROM up JOIN messages AS m ON m.message_id = up.parent_id
    )
    SELECT {ENTRY}, up.height FROM up JOIN messages AS m ON m.seq = up.seq
"""

_FINISH = f"""
    UPDATE messages AS m SET
        content = ?, parts = ?, tool_calls = ?, semantics = ?, tool_call_id = ?, name = ?,
        timestamp = coalesce(?, timestamp), status = ?, owner = '', error = ?, advice = ?,
        usage_input = ?, usage_output = ?, usage_cached = ?, usage_cache_write = ?,
        usage_reasoning = ?, finish = ?, seconds = ?
    WHERE m.message_id = ?
    RETURNING {", ".join(ENTRY_NAMES)}
"""


@dataclass(frozen=True, slots=True)
class Place:
    """Where and when an entry is added."""

    session_id: str
    created: float
    owner: str = ""
    """The receiving program's token, for a streaming reply."""


async def check_parent(tx: Transaction, session_id: str, parent_id: str | None) -> None:
    """Refuse a session that is gone and a parent that is not one of its messages."""
    await require(tx, session_id)
    if parent_id is not None and not await tx.row(
        "SELECT 1 FROM messages WHERE message_id = ? AND session_id = ?", parent_id, session_id
    ):
        raise StoreError("The message to continue from is not in this session.")


async def insert(tx: Transaction, entry: Entry, place: Place) -> None:
    """Add an entry to its session's tree; its parent was checked."""
    message = entry.message
    await tx.run(
        _INSERT,
        *(place.session_id, message.id, entry.parent_id, message.role, message.content),
        *_json_texts(message),
        *(
            message.tool_call_id,
            message.name,
            message.timestamp,
            message.pinned,
            entry.status,
            entry.error,
            entry.advice,
        ),
        *(entry.model, entry.endpoint, *usage_values(entry.usage), entry.finish, entry.seconds),
        *(place.owner, place.created),
    )


async def finish(tx: Transaction, entry: Entry) -> Entry:
    """Write a reply whole and end it; return the entry as it is stored."""
    message = entry.message
    row = await tx.row(
        _FINISH,
        *(message.content, *_json_texts(message), message.tool_call_id, message.name),
        *(message.timestamp, entry.status, entry.error, entry.advice),
        *(*usage_values(entry.usage), entry.finish, entry.seconds, message.id),
    )
    if row is None:
        raise StoreError("The session of this reply no longer exists.")
    await drop_changes(tx, message.id)
    return entry_of(row)


async def is_streaming(tx: Transaction, entry_id: str) -> bool:
    """Tell whether an entry is there and still arriving."""
    sql = "SELECT 1 FROM messages WHERE message_id = ? AND status = 'streaming'"
    return await tx.row(sql, entry_id) is not None


async def owners(tx: Transaction) -> list[str]:
    """Return the tokens of the programs that are said to be receiving replies."""
    rows = await tx.rows("SELECT DISTINCT owner FROM messages WHERE status = 'streaming'")
    return [token for (token,) in rows]


async def interrupt_all(tx: Transaction, token: str) -> None:
    """End the replies of a program that is gone, each with what it had received."""
    for (entry_id,) in await tx.rows(
        "SELECT message_id FROM messages WHERE status = 'streaming' AND owner = ?", token
    ):
        fields = await folded(tx, entry_id)
        await tx.run(
            "UPDATE messages SET content = ?, parts = ?, tool_calls = ?, semantics = ?, "
            "status = 'interrupted', owner = '' WHERE message_id = ?",
            *(fields["content"], fields["parts"], fields["tool_calls"], fields["semantics"]),
            entry_id,
        )
        await drop_changes(tx, entry_id)


async def branch(tx: Transaction, session_id: str) -> list[Row]:
    """Return the rows from the root to the session's head, for `entry_of`."""
    rows = await tx.rows(_BRANCH, session_id)
    # They come in this order or its reverse, which is sorted for nothing here; SQLite would
    # carry the contents through its sorter.
    rows.sort(key=itemgetter(-1), reverse=True)
    return [await _as_far_as_it_is(tx, row) if row[_STATUS] == "streaming" else row for row in rows]


def _json_texts(message: Message) -> tuple[str, str, str]:
    """Write the JSON columns, in the order in which statements name them."""
    return (
        json_text(message, "parts"),
        json_text(message, "tool_calls"),
        json_text(message, "semantics"),
    )


_STATUS = ENTRY_NAMES.index("status")


async def _as_far_as_it_is(tx: Transaction, row: Row) -> Row:
    """Fill in what a streaming reply has received so far."""
    fields = await folded(tx, row[0])
    filled = list(row)
    for field, text in fields.items():
        filled[ENTRY_NAMES.index(field)] = text
    return tuple(filled)
