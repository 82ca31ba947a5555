"""Rows to values and back: the only place that knows the order of columns."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from sys import intern
from typing import Any, Literal, cast

from tui_chat.models.json_values import pack, unpack
from tui_chat.models.message import Message, Part, ToolCall
from tui_chat.models.role import Role
from tui_chat.models.semantics import NO_MESSAGE_SEMANTICS, MessageSemantics
from tui_chat.models.session import Entry, Session
from tui_chat.models.usage import NO_USAGE, Usage
from tui_chat.store.database import Row
from tui_chat.store.errors import DECODE_ERRORS, decoding, undecodable

ENTRY_NAMES = (
    *("message_id", "parent_id", "message_role", "content", "parts", "tool_calls", "semantics"),
    *("tool_call_id", "name", "timestamp", "pinned", "status", "error", "advice"),
    *("model", "endpoint"),
    *("usage_input", "usage_output", "usage_cached", "usage_cache_write", "usage_reasoning"),
    *("finish", "seconds", "first"),
)
"""The columns of `messages` that `entry_of` reads."""

ENTRY = ", ".join(f"m.{name}" for name in ENTRY_NAMES)
"""The same for a query on `messages AS m`."""

_SESSION = tuple(field.name for field in fields(Session))

SESSION = ", ".join(_SESSION)
"""The columns that `session_of` reads; they have the names of the fields."""

ROLE = ", ".join(field.name for field in fields(Role))
"""The columns that `role_of` reads; they have the names of the fields."""

JsonField = Literal["parts", "tool_calls", "semantics"]
"""Fields of a message that are kept as JSON."""

_KINDS: dict[JsonField, Any] = {
    "parts": tuple[Part, ...],
    "tool_calls": tuple[ToolCall, ...],
    "semantics": MessageSemantics,
}
_shared: Callable[[Any], Any] = intern
"""Of what thousands of messages have alike there is one object."""
_SILENT = Message("assistant")
_NO_USAGE = (None,) * 5
_MOST_TOKENS = 2**53 - 1  # what every JSON reader agrees on; a provider may say anything


def entry_of(row: Row, place: tuple[int, int] = (0, 1)) -> Entry:
    """Read the columns `ENTRY_NAMES`; others may follow them.

    `place` says which of how many siblings it is, for one that is not alone.
    """
    message_id, parent_id, message_role, content, parts, tool_calls, semantics = row[:7]
    tool_call_id, name, timestamp, pinned, status, error, advice, model, endpoint = row[7:16]
    usage, finish, seconds, first = row[16:21], *row[21:24]
    try:
        refuse_bytes(row)
        status, model, endpoint, finish = map(_shared, (status, model, endpoint, finish))
        message = Message(
            role=_shared(message_role),
            content=content,
            id=message_id,
            tool_calls=json_value("tool_calls", tool_calls) if tool_calls else (),
            tool_call_id=tool_call_id,
            name=name,
            timestamp=timestamp,
            pinned=bool(pinned),
            parts=json_value("parts", parts) if parts else (),
            semantics=json_value("semantics", semantics) if semantics else NO_MESSAGE_SEMANTICS,
        )
    except DECODE_ERRORS as fault:
        raise undecodable(f"message {message_id}", fault) from fault
    return Entry(
        message=message,
        parent_id=parent_id,
        status=status,
        error=error,
        advice=advice,
        model=model,
        endpoint=endpoint,
        usage=NO_USAGE if usage == _NO_USAGE else Usage(*usage),
        finish=finish,
        seconds=seconds,
        first=first,
        sibling=place[0],
        siblings=place[1],
    )


def refuse_bytes(row: Row) -> None:
    """Refuse a row with a text that has become bytes: SQLite tells the two apart by one bit.
    TypeError.
    """
    if bytes in map(type, row):
        raise TypeError("a text in it is none")


def message_of(texts: Mapping[Literal["content"] | JsonField, str]) -> Message:
    """Read the columns of a reply that grow while it arrives; one that is left out is empty."""
    columns = {"message_role": "assistant", "pinned": 0, "timestamp": None, **texts}
    return entry_of(tuple(columns.get(name, "") for name in ENTRY_NAMES)).message


def json_value(field: JsonField, text: str) -> Any:
    """Read one of the JSON columns that says something. ValueError, TypeError, LookupError and
    AttributeError where it cannot be read.
    """
    return unpack(_KINDS[field], text)


def json_text(message: Message, field: JsonField) -> str:
    """Write one of the JSON columns; empty where the message says nothing there."""
    value, silent = getattr(message, field), getattr(_SILENT, field)
    return "" if value is silent or value == silent else pack(value)


def json_texts(message: Message) -> tuple[str, str, str]:
    """Write the three JSON columns, in the order in which statements name them."""
    if message.semantics is NO_MESSAGE_SEMANTICS and not (message.parts or message.tool_calls):
        return "", "", ""
    return (
        json_text(message, "parts"),
        json_text(message, "tool_calls"),
        json_text(message, "semantics"),
    )


def usage_values(usage: Usage) -> tuple[int | None, ...]:
    """Write the five usage columns."""
    if usage is NO_USAGE:
        return _NO_USAGE
    counts = (usage.input, usage.output, usage.cached, usage.cache_write, usage.reasoning)
    return tuple(None if count is None else max(0, min(count, _MOST_TOKENS)) for count in counts)


def session_of(row: Row) -> Session:
    """Read the columns `SESSION`."""
    with decoding("session"):
        refuse_bytes(row)
        values = [
            _READ[name](value) if name in _READ else value
            for name, value in zip(_SESSION, row, strict=True)
        ]
    return Session(*values)


def names_of(text: str) -> tuple[str, ...]:
    """Read a column that holds a list of names. ValueError and TypeError where it does not."""
    names: Any = json.loads(text) if text else []
    if not isinstance(names, list) or not {str}.issuperset(map(type, cast("list[object]", names))):
        raise ValueError("it is no list of names")
    return tuple(cast("list[str]", names))


def names_text(names: Iterable[str]) -> str:
    """Write a column that holds a list of names; each name once."""
    distinct = list(dict.fromkeys(names))
    return json.dumps(distinct, ensure_ascii=False) if distinct else ""


_READ: dict[str, Callable[[Any], Any]] = {
    "pinned": bool,
    "archived": bool,
    "tags": names_of,
    "lorebooks": names_of,
}


def role_of(row: Row) -> Role:
    """Read the columns `ROLE`."""
    return Role(*row)
