"""The full-text index: one row for each complete message, title of a session and name of a role.

Rows are removed by triggers of the database. Messages that were stored before the index are added
in batches before the first search: those whose `seq` is below the setting `INDEXED_FROM`.

Of a row whose blocks cannot be read, only its content is indexed.
"""
# ruff: noqa: S608 - only our own column names are put into SQL

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from tui_chat.models.blocks import Block, CallBlock, MediaBlock, ReasoningBlock, TextBlock
from tui_chat.models.message import text_blocks
from tui_chat.models.text import clean
from tui_chat.store.database import Transaction
from tui_chat.store.errors import DECODE_ERRORS
from tui_chat.store.rows import read_blocks

if TYPE_CHECKING:
    import sqlite3

TextRow: TypeAlias = "tuple[int, str, str, str, str, str]"
"""A row of the index: `rowid`, text, reasoning, calls, refusal and files."""

INDEXED_FROM = "indexed_from"
ROLES = -(2**40)
"""The `rowid` of a role's name is this minus the `seq` of the role."""
MAX_ATTACHMENT = 1_000_000
"""Characters of an attachment that are indexed: a thick book."""
INDEXED_AT_ONCE, BATCH = 20_000, 2_000
"""Messages that are indexed by a migration, and then in each transaction."""
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')

TEXT_COLUMNS = ("text", "reasoning", "calls", "refusal", "files")
_PUT = "INSERT OR REPLACE INTO texts (rowid, text, reasoning, calls, refusal, files)"
_PUT_ROW = f"{_PUT} VALUES (?, ?, ?, ?, ?, ?)"
_PUT_NAME = f"{_PUT} VALUES (?, ?, '', '', '', '')"
_COLUMNS = "seq, content, blocks"


def row_of(seq: int, blocks: Iterable[Block]) -> TextRow:
    """Return the row of a message with these blocks."""
    from tui_chat.store.words import index_text  # its patterns take time at the start

    texts: dict[str, list[str]] = {name: [] for name in TEXT_COLUMNS}
    for block in blocks:
        match block:
            case TextBlock():
                texts["refusal" if block.is_refusal else "text"].append(block.text)
            case ReasoningBlock():
                texts["reasoning"].append(block.text)
            case CallBlock():
                call = f"{block.name} {_plain_arguments(block.arguments)}".strip()
                texts["calls"].append(call)
            case MediaBlock():
                texts["files"] += filter(None, (block.name, _document(block)[:MAX_ATTACHMENT]))
            case _:
                pass
    text = "".join(texts.pop("text"))
    row = seq, *(index_text(clean(each)) for each in (text, *map("\n".join, texts.values())))
    return cast("TextRow", row)


def _plain_arguments(arguments: str) -> str:
    """Return the arguments of a call with their strings as they read."""
    return _STRING.sub(lambda match: _string(match[0]) or match[0], arguments)


def _string(text: str) -> str:
    try:
        return json.loads(text)
    except ValueError:
        return ""


def _document(block: MediaBlock) -> str:
    """Return the text of a file; empty if it is not one of text."""
    is_text = block.mime.startswith("text/") or block.mime == "application/json"
    if block.text or block.media != "file" or not is_text:
        return block.text
    try:
        return b64decode(block.data, validate=True).decode()
    except ValueError:
        return ""


async def put_message(tx: Transaction, seq: int, blocks: Sequence[Block]) -> None:
    """Set the row of a complete message."""
    row = row_of(seq, blocks)
    if any(row[1:]):
        await tx.run(_PUT_ROW, *row)
    else:
        await tx.run("DELETE FROM texts WHERE rowid = ?", seq)


async def put_messages(tx: Transaction, messages: Iterable[tuple[int, Sequence[Block]]]) -> None:
    """Add new messages, each from its `seq` and its blocks."""
    rows = (row_of(seq, blocks) for seq, blocks in messages)
    await tx.insert(_PUT, (row for row in rows if any(row[1:])))


def _rows(columns: Iterable[tuple[int, str, str]]) -> Iterator[TextRow]:
    """Yield the rows of stored messages, from their `seq`, content and blocks."""
    for seq, content, text in columns:
        if any((row := row_of(seq, _readable_blocks(content, text)))[1:]):
            yield row


def _readable_blocks(content: str, text: str) -> tuple[Block, ...]:
    """Return the blocks of the columns of a message, at least its text."""
    try:
        return read_blocks(content, text)
    except DECODE_ERRORS:
        return text_blocks(content)


async def put_stored_message(tx: Transaction, seq: int, content: str, text: str) -> None:
    """Set the row of a complete message, from its content and its blocks as they are stored."""
    await put_message(tx, seq, _readable_blocks(content, text))


