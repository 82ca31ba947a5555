"""The requests that produced replies, the responses as they were received, and revisions.

Recipes and hashes are kept for ever; they are small. A body holds the whole conversation, so
the bodies of a long session would soon outweigh everything else: only the latest are kept.
A revision is the JSON of a preset, role, profile or lorebook that recipes name by its SHA-256.
Requests that are no part of a conversation are kept apart; see `models.session.SideRequest`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from tui_chat.models.boundary import pack
from tui_chat.models.endpoint import Protocol
from tui_chat.models.session import (
    CallSummary,
    RawResponse,
    RequestRecord,
    SideRequest,
    StoredRequest,
)
from tui_chat.models.text import clean
from tui_chat.models.usage import Usage
from tui_chat.store.database import Database, Row, Transaction, writes
from tui_chat.store.errors import decoding
from tui_chat.store.rows import CACHE_LOSS, cost_of_text, cost_text, usage_values

# ruff: noqa: S608 - only our own column names and constants are put into SQL


BODIES_KEPT = 200
"""The number of exact bodies that are kept: a few days of normal use, and tens of megabytes at
the normal 50 to 300 kB. Older requests are composed again from their recipe."""

BODY_BYTES_KEPT = 64 * 1024 * 1024
"""The maximum total size of kept bodies in bytes. The newest body is kept whatever its size."""

RESPONSES_KEPT = 200
"""The number of responses that are kept."""

RESPONSE_BYTES_KEPT = 32 * 1024 * 1024
"""The maximum total size of kept responses in bytes. The newest is kept whatever its size."""

_COLUMNS = "r.endpoint, protocol, method, url, sha256, r.created, recipe, r.body"

_BEYOND = """(
    SELECT seq FROM (
        SELECT seq, row_number() OVER newest AS number, sum(length(body)) OVER newest AS weight
        FROM {} WHERE body IS NOT NULL WINDOW newest AS ({} ORDER BY seq DESC)
    )
    WHERE number > ? OR (weight > ? AND number > 1)
)"""
"""Selects the rows of a table that are beyond a number or a total size of bodies, if that is not
the newest one."""
_PRUNE_BODIES = (
    "UPDATE requests SET body = NULL "
    f"WHERE seq IN {_BEYOND.format('requests', 'PARTITION BY copied')}"
)
_PRUNE_RESPONSES = f"DELETE FROM received WHERE seq IN {_BEYOND.format('received', '')}"

_USAGE = "usage_input, usage_output, usage_cached, usage_cache_write, usage_reasoning"


class SideRequestStore:
    """The side requests in the database."""

    def __init__(self, database: Database, now: Callable[[], float]) -> None:
        self.database = database
        self._now = now

    @writes
    async def add(self, tx: Transaction, request: SideRequest) -> None:
        """Store a request that has ended; of one without a session only what it cost. Raises
        StoreError, also if its session is gone.
        """
        names = f"kind, endpoint, model, status, created, {_USAGE}, cost, priced"
        values: tuple[object, ...] = (
            *(request.kind, request.endpoint, request.model, request.status, self._now()),
            *(*usage_values(request.usage), cost_text(request.cost), request.priced),
        )
        table = "new_chat_requests"
        if request.session_id:
            table, names = "side_requests", f"{names}, session_id, error, reply"
            values += (request.session_id, clean(request.error), clean(request.reply))
        await tx.run(f"INSERT INTO {table} ({names}) VALUES ({_marks(values)})", *values)

    async def list(self, session_id: str) -> tuple[SideRequest, ...]:
        """Return the side requests of a session, oldest first."""
        rows = await self.database.rows(
            f"SELECT session_id, kind, endpoint, model, status, reply, {_USAGE}, cost, priced, "
            "error, created FROM side_requests WHERE session_id = ? ORDER BY seq",
            session_id,
        )
        return tuple(map(_side_request_of, rows))


def _side_request_of(row: Row) -> SideRequest:
    with decoding("side request"):
        session_id, kind, endpoint, model, status, reply = row[:6]
        cost, priced, error, created = row[11:]
        return SideRequest(
            *(session_id, kind, endpoint, model, status, reply),
            usage=Usage(*row[6:11]),
            cost=cost_of_text(cost),
            priced=priced,
            error=error,
            created=created,
        )


class RequestStore:
    """The requests in the database, each found by the id of the reply that it produced."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.list = database.reader(find_requests)

    async def get(self, entry_id: str) -> RequestRecord | None:
        """Return the request that produced a reply; None if there was none."""
        row = await self.database.row(
            f"SELECT {_COLUMNS} FROM requests AS r WHERE message_id = ? ORDER BY seq DESC LIMIT 1",
            entry_id,
        )
        return None if row is None else _record_of(row)

    async def last_accepted(
        self, session_id: str, endpoint: str, before: str = ""
    ) -> StoredRequest | None:
        """Return the newest request of a session that an endpoint accepted, of those older than
        that of the reply `before` if one is given; None if there is none.

        A request is accepted if its reply is complete, its response had a status of success, or,
        where the response is no longer kept, anything of the reply arrived.
        """
        row = await self.database.row(
            f"SELECT r.message_id, {_COLUMNS} FROM messages AS m "
            "JOIN requests AS r USING (message_id) LEFT JOIN received USING (message_id) "
            "WHERE m.session_id = ?1 AND copied = 0 AND r.endpoint = ?2 "
            "AND m.hidden IS NULL "
            "AND (m.status = 'complete' OR received.status BETWEEN 200 AND 299 "
            "OR (received.status IS NULL AND m.content <> '')) "
            "AND (?3 = '' OR r.seq < (SELECT seq FROM requests WHERE message_id = ?3)) "
            "ORDER BY r.seq DESC LIMIT 1",
            *(session_id, endpoint, before),
        )
        return None if row is None else _sent_of(row)

    async def calls(self, session_id: str) -> tuple[CallSummary, ...]:
        """Return the calls of a session and of its side conversations, oldest first."""
        rows = await self.database.rows(
            "SELECT r.message_id, s.session_id, s.client, m.model, r.created, m.status, "
            f"m.error, {_USAGE}, m.cost, m.cache_loss, s.session_id <> ?1 "
            "FROM sessions AS s JOIN messages AS m USING (session_id) "
            "JOIN requests AS r USING (message_id) "
            "WHERE (s.session_id = ?1 OR s.parent_id = ?1) AND s.deleted IS NULL "
            "AND m.hidden IS NULL ORDER BY r.seq",
            session_id,
        )
        return tuple(map(_call_of, rows))

    @writes
    async def replace(self, tx: Transaction, entry_id: str, record: RequestRecord) -> None:
        """Store what was sent in place of the request that is to produce a reply."""
        await tx.run(
            "UPDATE requests SET sha256 = ?, recipe = ?, body = ? WHERE message_id = ?",
            *(record.sha256, pack(record.recipe), record.body, entry_id),
        )

    async def get_response(self, entry_id: str) -> RawResponse | None:
        """Return the response of a reply as it was received; None if it is not kept."""
        row = await self.database.row(
            "SELECT status, media, body, size, times FROM received WHERE message_id = ?",
            entry_id,
        )
        if row is None:
            return None
        status, media, body, size, times = row
        with decoding("response"):
            return RawResponse(status, media, body, size, times_of(times))


