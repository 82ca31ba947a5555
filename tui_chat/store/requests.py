"""The requests that produced replies, with the exact bodies of the latest ones.

Recipes and hashes stay for ever; they are small. A body holds the whole conversation, so
bodies of a long session would soon outweigh everything else.
"""
# ruff: noqa: S608 - only our own column names and constants are put into SQL

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tui_chat.models.endpoint import Protocol
from tui_chat.models.json_values import pack
from tui_chat.models.request import RequestRecord, Sent
from tui_chat.store.database import Row, Transaction
from tui_chat.store.faults import readable

BODIES_KEPT = 200
"""Exact bodies that are kept: some days of ordinary use, and at the 50 to 300 kB of an
ordinary body some tens of megabytes. Older ones are made again from their recipe."""

BODY_BYTES_KEPT = 64 * 1024 * 1024
"""What they may weigh together, for sessions whose bodies are far from ordinary. The newest is
kept whatever it weighs."""

_COLUMNS = "endpoint, protocol, method, url, sha256, created, recipe, body"

_WHOLE = "r.endpoint, protocol, method, url, sha256, r.created, recipe, body"
_LIGHT = "r.endpoint, protocol, method, url, sha256, r.created, recipe, NULL"

_PRUNE = """
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


async def insert(tx: Transaction, entry_id: str, record: RequestRecord, now: float) -> None:
    """Remember the request that is to produce the entry, and let old bodies go."""
    await tx.run(
        "INSERT INTO requests (message_id, endpoint, protocol, method, url, sha256, created, "
        "recipe, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        *(entry_id, record.endpoint, record.protocol.value, record.method, record.url),
        *(record.sha256, now, pack(record.recipe), record.body),
    )
    await tx.run(_PRUNE, BODIES_KEPT, BODY_BYTES_KEPT)


async def insert_many(tx: Transaction, sent: Iterable[Sent]) -> None:
    """Remember requests that another database knew; none of them is the last one sent here. Their
    bodies have room of their own, so that they push out none of those that were sent here.
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
    await tx.run(_PRUNE, BODIES_KEPT, BODY_BYTES_KEPT)


async def find(tx: Transaction, entry_id: str) -> RequestRecord | None:
    """Return the request that produced the entry, None where there is none."""
    row = await tx.row(
        f"SELECT {_COLUMNS} FROM requests WHERE message_id = ? ORDER BY seq DESC LIMIT 1", entry_id
    )
    return None if row is None else _record(row)


async def last(tx: Transaction, endpoint: str | None, before: str | None) -> Sent | None:
    """Return the newest request, of one endpoint or of all; that before another one's if the
    reply `before` is named.
    """
    row = await tx.row(
        f"SELECT message_id, {_COLUMNS} FROM requests WHERE copied = 0 "
        "AND (?1 IS NULL OR endpoint = ?1) AND (?2 IS NULL OR seq < "
        "(SELECT max(seq) FROM requests WHERE message_id = ?2)) ORDER BY seq DESC LIMIT 1",
        *(endpoint, before),
    )
    return None if row is None else Sent(row[0], _record(row[1:]))


async def of_session(tx: Transaction, session_id: str, *, bodies: bool = False) -> tuple[Sent, ...]:
    """Return the requests of a session, oldest first, with their bodies where these are asked for
    and kept.
    """
    rows = await tx.rows(
        f"SELECT r.message_id, {_WHOLE if bodies else _LIGHT} FROM messages AS m "
        "JOIN requests AS r USING (message_id) WHERE m.session_id = ? "
        "AND m.seq NOT IN (SELECT message FROM hidden_messages) ORDER BY r.seq",
        session_id,
    )
    return tuple(Sent(row[0], _record(row[1:])) for row in rows)


def _record(row: Row) -> RequestRecord:
    endpoint, protocol, method, url, sha256, created, recipe, body = row
    with readable("request"):
        return RequestRecord(
            endpoint, Protocol(protocol), method, url, sha256, recipe_of(recipe), body, created
        )


def recipe_of(text: str) -> dict[str, Any]:
    """Read the column that holds a recipe. ValueError and TypeError where it holds none."""
    return dict(json.loads(text))
