"""Migration 21: messages of the flat model become blocks.

1. A row that cannot be read keeps its columns, and its blocks are marked as unreadable: the message
   is damaged, as it was before. It does not stop the migration.
2. A row of which only the order or the marks of its pieces cannot be read becomes blocks in the
   usual order. It keeps its columns, too.
3. What was converted is read again before it is stored: a row whose blocks would be others is
   treated like one that cannot be read.
4. What has arrived of a reply that was cut off becomes one change of each field.
5. Recipes list what was muted by blocks, too.
"""
# ruff: noqa: S608 - only our own column names are put into SQL

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tui_chat.models.blocks import Block, CallBlock
from tui_chat.models.boundary import pack, unpack
from tui_chat.models.flat import (
    FlatMessage,
    FlatMuted,
    FlatSemantics,
    Part,
    block_mutes,
    from_flat,
)
from tui_chat.models.message import Message
from tui_chat.models.text import clean
from tui_chat.store.errors import DECODE_ERRORS
from tui_chat.store.index import renew_rows
from tui_chat.store.rows import ABOUT, EXTRAS, MUTED, message_texts, read_blocks

if TYPE_CHECKING:
    import sqlite3

UNREADABLE = "unreadable"
"""The blocks of a row that could not be read: no JSON, so that reading it is an error."""
_BATCH = 500
_COLUMNS = "message_role, content, parts, tool_calls, semantics, tool_call_id, name, muted"
_SELECT = f"""
    SELECT seq, {_COLUMNS} FROM messages WHERE seq > ? AND (message_role = 'tool'
        OR parts <> '' OR tool_calls <> '' OR semantics <> '' OR tool_call_id <> '' OR muted <> '')
    ORDER BY seq LIMIT ?
"""
_SET = """
    UPDATE messages SET content = ?, blocks = ?, about = ?, extras = ?, name = ?, muted = ?
    WHERE seq = ?
"""
_EMPTY = """
    UPDATE messages SET parts = '', tool_calls = '', semantics = '', tool_call_id = ''
    WHERE seq = ?
"""
_ADD_CHANGE = "INSERT INTO reply_changes (message_id, field, keep, text) VALUES (?, ?, 0, ?)"
FLAT_COLUMNS: dict[str, Any] = {
    "parts": tuple[Part, ...],
    "tool_calls": tuple[CallBlock, ...],
    "semantics": FlatSemantics,
}
"""The columns of the flat model, and the types of their JSON."""
_JSON = {**FLAT_COLUMNS, "muted": FlatMuted}
_NAMES = ("role", "content", *FLAT_COLUMNS, "tool_call_id", "name", "muted")


def convert(connection: sqlite3.Connection) -> None:
    """Convert the rows of an open database, which has the new columns."""
    connection.text_factory = _text
    last, damaged = 0, list[int]()
    while rows := connection.execute(_SELECT, (last, _BATCH)).fetchall():
        for seq, *values in rows:
            columns = dict(zip(_NAMES, values, strict=True))
            if not convert_row(connection, seq, columns) and isinstance(columns["content"], str):
                damaged.append(seq)
        last = rows[-1][0]
    renew_rows(connection, damaged)  # it had what could be read of them
    _convert_journal(connection)
    _convert_recipes(connection)
    connection.text_factory = str


def convert_damaged(connection: sqlite3.Connection) -> int:
    """Convert the rows of an open database that could not be read, without the columns that cannot;
    return their number.
    """
    sql = f"SELECT seq, {_COLUMNS} FROM messages WHERE blocks = ?"
    done = 0
    for seq, *values in connection.execute(sql, (UNREADABLE,)).fetchall():
        columns = dict(zip(_NAMES, values, strict=True))
        for name, kind in _JSON.items():
            try:
                if columns[name]:
                    unpack(kind, columns[name])
            except DECODE_ERRORS:
                columns[name] = ""
        done += convert_row(connection, seq, columns)
    return done


