"""The search index: adding and removing rows.

1. A message is added when it is complete, not while it streams. Its row in the index has its `seq`.
2. The index contains no text, so removing a row needs exactly the text that was added. Texts do not
   change after they were added, and all removals go through here.
3. Rows from before the index are queued in `unindexed_messages`, `unindexed_sessions`,
   `unindexed_asides` and `unindexed_attachments`, and are added in batches before the first search.
4. Secondary text (reasoning, tool calls, refusals) and the names and texts of attachments have
   indexes of their own, so that messages without them cost nothing there.

Both are extracted from JSON columns. Words are removed from the index as they were added, so the
same columns must always give the same text. Therefore it depends on nothing else, and text that is
not JSON gives no text instead of an error.
"""

from __future__ import annotations

import asyncio
import json
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.search import HitPlace
from tui_chat.models.text import clean
from tui_chat.store.database import Row, Transaction

_Object = dict[str, Any]
SecondaryTexts = tuple[str, str, str]
"""Reasoning, calls and refusal, each possibly empty."""

SECONDARY_PLACES: tuple[HitPlace, ...] = ("reasoning", "call", "refusal")
"""The place of a hit in each of them."""

_SEPARATOR = "\x1e"
"""Separates texts. No text contains it: in JSON it is an escape."""

_MAX_BRACKETS = 500
"""Arguments with more brackets are not parsed: the possible depth depends on the caller's stack."""
# ruff: noqa: S608 - only our own constants are put into SQL


_INTO = "INSERT INTO {} (rowid, words)"
_PUT = f"{_INTO} VALUES (?, ?)"
_TAKE = "INSERT INTO {0} ({0}, rowid, words) VALUES ('delete', ?, ?)"

_PUT_SECONDARY = "INSERT INTO aside_index (rowid, reasoning, calls, refusals) VALUES (?, ?, ?, ?)"
_TAKE_SECONDARY = """
    INSERT INTO aside_index (aside_index, rowid, reasoning, calls, refusals)
    VALUES ('delete', ?, ?, ?, ?)
"""

_BATCH = 2000
"""Rows that are added in one transaction, in some tenths of a second."""

_BATCH_OF_FILES = 100
"""The same for messages with attachments, which may have megabytes."""

MAX_ATTACHMENT = 1_000_000
"""Characters of an attachment that are indexed: a thick book. They take a tenth of a second, for
which the message waits before it is sent."""


def secondary_texts_of(tool_calls: str, semantics: str) -> SecondaryTexts:
    """Return the secondary texts in the two columns."""
    reasoning = refusal = ""
    for value in _objects([_json(semantics)]):
        reasoning = "\n".join(_text(block, "text") for block in _objects(value.get("reasoning")))
        refusal = _text(value, "refusal")
    calls = (
        f"{_text(call, 'name')} {_without_json_syntax(_text(call, 'arguments'))}".strip()
        for call in _objects(_json(tool_calls))
    )
    return _storable(reasoning), _storable("\n".join(calls)), _storable(refusal)


def attachment_text_of(parts: str) -> str:
    """Return the names and texts of the attachments in the column, on lines of their own."""
    texts: list[str] = []
    for part in _objects(_json(parts)):
        texts += (_text(part, "name"), _document(part)[:MAX_ATTACHMENT])
    return _storable("\n".join(filter(None, texts)))


def _document(part: _Object) -> str:
    """Return the text of a file; empty if it is not one of text."""
    text, kind, mime = (_text(part, key) for key in ("text", "kind", "mime"))
    if text or kind != "file" or not (mime.startswith("text/") or mime == "application/json"):
        return text
    try:
        return b64decode(_text(part, "data"), validate=True).decode()
    except ValueError:
        return ""


def _storable(text: str) -> str:
    """Return a text without lone surrogates and separators, both of which JSON can spell."""
    return clean(text).replace(_SEPARATOR, " ")


def _json(text: str) -> Any:
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


def _without_json_syntax(arguments: str) -> str:
    """Return the keys and values of arguments, without the punctuation of JSON."""
    if arguments.count("{") + arguments.count("[") > _MAX_BRACKETS:
        return arguments
    try:
        value: Any = json.loads(arguments)
    except ValueError:
        return arguments  # truncated, or not JSON
    words: list[str] = []
    waiting: list[Any] = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            for key, inner_value in reversed(cast("_Object", item).items()):
                waiting += (inner_value, f"{key}:")
        elif isinstance(item, list):
            waiting += reversed(cast("list[Any]", item))
        elif isinstance(item, str):
            words.append(item)
        else:  # a general encoder takes ten times as long, and keys wait for this thread
            words.append(str(item) if type(item) is int else json.dumps(item))
    return " ".join(words)


