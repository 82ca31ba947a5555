"""The full-text index: one row for each complete message, title of a session and name of a role.

Rows are removed by triggers of the database. Messages that were stored before the index are added
in batches before the first search: those whose `seq` is below the setting `INDEXED_FROM`.

What stands beside the text of a message is extracted from JSON columns. Text that is not JSON gives
no text instead of an error.
"""
# ruff: noqa: S608 - only our own column names are put into SQL

from __future__ import annotations

import asyncio
import json
import re
from base64 import b64decode
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from tui_chat.models.text import clean
from tui_chat.store.database import Transaction

if TYPE_CHECKING:
    import sqlite3

TextRow: TypeAlias = "tuple[int, str, str, str, str, str]"
"""A row of the index: `rowid`, text, reasoning, calls, refusal and files."""
_Object = dict[str, Any]

INDEXED_FROM = "indexed_from"
ROLES = -(2**40)
"""The `rowid` of a role's name is this minus the `seq` of the role."""
MAX_ATTACHMENT = 1_000_000
"""Characters of an attachment that are indexed: a thick book."""
_AT_ONCE, _BATCH = 20_000, 2_000
"""Messages that are indexed by a migration, and then in each transaction."""
_LONG = 100_000
"""Characters from which words are extracted on another thread."""
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')

TEXT_COLUMNS = ("text", "reasoning", "calls", "refusal", "files")
_PUT = "INSERT OR REPLACE INTO texts (rowid, text, reasoning, calls, refusal, files)"
_PUT_ROW = f"{_PUT} VALUES (?, ?, ?, ?, ?, ?)"
_PUT_NAME = f"{_PUT} VALUES (?, ?, '', '', '', '')"
_COLUMNS = "seq, content, parts, tool_calls, semantics"


def row_of(seq: int, content: str, parts: str, tool_calls: str, semantics: str) -> TextRow:
    """Return the row of a message with these columns."""
    from tui_chat.store.words import index_text  # its patterns take time at the start

    (about,) = _objects([json_of(semantics)]) or [{}]
    reasoning = "\n".join(_text(block, "text") for block in _objects(about.get("reasoning")))
    calls = "\n".join(
        f"{_text(call, 'name')} {_plain_arguments(_text(call, 'arguments'))}".strip()
        for call in _objects(json_of(tool_calls))
    )
    texts = content, reasoning, calls, _text(about, "refusal"), _files_text(parts)
    row = seq, *(index_text(clean(text)) for text in texts)
    return cast("TextRow", row)


def json_of(text: str) -> Any:
    """Return the value of a JSON column; None if it is empty or cannot be read."""
    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError):
        return None


def _objects(value: Any) -> list[_Object]:
    listed = cast("list[Any]", value) if isinstance(value, list) else []
    return [cast("_Object", item) for item in listed if isinstance(item, dict)]


def _text(value: _Object, key: str) -> str:
    text = value.get(key)
    return text if isinstance(text, str) else ""


def _plain_arguments(arguments: str) -> str:
    """Return the arguments of a call with their strings as they read."""
    return _STRING.sub(lambda match: json_of(match[0]) or match[0], arguments)


def _files_text(parts: str) -> str:
    """Return the names and texts of attachments, on lines of their own."""
    texts: list[str] = []
    for part in _objects(json_of(parts)):
        texts += (_text(part, "name"), _document(part)[:MAX_ATTACHMENT])
    return "\n".join(filter(None, texts))


def _document(part: _Object) -> str:
    """Return the text of a file; empty if it is not one of text."""
    text, kind, mime = (_text(part, key) for key in ("text", "kind", "mime"))
    if text or kind != "file" or not (mime.startswith("text/") or mime == "application/json"):
        return text
    try:
        return b64decode(_text(part, "data"), validate=True).decode()
    except ValueError:
        return ""


async def put_message(tx: Transaction, seq: int, *columns: str) -> None:
    """Set the row of a complete message, from its content, parts, tool calls and semantics."""
    is_long = sum(map(len, columns)) > _LONG
    row = await asyncio.to_thread(row_of, seq, *columns) if is_long else row_of(seq, *columns)
    if any(row[1:]):
        await tx.run(_PUT_ROW, *row)
    else:
        await tx.run("DELETE FROM texts WHERE rowid = ?", seq)


async def put_messages(tx: Transaction, columns: Iterable[tuple[int, str, str, str, str]]) -> None:
    """Add new messages, each from its `seq` and the same columns."""
    await tx.insert(_PUT, _rows(columns))


def _rows(columns: Iterable[tuple[int, str, str, str, str]]) -> Iterator[TextRow]:
    return (row for values in columns if any((row := row_of(*values))[1:]))


async def put_stored(tx: Transaction, session_id: str) -> None:
    """Add the messages of a session, which are complete."""
    rows: list[Any] = await tx.rows(
        f"SELECT {_COLUMNS} FROM messages WHERE session_id = ?", session_id
    )
    await put_messages(tx, rows)


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
        f"ORDER BY seq DESC LIMIT {_BATCH}",
        int(row[0]) if row else 0,
    )
    await put_messages(tx, rows)
    if len(rows) < _BATCH:
        await tx.run("DELETE FROM settings WHERE key = ?", INDEXED_FROM)
    else:
        sql = "UPDATE settings SET value = ? WHERE key = ?"
        await tx.run(sql, str(rows[-1][0]), INDEXED_FROM)


def rebuild(connection: sqlite3.Connection) -> None:
    """Create the index of an open database anew, with all titles and the newest messages."""
    (sql,) = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'texts'").fetchone()
    connection.execute("DROP TABLE texts")
    connection.execute(sql)
    connection.execute("DELETE FROM settings WHERE key = ?", (INDEXED_FROM,))
    first = connection.execute(
        f"SELECT seq FROM messages ORDER BY seq DESC LIMIT 1 OFFSET {_AT_ONCE}"
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
