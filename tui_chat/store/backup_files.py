"""The backups beside a database file."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

BACKUP_SUFFIX = ".bak"
"""The end of the names of backups beside the database."""


def list_backups(path: Path) -> list[Path]:
    """Return the backups beside a database, oldest first."""
    with suppress(OSError):
        backups = [
            item
            for item in path.parent.iterdir()
            if item.name.startswith(f"{path.name}.") and item.name.endswith(BACKUP_SUFFIX)
        ]
        return sorted(backups, key=lambda item: (item.stat().st_mtime, item.name))
    return []