@dataclass(frozen=True, slots=True)
class SearchField:
    """One of the fields of a message that are searched: text, secondary text, attachments."""

    index: str
    """The index table."""
    columns: str
    """SQL for it in a message `m`; of its text only the beginning, which is ranked."""
    read: Callable[[str], str]
    """Converts what was read to text."""


def _identity(text: str) -> str:
    return text


def _decode_secondary(columns: str) -> str:
    return _SEPARATOR.join(secondary_texts_of(*columns.split(_SEPARATOR, 1)))


def split_texts(text: str) -> list[str]:
    """Return the texts of `SECONDARY_PLACES` from their joined form."""
    return text.split(_SEPARATOR)


RANKED_LENGTH = 4000
"""Characters of a text that are read for ranking."""

TEXT = SearchField("message_index", f"substr(m.content, 1, {RANKED_LENGTH})", _identity)
SECONDARY = SearchField(
    "aside_index",
    f"m.tool_calls || char({ord(_SEPARATOR)}) || m.semantics",
    _decode_secondary,
)
ATTACHMENTS = SearchField("attachment_index", "m.parts", attachment_text_of)


def _words_of(text: str) -> str:
    from tui_chat.store.search.words import index_words  # its patterns take 15 ms of the start

    return index_words(text)


async def add_messages(tx: Transaction, texts: Iterable[tuple[int, str]]) -> None:
    """Add the texts of complete messages, each with its `seq`."""
    rows = ((seq, _words_of(text)) for seq, text in texts if text)
    await tx.insert(_INTO.format("message_index"), rows)


_MAX_SEGMENTS = 16
"""Segments of the index that are merged into one. With SQLite's smaller default a large import
takes a fifth longer; with more, a search has to read too many."""


async def allow_more_segments(tx: Transaction) -> None:
    """Set the number of segments from which the index merges them."""
    if await tx.row("SELECT v FROM message_index_config WHERE k = 'automerge'") is None:
        await tx.run(
            "INSERT INTO message_index (message_index, rank) VALUES ('automerge', ?)", _MAX_SEGMENTS
        )


async def add_secondary_texts(tx: Transaction, columns: Iterable[tuple[int, str, str]]) -> None:
    """Add the secondary texts of complete messages: `seq`, and the columns with tool calls and
    semantics, as they are stored or as they were given.
    """
    await tx.run_many(_PUT_SECONDARY, list(_secondary_words(columns)))


def _secondary_words(columns: Iterable[tuple[int, str, str]]) -> Iterator[tuple[object, ...]]:
    for seq, calls, semantics in columns:
        texts = secondary_texts_of(clean(calls), clean(semantics)) if calls or semantics else ()
        if any(texts):
            yield seq, *map(_words_of, texts)


_LONG = 100_000
"""Characters from which words are extracted on another thread: a second for ten million."""


async def add_attachments(tx: Transaction, where: str, *values: object) -> None:
    """Add the attachments of complete messages that fulfil a condition on `messages`."""
    await _write_attachments(tx, _PUT, f"FROM messages AS m WHERE ({where})", *values)


async def _write_attachments(tx: Transaction, statement: str, rest: str, *values: object) -> None:
    """Run a statement of the index for messages `m`; `rest` is the SQL behind their columns."""
    rows = await tx.map_rows(_attachment_words, f"SELECT m.seq, m.parts {rest}", *values)
    await tx.run_many(statement.format("attachment_index"), [row for row in rows if row[1]])


def _attachment_words(_: object, row: Row) -> Row:
    """Return the row of the index of `seq` and parts of a message."""
    seq, parts = row
    return seq, _words_of(attachment_text_of(parts))


async def add_new_message(
    tx: Transaction, seq: int, text: str, parts: str, calls: str, semantics: str
) -> None:
    """Add one message that was just written, with its columns as they were given."""
    if text:
        text = clean(text)
        words = _words_of(text) if len(text) <= _LONG else await asyncio.to_thread(_words_of, text)
        await tx.run(_PUT.format("message_index"), seq, words)
    if calls or semantics:
        await add_secondary_texts(tx, [(seq, calls, semantics)])
    if parts:
        await add_attachments(tx, "m.seq = ?", seq)


