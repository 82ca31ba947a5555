"""The requests that produced replies, and the responses as they were received.

Recipes and hashes are kept for ever; they are small. A body holds the whole conversation, so
the bodies of a long session would soon outweigh everything else: only the latest are kept.
"""
# ruff: noqa: S608 - only our own column names and constants are put into SQL

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tui_chat.models.endpoint import Protocol
from tui_chat.models.json_values import pack
from tui_chat.models.request import RawResponse, RequestRecord, StoredRequest
from tui_chat.store.database import Database, Row, Transaction
from tui_chat.store.errors import decoding

BODIES_KEPT = 200
"""Exact bodies that are kept: some days of ordinary use, and at the 50 to 300 kB of an
ordinary body some tens of megabytes. Older ones are composed again from their recipe."""

BODY_BYTES_KEPT = 64 * 1024 * 1024
"""The most bytes of bodies that are kept, for sessions whose bodies are far from ordinary. The
newest body is kept whatever its size."""

RESPONSES_KEPT = 200
"""Responses that are kept: as many as request bodies."""

RESPONSE_BYTES_KEPT = 32 * 1024 * 1024
"""The most bytes of responses that are kept. The newest is kept whatever its size."""

_COLUMNS = "r.endpoint, protocol, method, url, sha256, r.created, recipe, body"
_COLUMNS_WITHOUT_BODY = "r.endpoint, protocol, method, url, sha256, r.created, recipe, NULL"

_PRUNE_BODIES = """
    UPDATE requests SET body = NULL WHERE seq IN (
        SELECT seq FROM (
            SELECT
                seq,
                row_number() OVER newest AS number,
                sum(length(body)) OVER newest AS weight
            FROM requests WHERE body IS NOT NULL
            WINDOW newest AS (PARTITION BY copied ORDER BY seq DESC)
        )
        WHERE number > ? OR (weight > ? AND number > 1)
    )
"""

_PRUNE_RESPONSES = """
    DELETE FROM received WHERE seq IN (
        SELECT seq FROM (
            SELECT
                seq,
                row_number() OVER newest AS number,
                sum(length(body)) OVER newest AS weight
            FROM received
            WINDOW newest AS (ORDER BY seq DESC)
        )
        WHERE number > ? OR (weight > ? AND number > 1)
    )
"""


class RequestStore:
    """The requests in the database, each found by the id of the reply that it produced."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, entry_id: str) -> RequestRecord | None:
        """Return the request that produced a reply; None if there was none."""
        row = await self._database.read(
            lambda tx: tx.row(
                f"SELECT {_COLUMNS} FROM requests AS r WHERE message_id = ? "
                "ORDER BY seq DESC LIMIT 1",
                entry_id,
            )
        )
        return None if row is None else _record_of(row)

    async def last(
        self, endpoint: str | None = None, *, before: str | None = None
    ) -> StoredRequest | None:
        """Return the newest request of one endpoint, or of all; None if there is none.

        With the id of a reply as `before`, only requests before that reply's count.
        """
        row = await self._database.read(
            lambda tx: tx.row(
                f"SELECT message_id, {_COLUMNS} FROM requests AS r WHERE copied = 0 "
                "AND (?1 IS NULL OR endpoint = ?1) AND (?2 IS NULL OR seq < "
                "(SELECT max(seq) FROM requests WHERE message_id = ?2)) ORDER BY seq DESC LIMIT 1",
                *(endpoint, before),
            )
        )
        return None if row is None else _sent_of(row)

    async def list(self, session_id: str) -> tuple[StoredRequest, ...]:
        """Return the requests of a session, oldest first, without their bodies."""
        return await self._database.read(lambda tx: find_requests(tx, session_id))

    async def get_response(self, entry_id: str) -> RawResponse | None:
        """Return the response of a reply as it was received; None if it is not kept."""
        row = await self._database.read(
            lambda tx: tx.row(
                "SELECT status, media, body, size, times FROM received WHERE message_id = ?",
                entry_id,
            )
        )
        if row is None:
            return None
        status, media, body, size, times = row
        with decoding("response"):
            return RawResponse(status, media, body, size, times_of(times))


async def insert_request(tx: Transaction, entry_id: str, record: RequestRecord, now: float) -> None:
    """Store the request that is to produce a reply, and drop old bodies."""
    await tx.run(
        "INSERT INTO requests (message_id, endpoint, protocol, method, url, sha256, created, "
        "recipe, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        *(entry_id, record.endpoint, record.protocol.value, record.method, record.url),
        *(record.sha256, now, pack(record.recipe), record.body),
    )
    await tx.run(_PRUNE_BODIES, BODIES_KEPT, BODY_BYTES_KEPT)


async def insert_imported_requests(tx: Transaction, sent: Iterable[StoredRequest]) -> None:
    """Store requests that come from another database; none of them is the last one sent here.

    Their bodies are counted separately, so that they displace none of those that were sent here.
    """
    await tx.run_many(
        "INSERT INTO requests (message_id, endpoint, protocol, method, url, sha256, created, "
        "recipe, body, copied) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 1)",
        [
            (
                *(each.message_id, each.request.endpoint, each.request.protocol.value),
                *(each.request.method, each.request.url, each.request.sha256),
                *(each.request.created, pack(each.request.recipe), each.request.body),
            )
            for each in sent
        ],
    )
    await tx.run(_PRUNE_BODIES, BODIES_KEPT, BODY_BYTES_KEPT)


async def find_requests(
    tx: Transaction, session_id: str, *, bodies: bool = False
) -> tuple[StoredRequest, ...]:
    """Return the requests of a session, oldest first; with `bodies`, those that are kept."""
    rows = await tx.rows(
        f"SELECT r.message_id, {_COLUMNS if bodies else _COLUMNS_WITHOUT_BODY} "
        "FROM messages AS m JOIN requests AS r USING (message_id) WHERE m.session_id = ? "
        "AND m.seq NOT IN (SELECT message FROM hidden_messages) ORDER BY r.seq",
        session_id,
    )
    return tuple(map(_sent_of, rows))


async def insert_response(tx: Transaction, entry_id: str, received: RawResponse) -> None:
    """Store the response of a reply, and drop old ones."""
    await tx.run(
        "INSERT OR REPLACE INTO received (message_id, status, media, size, times, body) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        *(entry_id, received.status, received.media, received.size),
        *(json.dumps(received.times, separators=(",", ":")), received.body),
    )
    await tx.run(_PRUNE_RESPONSES, RESPONSES_KEPT, RESPONSE_BYTES_KEPT)


def _sent_of(row: Row) -> StoredRequest:
    return StoredRequest(row[0], _record_of(row[1:]))


def _record_of(row: Row) -> RequestRecord:
    endpoint, protocol, method, url, sha256, created, recipe, body = row
    with decoding("request"):
        return RequestRecord(
            endpoint, Protocol(protocol), method, url, sha256, recipe_of(recipe), body, created
        )


def recipe_of(text: str) -> dict[str, Any]:
    """Read the column with a recipe. Raises ValueError or TypeError if it holds none."""
    return dict(json.loads(text))


def times_of(text: str) -> tuple[tuple[int, int], ...]:
    """Read the column with the times of a response. Raises ValueError or TypeError if it holds
    none.
    """
    return tuple((at, size) for at, size in json.loads(text))
