"""Database files: new ones without their migrations, copies of one that was migrated once, and old
ones.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.plugins import is_deleted
from tui_chat.store import schema

run_migrations = schema.migrate
"""The program's own, which `migrate` stands in for."""


def migrate(
    connection: sqlite3.Connection, path: Path, steps: Sequence[schema.Migration] | None = None
) -> None:
    """Migrate as the program does, but give a database that is being created its pages at once."""
    if path.suffix == ".new" or path == Path(":memory:"):
        version = len(schema.migrations() if steps is None else steps)
        if version and schema.version_of(connection) == 0:
            _at_version(version).backup(connection)
    run_migrations(connection, path, steps)


@cache
def _at_version(version: int) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    run_migrations(connection, Path(":memory:"), schema.migrations()[:version])
    return connection


def provide_database(path: Path) -> Path:
    """Put an empty database of the present version at `path` unless there is a file; return it."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(0o600)
        path.write_bytes(_migrated())
    return path


@cache
def _migrated() -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "chat.db"
        schema.prepare(path, now=0.0, busy_timeout=1.0)
        return path.read_bytes()


LATEST = len(schema.migrations())


def plain(path: Path) -> closing[sqlite3.Connection]:
    """A direct connection, for statements that the store does not offer."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return closing(schema.connect(path, 1.0))


def made_at(path: Path, version: int) -> None:
    """Create a database as the program of that version did."""
    with plain(path) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        schema.migrate(connection, path, schema.migrations()[:version])


async def write_elsewhere(path: Path, *statements: str) -> None:
    """Run statements as another program would: beside the app, which may hold the lock just now."""
    await asyncio.to_thread(_execute, path, statements)


def _execute(path: Path, statements: Sequence[str]) -> None:
    with closing(sqlite3.connect(path, timeout=30)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def assert_sound(path: Path) -> None:
    """Fail if a database has faults: those that `db check` finds, or without it SQLite."""
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    if not is_deleted("maintenance"):
        from tui_chat.plugins.maintenance.check import check

        checks = check(path, lambda _: None)
        assert [fault for each in checks for fault in each.faults] == []
