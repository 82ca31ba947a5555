"""Tokens and costs of all replies and side requests, as stored."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from decimal import Decimal
from typing import Any

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.usage import Usage
from tui_chat.store.database import Database
from tui_chat.store.errors import decoding
from tui_chat.store.rows import cost_of_text

_PAGE = 10_000

_REPLIES = """
    SELECT m.seq, s.fork_of <> '', length(m.content), m.session_id, m.endpoint, m.model, m.status,
        coalesce(m.timestamp, m.created), m.cost, m.priced, m.usage_input, m.usage_output,
        m.usage_cached, m.usage_cache_write, m.usage_reasoning
    FROM messages AS m JOIN sessions AS s ON s.session_id = m.session_id
    WHERE m.seq > ?1 AND (?2 = '' OR m.session_id = ?2) AND m.message_role = 'assistant'
        AND (m.usage_input IS NOT NULL OR m.usage_output IS NOT NULL OR m.priced <> '')
    ORDER BY m.seq LIMIT ?3
"""

_SIDE_REQUESTS = """
    SELECT session_id, endpoint, model, status, created, cost, priced, usage_input, usage_output,
        usage_cached, usage_cache_write, usage_reasoning
    FROM side_requests WHERE (?1 = '' OR session_id = ?1)
        AND (usage_input IS NOT NULL OR usage_output IS NOT NULL OR priced <> '')
    UNION ALL
    SELECT '', endpoint, model, status, created, cost, priced, usage_input, usage_output,
        usage_cached, usage_cache_write, usage_reasoning
    FROM new_chat_requests
    WHERE ?1 = '' AND (usage_input IS NOT NULL OR usage_output IS NOT NULL OR priced <> '')
"""


@dataclass(frozen=True, slots=True)
class ReplyUsage:
    """The tokens and the cost of a reply, or of a side request."""

    session_id: str
    endpoint: str
    model: str
    status: str
    created: float
    """Seconds since the epoch, UTC."""
    usage: Usage
    cost: Decimal | None
    priced: str
    """See `Entry.priced`."""


class UsageStore:
    """Tokens and costs of all replies, those in the trash included: they were paid for."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def requests(self, session_id: str = "") -> AsyncIterator[ReplyUsage]:
        """Yield each reply with tokens or a cost once, oldest first: a fork's copies of a reply
        are left out. Then come the side requests. With an id, only those of one session.
        """
        last = 0
        seen: dict[int, set[tuple[str, bool]]] = {}
        """By what a copy has in common with a reply, the sessions that have it, and whether each is
        a fork. Equal replies of one session, or of two that are no forks, are no copies."""
        while rows := await self._database.rows(_REPLIES, last, session_id, _PAGE):
            last = rows[-1][0]
            for _, is_fork, length, *columns in rows:
                reply = _usage_of(columns)
                same = hash((reply.endpoint, reply.model, reply.created, length, reply.usage))
                sessions = seen.setdefault(same, set())
                is_copy = any(other != reply.session_id and (is_fork or f) for other, f in sessions)
                sessions.add((reply.session_id, bool(is_fork)))
                if not is_copy:
                    yield reply
        for row in await self._database.rows(_SIDE_REQUESTS, session_id):
            yield _usage_of(row)


def _usage_of(row: Sequence[Any]) -> ReplyUsage:
    with decoding("reply"):
        session_id, endpoint, model, status, created, cost, priced, *counts = row
        facts = session_id, endpoint, model, status, created
        return ReplyUsage(*facts, Usage(*counts), cost_of_text(cost), priced)
