"""What is read of a database before the store is opened: the session that was open last, which the
first frame names, and whether the database has to be updated.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from tui_chat.models.session import LastSession

NEW_SESSION = LastSession("", "New session")

UPDATING = "Updating the database …"
_LARGE = 20_000_000
"""Bytes of a database whose update takes more than a moment."""


def is_update_long(path: Path) -> bool:
    """Return True if opening a database will update it, which takes more than a moment."""
    import sqlite3

    from tui_chat.store import schema

    try:
        if path.stat().st_size < _LARGE:
            return False
        address = f"{path.resolve().as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True, timeout=0)) as connection:
            return schema.version_of(connection) < len(schema.migrations())
    except (sqlite3.Error, OSError):
        return False


def has_sessions(path: Path) -> bool:
    """Return True if a database has a session; False if that cannot be read at once."""
    import sqlite3

    if not path.exists():
        return False
    try:
        address = f"{path.resolve().as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True, timeout=0)) as connection:
            sql = "SELECT 1 FROM sessions WHERE deleted IS NULL LIMIT 1"
            return connection.execute(sql).fetchone() is not None
    except (sqlite3.Error, OSError):
        return False


def read_last_session(path: Path) -> LastSession | None:
    """Return what the next start over a database opens; None if that cannot be read at once."""
    import sqlite3

    if not path.exists():
        return NEW_SESSION
    try:
        address = f"{path.resolve().as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True, timeout=0)) as connection:
            row = connection.execute(
                "SELECT session_id, title FROM sessions WHERE deleted IS NULL "
                "AND session_id = (SELECT value FROM settings WHERE key = 'session')"
            ).fetchone()
    except (sqlite3.Error, OSError):
        return None
    return NEW_SESSION if row is None else LastSession(*map(str, row))
