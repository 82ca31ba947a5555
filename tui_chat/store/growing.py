"""A streaming reply on its way to the disk, piece by piece.

Writing the whole reply at every flush costs the square of its length: for 1 MB arriving over
100 s, four flushes a second, 540 MB reach the disk. Pieces make it 15 MB and a flush eight
times quicker.

1. A reply has three growing fields: its content, its tool calls and its semantics (where
   reasoning grows), the latter two as JSON text.
2. A piece says: the field is now its first `keep` characters, followed by `text`. So growing
   at the end costs what was added, and a change anywhere else is still told exactly.
3. Each piece builds on the one before, so what is in the file must be known exactly: the
   store takes over a new `Written` when its pieces are committed, not earlier or later.
4. When the reply ends, the whole is written to its row and the pieces go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tui_chat.model.message import Message
from tui_chat.model.text import clean
from tui_chat.store.database import Transaction
from tui_chat.store.rows import semantics_text, tool_calls_text

Field = Literal["content", "tool_calls", "semantics"]


@dataclass(frozen=True, slots=True)
class Written:
    """What of a reply is in the file."""

    message: Message
    content: str = ""
    tool_calls: str = ""
    semantics: str = ""


@dataclass(frozen=True, slots=True)
class Piece:
    """A change of one field."""

    field: Field
    keep: int
    """Characters that stay."""
    text: str
    """What follows them."""


def grown(written: Written, message: Message) -> tuple[Written, list[Piece]]:
    """Return what will be in the file once `message` is, and the pieces that are missing."""
    old = written.message
    now = Written(
        message,
        clean(message.content),
        written.tool_calls
        if message.tool_calls == old.tool_calls
        else clean(tool_calls_text(message)),
        written.semantics if message.semantics == old.semantics else clean(semantics_text(message)),
    )
    changes: tuple[tuple[Field, str, str], ...] = (
        ("content", written.content, now.content),
        ("tool_calls", written.tool_calls, now.tool_calls),
        ("semantics", written.semantics, now.semantics),
    )
    return now, [
        Piece(field, keep, after[keep:])
        for field, before, after in changes
        if before != after
        for keep in (_common(before, after),)
    ]


async def write_pieces(tx: Transaction, entry_id: str, pieces: list[Piece]) -> None:
    """Put pieces behind those that are there."""
    for piece in pieces:
        await tx.run(
            "INSERT INTO pieces (message_id, field, keep, text) VALUES (?, ?, ?, ?)",
            *(entry_id, piece.field, piece.keep, piece.text),
        )


async def drop_pieces(tx: Transaction, entry_id: str) -> None:
    """Forget the pieces of a reply that was written whole."""
    await tx.run("DELETE FROM pieces WHERE message_id = ?", entry_id)


async def folded(tx: Transaction, entry_id: str) -> dict[Field, str]:
    """Return the fields of a streaming reply as they are so far."""
    fields: dict[Field, tuple[list[str], int]] = {
        "content": ([], 0),
        "tool_calls": ([], 0),
        "semantics": ([], 0),
    }
    for field, keep, text in await tx.rows(
        "SELECT field, keep, text FROM pieces WHERE message_id = ? ORDER BY seq", entry_id
    ):
        parts, length = fields[field]
        if keep < length:
            parts[:] = ["".join(parts)[:keep]]
        parts.append(text)
        fields[field] = (parts, keep + len(text))
    return {field: "".join(parts) for field, (parts, _) in fields.items()}


def _common(before: str, after: str) -> int:
    """Return how many characters two texts share at their beginning."""
    if after.startswith(before):
        return len(before)
    low, high = 0, min(len(before), len(after))
    while low < high:
        middle = (low + high + 1) // 2
        if before[low:middle] == after[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
