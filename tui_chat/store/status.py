"""The state of a database file, read without changing it."""

from __future__ import annotations

from pathlib import Path

from tui_chat.lazy_dataclass import dataclass
from tui_chat.store import schema
from tui_chat.store.access import is_in_use, open_for_reading
from tui_chat.store.backup_files import list_backups
from tui_chat.store.errors import store_errors
from tui_chat.store.schema import companion


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


def stored_settings(path: Path) -> dict[str, str]:
    """Return the settings that the app stored. Raises StoreError; InputError if there is none."""
    with open_for_reading(path) as connection:
        if not schema.version_of(connection):
            return {}
        return dict(connection.execute("SELECT key, value FROM settings").fetchall())


def count_roles(path: Path) -> int:
    """Return how many roles there are. Raises StoreError; InputError if there is no database."""
    with open_for_reading(path) as connection:
        tables = "SELECT count(*) FROM sqlite_master WHERE name = 'roles'"
        if not connection.execute(tables).fetchone()[0]:
            return 0
        return int(connection.execute("SELECT count(*) FROM roles").fetchone()[0])
