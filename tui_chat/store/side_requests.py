"""The requests that are no part of a conversation; see `models.side_request`."""

from __future__ import annotations

from collections.abc import Callable

from tui_chat.models.side_request import SideRequest
from tui_chat.models.text import clean
from tui_chat.models.usage import Usage
from tui_chat.store.database import Database, Row, Transaction
from tui_chat.store.errors import decoding
from tui_chat.store.rows import cost_of_text, cost_text, usage_values

BODIES_KEPT = 50
"""The number of exact bodies that are kept; that of a summary holds a conversation."""

_PRUNE = """
    UPDATE side_requests SET body = NULL WHERE body IS NOT NULL AND seq <= (
        SELECT seq FROM side_requests WHERE body IS NOT NULL ORDER BY seq DESC LIMIT 1 OFFSET ?
    )
"""


class SideRequestStore:
    """The side requests in the database."""

    def __init__(self, database: Database, now: Callable[[], float]) -> None:
        self._database = database
        self._now = now

    async def add(self, request: SideRequest) -> None:
        """Store a request that has ended, and drop old bodies; of one without a session only what
        it cost. Raises StoreError, also if its session is gone.
        """
        now = self._now()

        async def work(tx: Transaction) -> None:
            if not request.session_id:
                await tx.run(
                    "INSERT INTO new_chat_requests (kind, endpoint, model, status, created, "
                    "usage_input, usage_output, usage_cached, usage_cache_write, usage_reasoning, "
                    "cost, priced) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    *(request.kind, request.endpoint, request.model, request.status, now),
                    *usage_values(request.usage),
                    *(cost_text(request.cost), request.priced),
                )
                return
            await tx.run(
                "INSERT INTO side_requests (session_id, kind, endpoint, model, status, created, "
                "usage_input, usage_output, usage_cached, usage_cache_write, usage_reasoning, "
                "cost, priced, error, reply, body) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                *(request.session_id, request.kind, request.endpoint, request.model),
                *(request.status, now, *usage_values(request.usage), cost_text(request.cost)),
                *(request.priced, clean(request.error), clean(request.reply), request.body),
            )
            await tx.run(_PRUNE, BODIES_KEPT)

        await self._database.write(work)

    async def list(self, session_id: str) -> tuple[SideRequest, ...]:
        """Return the side requests of a session, oldest first."""
        rows = await self._database.read(
            lambda tx: tx.rows(
                "SELECT session_id, kind, endpoint, model, status, body, reply, usage_input, "
                "usage_output, usage_cached, usage_cache_write, usage_reasoning, cost, priced, "
                "error, created FROM side_requests WHERE session_id = ? ORDER BY seq",
                session_id,
            )
        )
        return tuple(map(_side_request_of, rows))


def _side_request_of(row: Row) -> SideRequest:
    with decoding("side request"):
        session_id, kind, endpoint, model, status, body, reply = row[:7]
        cost, priced, error, created = row[12:]
        return SideRequest(
            *(session_id, kind, endpoint, model, status, body or b"", reply),
            usage=Usage(*row[7:12]),
            cost=cost_of_text(cost),
            priced=priced,
            error=error,
            created=created,
        )