def _text(data: bytes) -> str | bytes:
    """Return a text of the file, or its bytes where it is damaged."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def convert_row(connection: sqlite3.Connection, seq: int, columns: Mapping[str, Any]) -> bool:
    """Convert a row; return False if it cannot be read."""
    try:
        texts, is_whole = _texts(columns)
    except DECODE_ERRORS:
        sql = "UPDATE messages SET blocks = ? WHERE seq = ?"
        connection.execute(sql, (UNREADABLE, seq))
        return False
    connection.execute(_SET, (*texts, seq))
    if is_whole:
        connection.execute(_EMPTY, (seq,))
    return True


def _texts(columns: Mapping[str, Any]) -> tuple[tuple[str, ...], bool]:
    """Return the new columns `content`, `blocks`, `about`, `extras`, `name` and `muted` of a row,
    and True if they have all of it. Raises an error of `DECODE_ERRORS`.
    """
    old = _flat_message(columns)
    try:
        return _checked_texts(from_flat(old), old.content), True
    except DECODE_ERRORS:
        plain = replace(old, semantics=replace(old.semantics, layout=None, wire=None))
        return _checked_texts(from_flat(plain), old.content), False


def _flat_message(columns: Mapping[str, Any]) -> FlatMessage:
    """Return the message of the old columns of a row. Raises an error of `DECODE_ERRORS`."""
    values: dict[str, Any] = {"role": "assistant", **columns}
    if not {str}.issuperset(map(type, values.values())):
        raise TypeError("a text in it is not text")
    for name, kind in _JSON.items():
        if text := values.pop(name, ""):
            values[name] = unpack(kind, text)
    return FlatMessage(**values)


def _checked_texts(message: Message, text: str) -> tuple[str, ...]:
    """Return the columns of a message. Raises ValueError if they would be read as another one, or
    its text became another.
    """
    texts = message_texts(message)
    cleaned = content, blocks, about, extras = tuple(map(clean, texts))
    again = replace(
        message,
        blocks=read_blocks(content, blocks),
        about=ABOUT.read(about),
        extras=EXTRAS.read(extras),
    )
    # A lone surrogate is replaced, as in everything that is stored.
    if message.content != text or (cleaned == texts and again != message):
        raise ValueError("it would be read as another one")
    return *cleaned, message.name, MUTED.text(message.muted)


def _convert_journal(connection: sqlite3.Connection) -> None:
    journal: dict[str, dict[str, Any]] = {}
    sql = "SELECT message_id, field, keep, text FROM flat_changes ORDER BY seq"
    for message_id, field, keep, text in map(_readable, connection.execute(sql)):
        fields = journal.setdefault(message_id, {})
        fields[field] = fields.get(field, "")[:keep] + text
    for message_id, fields in journal.items():
        _convert_reply(connection, message_id, fields)
    connection.execute("DROP TABLE flat_changes")


def _readable(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a row with a mark for each byte that is no text."""
    return tuple(v.decode(errors="replace") if isinstance(v, bytes) else v for v in row)


def _convert_reply(
    connection: sqlite3.Connection, message_id: str, fields: Mapping[str, str]
) -> None:
    """Convert what has arrived of a reply; what cannot be converted stays in its old columns."""
    try:
        (content, blocks, about, *_), is_whole = _texts(fields)
    except DECODE_ERRORS:
        content, blocks, about, is_whole = fields.get("content", ""), UNREADABLE, "", False
    for field, text in (("content", content), ("blocks", blocks), ("about", about)):
        if text:
            connection.execute(_ADD_CHANGE, (message_id, field, text))
    if not is_whole:
        connection.execute(
            "UPDATE messages SET parts = ?, tool_calls = ?, semantics = ? WHERE message_id = ?",
            (*(fields.get(name, "") for name in FLAT_COLUMNS), message_id),
        )


def _convert_recipes(connection: sqlite3.Connection) -> None:
    @lru_cache(maxsize=_BATCH)
    def blocks_of(message_id: str) -> tuple[Block, ...]:
        sql = "SELECT content, blocks FROM messages WHERE message_id = ?"
        row = connection.execute(sql, (message_id,)).fetchone()
        return read_blocks(*row) if row is not None else ()

    def mutes(listed: Any) -> Iterator[list[Any]]:
        for message_id, muted in listed:
            if not isinstance(message_id, str):
                raise TypeError("an id in it is not text")
            yield [message_id, block_mutes(muted, blocks_of(message_id))]

    last = 0
    sql = """
        SELECT seq, recipe FROM requests WHERE seq > ? AND instr(recipe, '"muted"')
        ORDER BY seq LIMIT ?
    """
    while rows := connection.execute(sql, (last, _BATCH)).fetchall():
        for seq, text in rows:
            try:
                recipe = json.loads(text)
                changed = clean(pack({**recipe, "muted": list(mutes(recipe["muted"]))}))
            except DECODE_ERRORS:
                continue
            connection.execute("UPDATE requests SET recipe = ? WHERE seq = ?", (changed, seq))
        last = rows[-1][0]
