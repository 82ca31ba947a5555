"""Rows to values and back: the only place that knows the order of columns."""

from __future__ import annotations

from tui_chat.errors import StoreDamaged
from tui_chat.model.message import Message, ToolCall
from tui_chat.model.reply import NO_USAGE, Usage
from tui_chat.model.role import Role
from tui_chat.model.semantics import NO_MESSAGE_SEMANTICS, MessageSemantics
from tui_chat.model.session import Entry, Session, SessionSummary
from tui_chat.store.database import Row
from tui_chat.store.json_values import pack, unpack

ENTRY = (
    "m.message_id, m.parent_id, m.message_role, m.content, m.tool_calls, m.tool_call_id, m.name, "
    "m.semantics, m.timestamp, m.pinned, m.status, m.error, m.advice, m.model, m.endpoint, "
    "m.usage_input, m.usage_output, m.usage_cached, m.usage_cache_write, m.usage_reasoning, "
    "m.finish, m.seconds"
)
"""The columns of `messages AS m` that `entry_of` reads."""

SESSION = (
    "session_id, title, role_id, model, endpoint, preset, profile, head_id, temperature, "
    "max_tokens, created, updated"
)
"""The columns that `session_of` reads."""

ROLE = "role_id, name, system_prompt, model, temperature, max_tokens, preset, status"
"""The columns that `role_of` reads."""

_NO_USAGE = (None,) * 5
_MOST_TOKENS = 2**53 - 1  # what every JSON reader agrees on; a provider may say anything


def entry_of(row: Row) -> Entry:
    """Read the columns `ENTRY`; others may follow them."""
    message_id, parent_id, message_role, content, tool_calls, tool_call_id, name = row[:7]
    semantics, timestamp, pinned, status, error, advice, model, endpoint = row[7:15]
    usage, finish, seconds = row[15:20], row[20], row[21]
    try:
        message = Message(
            message_role,
            content,
            message_id,
            tool_calls_of(tool_calls),
            tool_call_id,
            name,
            timestamp,
            bool(pinned),
            semantics_of(semantics),
        )
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise StoreDamaged(
            f"The stored message {message_id} cannot be read: {error}.",
            advice="Restore a backup of the database (they lie beside it, *.bak).",
        ) from error
    return Entry(
        message,
        parent_id,
        status,
        error,
        advice,
        model,
        endpoint,
        NO_USAGE if usage == _NO_USAGE else Usage(*usage),
        finish,
        seconds,
    )


def tool_calls_of(text: str) -> tuple[ToolCall, ...]:
    """Read the column `tool_calls`."""
    return unpack(tuple[ToolCall, ...], text) if text else ()


def tool_calls_text(message: Message) -> str:
    """Write the column `tool_calls`."""
    return pack(message.tool_calls) if message.tool_calls else ""


def semantics_of(text: str) -> MessageSemantics:
    """Read the column `semantics`."""
    return unpack(MessageSemantics, text) if text else NO_MESSAGE_SEMANTICS


def semantics_text(message: Message) -> str:
    """Write the column `semantics`."""
    return "" if message.semantics == NO_MESSAGE_SEMANTICS else pack(message.semantics)


def usage_values(usage: Usage) -> tuple[int | None, ...]:
    """Write the five usage columns."""
    counts = (usage.input, usage.output, usage.cached, usage.cache_write, usage.reasoning)
    return tuple(None if count is None else max(0, min(count, _MOST_TOKENS)) for count in counts)


def session_of(row: Row) -> Session:
    """Read the columns `SESSION`."""
    return Session(*row)


def summary_of(row: Row) -> SessionSummary:
    """Read a row of the session list; its query names the columns in the value's order."""
    return SessionSummary(*row)


def role_of(row: Row) -> Role:
    """Read the columns `ROLE`."""
    return Role(*row)
