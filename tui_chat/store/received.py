"""Responses as they were received: of the newest replies only."""

from __future__ import annotations

import json

from tui_chat.models.received import Received
from tui_chat.store.database import Transaction
from tui_chat.store.faults import readable

KEPT = 200
"""Of how many replies: as many as exact request bodies are kept."""

BYTES_KEPT = 32 * 1024 * 1024
"""What they may weigh together. The newest is kept whatever it weighs."""

_PRUNE = """
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


async def insert(tx: Transaction, entry_id: str, received: Received) -> None:
    """Keep the response of a reply, and let old ones go."""
    await tx.run(
        "INSERT OR REPLACE INTO received (message_id, status, media, size, times, body) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        *(entry_id, received.status, received.media, received.size),
        *(json.dumps(received.times, separators=(",", ":")), received.body),
    )
    await tx.run(_PRUNE, KEPT, BYTES_KEPT)


async def find(tx: Transaction, entry_id: str) -> Received | None:
    """Return the response of a reply, None where it is not kept."""
    row = await tx.row(
        "SELECT status, media, body, size, times FROM received WHERE message_id = ?", entry_id
    )
    if row is None:
        return None
    status, media, body, size, times = row
    with readable("response"):
        return Received(status, media, body, size, times_of(times))


def times_of(text: str) -> tuple[tuple[int, int], ...]:
    """Read the column that holds times. ValueError and TypeError where it holds none."""
    return tuple((at, size) for at, size in json.loads(text))
