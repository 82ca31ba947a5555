"""Reading the database file beside the app, and its state: never blocks for long, never writes."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tui_chat.errors import InputError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.store import schema
from tui_chat.store.backup_files import list_backups
from tui_chat.store.errors import store_errors
from tui_chat.store.schema import companion

if TYPE_CHECKING:
    import sqlite3

BUSY_SECONDS = 5.0
"""Maximum seconds that a statement waits for another program."""


@contextmanager
def open_for_reading(path: Path) -> Generator[sqlite3.Connection]:
    """Open one of our databases for reading one state of it, without changing anything.

    Raises InputError if there is none, StoreError if it cannot be used.
    """
    import sqlite3

    require_database(path)
    with store_errors(path):
        schema.refuse_empty(path)
        schema.inspect_version(path, BUSY_SECONDS)
        # With a log it is opened read-only, so that the log stays unchanged. Without one it is
        # opened like the app does, which leaves nothing behind, or without write permission as
        # an immutable file.
        if companion(path, "-wal").exists():
            ways = ("?mode=ro",)
        else:
            ways = ("?mode=rw", "?mode=ro&immutable=1")
        for way in ways:
            connection = sqlite3.connect(
                path.absolute().as_uri() + way, uri=True, timeout=BUSY_SECONDS, isolation_level=None
            )
            with closing(connection):
                try:
                    connection.execute("BEGIN")
                    connection.execute("SELECT 1 FROM sqlite_master").fetchone()
                except sqlite3.OperationalError:
                    if way == ways[-1]:
                        raise
                    continue
                yield connection
                return


def is_in_use(path: Path) -> bool:
    """Return True if another program has the database open.

    Must not be called by a program that has it open itself: testing a lock releases its own.
    """
    index = companion(path, "-shm")
    if not index.exists():
        return False
    if sys.platform == "win32":
        try:
            index.replace(index)  # refused while it is open
        except PermissionError:
            return True
        return False
    import fcntl

    with suppress(OSError), index.open("r+b") as file:  # a file without permission counts as unused
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _ALIVE_BYTE)
        except OSError:
            return True
    return False


_ALIVE_BYTE = 128
"""Each connection in WAL mode holds a shared lock on this byte of the index file
(https://www.sqlite.org/walformat.html, “WAL locks”)."""


def require_database(path: Path) -> None:
    """Raise InputError if there is no file at a path."""
    with store_errors(path):
        if path.is_dir():
            raise InputError(f"{path} is a folder.", advice="Name the database file in it.")
        if not path.exists():
            raise InputError(
                f"There is no database {path}.",
                advice="Check the name. The app creates its database at the first start; "
                "--data-dir selects another folder.",
            )
        schema.require_regular_file(path)


@dataclass(frozen=True, slots=True)
class DatabaseStatus:
    """The state of a database, read without changing it."""

    path: Path
    version: int
    applied: tuple[str, ...]
    """Names of migrations, in order."""
    pending: tuple[str, ...]
    bytes: int
    """Size of the file."""
    log_bytes: int
    """Size of the log beside it (the WAL)."""
    free_bytes: int
    """About the size that compacting would free."""
    sessions: int
    messages: int
    backup: Path | None
    """The newest backup beside it."""
    in_use: bool
    """True if another program has it open."""


def status(path: Path) -> DatabaseStatus:
    """Return the state of a database. Raises StoreError; InputError if there is none."""
    with open_for_reading(path) as connection:
        version = schema.version_of(connection)
        names = [f"{step.number:04} {step.name}" for step in schema.migrations()]
        page, free = (
            int(connection.execute(f"PRAGMA {name}").fetchone()[0])
            for name in ("page_size", "freelist_count")
        )
        counts = "SELECT (SELECT count(*) FROM sessions), (SELECT count(*) FROM messages)"
        sessions, messages = connection.execute(counts).fetchone() if version else (0, 0)
    with store_errors(path):
        log = companion(path, "-wal")
        return DatabaseStatus(
            path,
            version,
            tuple(names[:version]),
            tuple(names[version:]),
            path.stat().st_size,
            log.stat().st_size if log.exists() else 0,
            page * free,
            sessions,
            messages,
            next(reversed(list_backups(path)), None),
            is_in_use(path),
        )
