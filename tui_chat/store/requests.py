"""The requests that produced replies, with the exact bodies of the latest ones.

Recipes and hashes stay for ever; they are small. A body holds the whole conversation, so
bodies of a long session would soon outweigh everything else.
"""

from __future__ import annotations

import json

from tui_chat.model.endpoint import Protocol
from tui_chat.model.request import RequestRecord
from tui_chat.store.database import Transaction
from tui_chat.store.json_values import pack

BODIES_KEPT = 200
"""Exact bodies that are kept: some days of ordinary use, and at the 50 to 300 kB of an
ordinary body some tens of megabytes. Older ones are made again from their recipe."""

BODY_BYTES_KEPT = 64 * 1024 * 1024
"""What they may weigh together, for sessions whose bodies are far from ordinary. The newest is
kept whatever it weighs."""

_PRUNE = """
    UPDATE requests SET body = NULL WHERE seq IN (
        SELECT seq FROM (
            SELECT
                seq,
                row_number() OVER newest AS number,
                sum(length(body)) OVER newest AS weight
            FROM requests WHERE body IS NOT NULL
            WINDOW newest AS (ORDER BY seq DESC)
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


async def find(tx: Transaction, entry_id: str) -> RequestRecord | None:
    """Return the request that produced the entry, None where there is none."""
    row = await tx.row(
        "SELECT endpoint, protocol, method, url, sha256, recipe, body, created FROM requests "
        "WHERE message_id = ? ORDER BY seq DESC LIMIT 1",
        entry_id,
    )
    if row is None:
        return None
    endpoint, protocol, method, url, sha256, recipe, body, created = row
    return RequestRecord(
        endpoint, Protocol(protocol), method, url, sha256, json.loads(recipe), body, created
    )
