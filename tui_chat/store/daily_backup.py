"""One backup a day beside the database, made while the app is open; the newest three are kept."""

from __future__ import annotations

import re
import shutil
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path

from tui_chat.store.backup import create_private, partial_path, publish
from tui_chat.store.backup_files import BACKUP_SUFFIX
from tui_chat.store.errors import store_errors

KEPT = 3
"""Daily backups that are kept."""


def back_up_daily(path: Path, now: float) -> Path | None:
    """Copy a database if it has no backup of this day, and remove the oldest beyond `KEPT`.

    Returns the new backup; None if there is one, or no room for it and as much again. The copy is
    compact and holds what was committed when it began. Raises StoreError.
    """
    import sqlite3

    day = datetime.fromtimestamp(now, UTC).astimezone()
    target = path.with_name(f"{path.name}.daily-{day:%Y%m%d}{BACKUP_SUFFIX}")
    with store_errors(path):
        if target.exists() or shutil.disk_usage(path.parent).free < 2 * path.stat().st_size:
            return None
        partial = partial_path(target)
        try:
            create_private(partial)
            uri = f"{path.absolute().as_uri()}?mode=ro"
            with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as connection:
                connection.execute("VACUUM INTO ?", (str(partial),))
            with suppress(FileExistsError):  # another copy of the app was as fast
                publish(partial, target, force=False)
        finally:
            partial.unlink(missing_ok=True)
        for old in daily_backups(path)[:-KEPT]:
            old.unlink(missing_ok=True)
    return target


def daily_backups(path: Path) -> list[Path]:
    """Return the daily backups of a database, oldest first."""
    name = re.compile(re.escape(path.name) + r"\.daily-\d{8}" + re.escape(BACKUP_SUFFIX))
    return sorted(item for item in path.parent.iterdir() if name.fullmatch(item.name))
