"""Sending a request without a workspace: the exchange is stored, and its reply received."""

from __future__ import annotations

from typing import Any

from tui_chat.compose import Composed
from tui_chat.models.message import Message
from tui_chat.models.session import Beginning, Entry
from tui_chat.send import new_exchange, send


async def begin_and_send(
    composed: Composed,
    *,
    session_id: str,
    parent_id: str | None,
    user: Message | None,
    store: Any,
    **options: Any,
) -> Entry:
    """Store an exchange, send its request and return the reply as it ended."""
    exchange = new_exchange(composed, parent_id, user, {})

    async def reply() -> Entry:
        begun = await store.replies.begin_all(Beginning(session_id, (exchange,)))
        return begun.exchanges[0].reply

    return await send(composed, reply(), store=store, **options)