async def insert_request(
    tx: Transaction, entry_id: str, record: RequestRecord, created: float, *, copied: bool = False
) -> None:
    """Store the request that is to produce a reply; `prune_bodies` is called after. One that was
    `copied` from another database is not the last one sent here.
    """
    values = (
        *(entry_id, record.endpoint, record.protocol.value, record.method, record.url),
        *(record.sha256, created, pack(record.recipe), record.body, copied),
    )
    await tx.run(
        "INSERT INTO requests (message_id, endpoint, protocol, method, url, sha256, created, "
        f"recipe, body, copied) VALUES ({_marks(values)})",
        *values,
    )


async def prune_bodies(tx: Transaction) -> None:
    """Drop old bodies; those of copied requests displace none that were sent here."""
    await tx.run(_PRUNE_BODIES, BODIES_KEPT, BODY_BYTES_KEPT)


def _marks(values: tuple[object, ...]) -> str:
    return ", ".join("?" * len(values))


async def find_requests(
    tx: Transaction, session_id: str, *, bodies: bool = False
) -> tuple[StoredRequest, ...]:
    """Return the requests of a session, oldest first; with `bodies`, those that are kept."""
    rows = await tx.rows(
        f"SELECT r.message_id, {_COLUMNS if bodies else _COLUMNS.replace('r.body', 'NULL')} "
        "FROM messages AS m JOIN requests AS r USING (message_id) WHERE m.session_id = ? "
        "AND m.hidden IS NULL ORDER BY r.seq",
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


def _call_of(row: Row) -> CallSummary:
    with decoding("call"):
        message_id, session_id, program, model, created, status, error = row[:7]
        cost, loss, is_side = row[12:]
        return CallSummary(
            *(message_id, session_id, program, model, created, status, error),
            usage=Usage(*row[7:12]),
            cost=cost_of_text(cost),
            loss=CACHE_LOSS.read(loss),
            is_side=bool(is_side),
        )


def _sent_of(row: Row) -> StoredRequest:
    return StoredRequest(row[0], _record_of(row[1:]))


def _record_of(row: Row) -> RequestRecord:
    endpoint, protocol, method, url, sha256, created, recipe, body = row
    with decoding("request"):
        return RequestRecord(
            endpoint, Protocol(protocol), method, url, sha256, recipe_of(recipe), body, created
        )


def recipe_of(text: str) -> dict[str, Any]:
    """Parse the column of a recipe. Raises ValueError or TypeError."""
    return dict(json.loads(text))


def times_of(text: str) -> tuple[tuple[int, int], ...]:
    """Parse the column of the times of a response. Raises ValueError or TypeError."""
    return tuple((seconds, size) for seconds, size in json.loads(text))


_HEX_DIGITS = 64


class RevisionStore:
    """JSON texts, each stored once under its SHA-256."""

    def __init__(self, database: Database, now: Callable[[], float]) -> None:
        self.database = database
        self._now = now

    async def save(self, kind: str, text: str) -> str:
        """Store a preset, role, profile or lorebook (`kind`) as JSON; return its SHA-256 in hex."""
        now = self._now()
        return await self.database.write(lambda tx: save_revision(tx, kind, text, now))

    async def get(self, sha256: str) -> str | None:
        """Return the JSON with this hash; None if it is not stored."""
        row = await self.database.row("SELECT json FROM revisions WHERE sha256 = ?", sha256)
        return None if row is None else row[0]


async def save_revision(tx: Transaction, kind: str, text: str, now: float) -> str:
    """Store a text under its hash, if it is new; return the hash."""
    text = clean(text)
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    await tx.run(
        "INSERT INTO revisions (sha256, kind, created, json) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (sha256) DO NOTHING",
        *(sha256, kind, now, text),
    )
    return sha256


async def revisions_of_recipes(
    tx: Transaction, recipes: Iterable[Mapping[str, Any]]
) -> tuple[tuple[str, str], ...]:
    """Return kind and text of all revisions that recipes name by hash, in the order of the hashes.

    Endpoints with headers or parameters of their own are left out: they may contain a key.
    """
    hashes = {
        name
        for recipe in recipes
        for value in recipe.values()
        for name in (cast("list[object]", value) if isinstance(value, list) else [value])
        if isinstance(name, str) and len(name) == _HEX_DIGITS
    }
    rows = await tx.rows(
        "SELECT kind, json FROM revisions WHERE sha256 IN (SELECT value FROM json_each(?)) "
        "ORDER BY sha256",
        json.dumps(sorted(hashes)),
    )
    return tuple(
        (kind, text)
        for kind, text in rows
        if kind != "endpoint" or json.loads(text).keys().isdisjoint(("headers", "query"))
    )
