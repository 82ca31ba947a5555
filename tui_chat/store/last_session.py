"""What is read of a database before the store is opened: the session that was open last, which the
first frame names, and whether the database has to be updated.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tui_chat.models.session import LastSession

if TYPE_CHECKING:
    import sqlite3

_T = TypeVar("_T")

NEW_SESSION = LastSession("", "New session")

UPDATING = "Updating the database …"
_LARGE = 20_000_000
"""Bytes of a database whose update takes more than a moment."""


def is_update_long(path: Path) -> bool:
    """Return True if opening a database will update it, which takes more than a moment."""

    def is_old(connection: sqlite3.Connection) -> bool:
        if path.stat().st_size < _LARGE:
            return False
        from tui_chat.store import schema

        return schema.version_of(connection) < len(schema.migrations())

    return bool(_read(path, is_old))


def has_sessions(path: Path) -> bool:
    """Return True if a database has a session; False if that cannot be read at once."""
    sql = "SELECT 1 FROM sessions WHERE deleted IS NULL LIMIT 1"
    return bool(_read(path, lambda connection: connection.execute(sql).fetchone()))


def read_last_session(path: Path) -> LastSession | None:
    """Return what the next start over a database opens; None if that cannot be read at once."""
    if not path.exists():
        return NEW_SESSION
    sql = (
        "SELECT session_id, title FROM sessions WHERE deleted IS NULL "
        "AND session_id = (SELECT value FROM settings WHERE key = 'session')"
    )
    rows = _read(path, lambda connection: connection.execute(sql).fetchall())
    if rows is None:
        return None
    return LastSession(*map(str, rows[0])) if rows else NEW_SESSION


def _read(path: Path, read: Callable[[sqlite3.Connection], _T]) -> _T | None:
    """Return what a function reads of a database; None if that is not possible at once."""
    import sqlite3

    if not path.is_file():  # a pipe would be waited for
        return None
    try:
        address = f"{path.resolve().as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True, timeout=0)) as connection:
            return read(connection)
    except (sqlite3.Error, OSError):
        return None