async def add_stored(tx: Transaction, where: str, *values: object) -> None:
    """Add the messages that fulfil a condition on `messages`; they are complete now."""
    rows = await tx.rows(
        f"SELECT seq, content, tool_calls, semantics FROM messages WHERE {where}", *values
    )
    await add_messages(tx, ((seq, text) for seq, text, *_ in rows))
    await add_secondary_texts(tx, ((seq, calls, semantics) for seq, _, calls, semantics in rows))
    await add_attachments(tx, f"({where}) AND m.parts <> ''", *values)


async def remove_messages(tx: Transaction, where: str, *values: object) -> None:
    """Remove the messages that fulfil a condition on `messages AS m`, before they are deleted."""
    rows = await tx.rows(
        f"SELECT m.seq, m.content FROM messages AS m WHERE ({where}) AND m.status <> 'streaming' "
        "AND m.seq NOT IN (SELECT message FROM unindexed_messages)",
        *values,
    )
    await tx.run_many(
        _TAKE.format("message_index"), ((seq, _words_of(text)) for seq, text in rows if text)
    )
    secondary = await tx.rows(
        f"SELECT m.seq, m.tool_calls, m.semantics FROM messages AS m WHERE ({where}) "
        "AND m.status <> 'streaming' AND (m.tool_calls <> '' OR m.semantics <> '') "
        "AND m.seq NOT IN (SELECT message FROM unindexed_asides)",
        *values,
    )
    await tx.run_many(_TAKE_SECONDARY, list(_secondary_words(secondary)))
    await _write_attachments(
        tx,
        _TAKE,
        f"FROM messages AS m WHERE ({where}) AND m.status <> 'streaming' AND m.parts <> '' "
        "AND m.seq NOT IN (SELECT message FROM unindexed_attachments)",
        *values,
    )


async def add_titles(tx: Transaction, session_ids: list[str]) -> None:
    """Add the titles of sessions."""
    await _write_titles(tx, _PUT, session_ids)


async def remove_title(tx: Transaction, session_id: str) -> None:
    """Remove the title of a session, before it changes or is deleted."""
    await _write_titles(tx, _TAKE, [session_id])


async def _write_titles(tx: Transaction, statement: str, session_ids: list[str]) -> None:
    rows = await tx.rows(
        "SELECT seq, title FROM json_each(?) JOIN sessions ON session_id = value "
        "WHERE seq NOT IN (SELECT session FROM unindexed_sessions)",
        json.dumps(session_ids),
    )
    await tx.run_many(
        statement.format("title_index"), [(seq, _words_of(title)) for seq, title in rows if title]
    )


async def is_complete(tx: Transaction) -> bool:
    """Return True if the queues are empty."""
    row = await tx.row(
        "SELECT 1 WHERE EXISTS (SELECT 1 FROM unindexed_messages) "
        "OR EXISTS (SELECT 1 FROM unindexed_sessions) "
        "OR EXISTS (SELECT 1 FROM unindexed_asides) "
        "OR EXISTS (SELECT 1 FROM unindexed_attachments)"
    )
    return row is None


async def index_pending(tx: Transaction) -> None:
    """Add a batch of the queued rows, newest first."""
    sessions = await tx.rows(
        "SELECT s.seq, s.title FROM unindexed_sessions AS u JOIN sessions AS s "
        f"ON s.seq = u.session ORDER BY s.seq DESC LIMIT {_BATCH}"
    )
    await tx.run_many(
        _PUT.format("title_index"), [(seq, _words_of(title)) for seq, title in sessions if title]
    )
    await tx.run_many("DELETE FROM unindexed_sessions WHERE session = ?", [s[:1] for s in sessions])
    messages = await tx.rows(
        "SELECT m.seq, m.content FROM unindexed_messages AS u JOIN messages AS m "
        f"ON m.seq = u.message ORDER BY m.seq DESC LIMIT {_BATCH}"
    )
    await add_messages(tx, messages)
    await tx.run_many("DELETE FROM unindexed_messages WHERE message = ?", [m[:1] for m in messages])
    secondary = await tx.rows(
        "SELECT m.seq, m.tool_calls, m.semantics FROM unindexed_asides AS u JOIN messages AS m "
        f"ON m.seq = u.message ORDER BY m.seq DESC LIMIT {_BATCH}"
    )
    await add_secondary_texts(tx, secondary)
    await tx.run_many("DELETE FROM unindexed_asides WHERE message = ?", [m[:1] for m in secondary])
    newest = (
        f"SELECT message FROM unindexed_attachments ORDER BY message DESC LIMIT {_BATCH_OF_FILES}"
    )
    await add_attachments(tx, f"m.seq IN ({newest})")
    await tx.run(f"DELETE FROM unindexed_attachments WHERE message IN ({newest})")
