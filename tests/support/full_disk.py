"""A disk that refuses what a database writes."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable
from typing import Any

import aiosqlite
import pytest

FULL, BUSY = sqlite3.SQLITE_FULL, sqlite3.SQLITE_BUSY


class Disk:
    """Allows the writes of databases, or refuses them as SQLite does."""

    def __init__(self) -> None:
        self.fault: int | None = None
        """The code of SQLite's error."""
        self.fails_at = -1
        """The number of the one write that fails; -1 for none."""
        self.count = 0
        self.before: Callable[[], Awaitable[object]] | None = None
        """What is awaited before each write."""

    async def begin_write(self) -> None:
        if self.before is not None:
            await self.before()
        self.count += 1
        code = FULL if self.count - 1 == self.fails_at else self.fault
        if code is not None:
            error = sqlite3.OperationalError("refused")
            error.sqlite_errorcode = code
            raise error


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    disk, execute = Disk(), aiosqlite.Connection.execute_fetchall

    def refusing(connection: aiosqlite.Connection, sql: str, *values: Any) -> Awaitable[Any]:
        async def begin() -> Any:
            await disk.begin_write()
            return await execute(connection, sql, *values)

        return begin() if sql == "BEGIN IMMEDIATE" else execute(connection, sql, *values)

    monkeypatch.setattr(aiosqlite.Connection, "execute_fetchall", refusing)
    return disk
