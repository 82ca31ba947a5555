"""Held requests in the database, so that a running app can decide about them.

1. The table is there only while something is held: the tap creates it with the first request and
   drops it with the last one. So no database needs a migration for it, and none keeps a trace.
2. The tap writes a row, and reads its decision four times a second. The app writes decisions.
3. A row whose reply does not stream any more is what a killed tap left behind: nobody shows it, and
   the next held request removes it.
4. Bodies are in the table of requests, credentials masked. An edited one comes as the text that the
   user wrote; the tap puts the credentials back, and says what is wrong with it in the row.
"""

from __future__ import annotations

from dataclasses import astuple
from datetime import datetime
from typing import Literal

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.sanitize import one_line
from tui_chat.store.database import Database, Transaction
from tui_chat.store.sessions import touch_session

CREATE = """
    CREATE TABLE IF NOT EXISTS tap_held (
        message_id TEXT NOT NULL PRIMARY KEY,
        session_id TEXT NOT NULL,
        program TEXT NOT NULL,
        model TEXT NOT NULL,
        since REAL NOT NULL,
        until REAL NOT NULL,
        decision TEXT NOT NULL DEFAULT '',
        content TEXT NOT NULL DEFAULT '',
        fault TEXT NOT NULL DEFAULT ''
    ) STRICT
"""
_STREAMING = "message_id IN (SELECT message_id FROM messages WHERE status = 'streaming')"
_COLUMNS = "message_id, session_id, program, model, since, until, fault"
# ruff: noqa: S608 - only our own column names and constants are put into SQL

SharedDecision = Literal["sent", "edited", "dropped", "editing"]
"""What an app decides. `editing`: nothing yet, and the time limit starts again."""


@dataclass(frozen=True, slots=True)
class WaitingRequest:
    """A held request, as an app sees it."""

    message_id: str
    """The id of the reply that it will have."""
    session_id: str
    program: str
    """Empty if unknown."""
    model: str
    since: float
    """In seconds since the epoch, UTC, as `until`."""
    until: float
    """The time at which it is sent as it came."""
    fault: str = ""
    """The reason why the last decision could not be followed."""


def words_of(held: WaitingRequest) -> str:
    """Return program and model of a held request."""
    return one_line(f"{held.program or 'Unknown program'} · {held.model or 'unknown model'}", 80)


def until_words(held: WaitingRequest) -> str:
    """Return when a held request is sent as it came, such as “at 12:02:00”."""
    return f"at {datetime.fromtimestamp(held.until).astimezone():%H:%M:%S}"


def limit_words(held: WaitingRequest) -> str:
    """Return how long a held request waits."""
    since = datetime.fromtimestamp(held.since).astimezone()
    return f"held since {since:%H:%M:%S}, sent on {until_words(held)}"


async def waiting_requests(database: Database) -> tuple[WaitingRequest, ...]:
    """Return the held requests, oldest first. Raises StoreError."""

    async def read(tx: Transaction) -> tuple[WaitingRequest, ...]:
        if not await _exists(tx):
            return ()
        rows = await tx.rows(
            f"SELECT {_COLUMNS} FROM tap_held WHERE decision IN ('', 'editing') AND {_STREAMING} "
            "ORDER BY since"
        )
        return tuple(WaitingRequest(*row) for row in rows)

    return await database.read(read)


async def decide(
    database: Database, message_id: str, decision: SharedDecision, content: str = ""
) -> bool:
    """Decide about a held request, with its `content`; False if it is gone. Raises StoreError."""

    async def write(tx: Transaction) -> bool:
        if not await _exists(tx):
            return False
        row = await tx.row(
            "UPDATE tap_held SET decision = ?, content = ?, fault = '' WHERE message_id = ? "
            f"AND decision IN ('', 'editing') AND {_STREAMING} RETURNING 1",
            *(decision, content, message_id),
        )
        return row is not None

    return await database.write(write)


async def _exists(tx: Transaction) -> bool:
    return bool(await tx.rows("SELECT 1 FROM sqlite_master WHERE name = 'tap_held'"))


async def add(database: Database, held: WaitingRequest) -> None:
    """Let apps decide about a held request. Raises StoreError."""

    async def write(tx: Transaction) -> None:
        await tx.run(CREATE)
        await tx.run(f"DELETE FROM tap_held WHERE NOT {_STREAMING}")
        await tx.run(
            f"INSERT OR REPLACE INTO tap_held ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)",
            *astuple(held),
        )
        # An app that listed the session before this row was there looks again.
        await touch_session(tx, held.session_id, held.since)

    await database.write(write)


async def read_decision(database: Database, message_id: str) -> tuple[str, str]:
    """Return the decision in a row and its content; empty if there is none. Raises StoreError."""
    sql = "SELECT decision, content FROM tap_held WHERE message_id = ?"
    row = await database.row(sql, message_id)
    return (row[0], row[1]) if row is not None else ("", "")


async def wait_on(database: Database, message_id: str, fault: str, until: float) -> None:
    """Tell apps that a request still waits, until when, and what was wrong. Raises StoreError."""

    async def write(tx: Transaction) -> None:
        await tx.run(
            "UPDATE tap_held SET decision = '', content = '', fault = ?, until = ? "
            "WHERE message_id = ?",
            *(fault, until, message_id),
        )

    await database.write(write)


async def remove(database: Database, message_id: str) -> None:
    """Remove the row of a request that is not held any more. Raises StoreError."""

    async def write(tx: Transaction) -> None:
        if await _exists(tx):
            await tx.run("DELETE FROM tap_held WHERE message_id = ?", message_id)
            if not await tx.rows("SELECT 1 FROM tap_held LIMIT 1"):
                await tx.run("DROP TABLE tap_held")

    await database.write(write)
