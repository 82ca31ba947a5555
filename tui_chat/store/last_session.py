"""The session that was open last, read before the store is opened: the first frame names it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from tui_chat.models.session import LastSession

NEW_CHAT = LastSession("", "New chat")


def read_last_session(path: Path) -> LastSession | None:
    """Return what the next start over a database opens; None if that cannot be read at once."""
    import sqlite3

    if not path.exists():
        return NEW_CHAT
    try:
        address = f"{path.resolve().as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True, timeout=0)) as connection:
            row = connection.execute(
                "SELECT session_id, title FROM sessions WHERE deleted IS NULL "
                "AND session_id = (SELECT value FROM settings WHERE key = 'session')"
            ).fetchone()
    except (sqlite3.Error, OSError):
        return None
    return NEW_CHAT if row is None else LastSession(*map(str, row))