async def put_stored(tx: Transaction, session_id: str) -> None:
    """Add the messages of a session, which are complete."""
    rows: list[Any] = await tx.rows(
        f"SELECT {_COLUMNS} FROM messages WHERE session_id = ?", session_id
    )
    await tx.insert(_PUT, _rows(rows))


async def put_titles(tx: Transaction, session_ids: Iterable[str]) -> None:
    """Set the titles of sessions."""
    from tui_chat.store.words import index_text

    rows = await tx.rows(
        "SELECT -seq, title FROM json_each(?) JOIN sessions ON session_id = value",
        json.dumps(list(session_ids)),
    )
    titles = [(rowid, index_text(title)) for rowid, title in rows]
    await tx.run_many(_PUT_NAME, titles)


async def put_role(tx: Transaction, role_id: str) -> None:
    """Set the name of a role."""
    from tui_chat.store.words import index_text

    rows = await tx.rows("SELECT ? - seq, name FROM roles WHERE role_id = ?", ROLES, role_id)
    names = [(rowid, index_text(name)) for rowid, name in rows]
    await tx.run_many(_PUT_NAME, names)


async def is_complete(tx: Transaction) -> bool:
    """Return True if no message waits for its row."""
    return await tx.row("SELECT 1 FROM settings WHERE key = ?", INDEXED_FROM) is None


async def put_batch(tx: Transaction) -> None:
    """Add a batch of the messages that wait, the newest first."""
    row = await tx.row("SELECT value FROM settings WHERE key = ?", INDEXED_FROM)
    rows: list[Any] = await tx.rows(
        f"SELECT {_COLUMNS} FROM messages WHERE seq < ? AND status <> 'streaming' "
        f"ORDER BY seq DESC LIMIT {BATCH}",
        int(row[0]) if row else 0,
    )
    await tx.insert(_PUT, _rows(rows))
    if len(rows) < BATCH:
        await tx.run("DELETE FROM settings WHERE key = ?", INDEXED_FROM)
    else:
        sql = "UPDATE settings SET value = ? WHERE key = ?"
        await tx.run(sql, str(rows[-1][0]), INDEXED_FROM)


def renew_rows(connection: sqlite3.Connection, seqs: Iterable[int]) -> None:
    """Set the rows of messages of an open database, of those that have one."""
    for seq in seqs:
        columns = connection.execute(
            f"SELECT {_COLUMNS} FROM messages WHERE seq = ? AND seq IN (SELECT rowid FROM texts)",
            (seq,),
        ).fetchall()
        if columns:
            connection.execute("DELETE FROM texts WHERE rowid = ?", (seq,))
            connection.executemany(_PUT_ROW, _rows(columns))


def fill_empty(connection: sqlite3.Connection) -> None:
    """Create the index of an open database if it has no row."""
    if connection.execute("SELECT 1 FROM texts LIMIT 1").fetchone() is None:
        rebuild(connection)


def rebuild(connection: sqlite3.Connection) -> None:
    """Create the index of an open database anew, with all titles and the newest messages."""
    (sql,) = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'texts'").fetchone()
    connection.execute("DROP TABLE texts")
    connection.execute(sql)
    connection.execute("DELETE FROM settings WHERE key = ?", (INDEXED_FROM,))
    first = connection.execute(
        f"SELECT seq FROM messages ORDER BY seq DESC LIMIT 1 OFFSET {INDEXED_AT_ONCE}"
    ).fetchone()
    if first is not None:
        sql = "INSERT INTO settings (key, value) VALUES (?, ?)"
        connection.execute(sql, (INDEXED_FROM, str(first[0] + 1)))
    connection.executemany(_PUT_ROW, indexed_rows(connection))


def indexed_rows(connection: sqlite3.Connection) -> Iterator[TextRow]:
    """Yield the rows that the index of an open database should have."""
    from tui_chat.store.words import index_text

    for select in ("SELECT -seq, title FROM sessions", f"SELECT {ROLES} - seq, name FROM roles"):
        for rowid, name in connection.execute(select):
            yield rowid, index_text(clean(name)), "", "", "", ""
    row = connection.execute("SELECT value FROM settings WHERE key = ?", (INDEXED_FROM,)).fetchone()
    yield from _rows(
        connection.execute(
            f"SELECT {_COLUMNS} FROM messages WHERE status <> 'streaming' "
            "AND (seq >= ? OR seq IN (SELECT rowid FROM texts))",
            (int(row[0]) if row else 0,),
        )
    )
