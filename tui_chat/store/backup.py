"""Backups: copies of a database, also while programs use it; one a day while the app is open.

A copy gets its name when it is complete and on the disk, and replaces another file only on request.
It is a single file without a log.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from tui_chat.errors import InputError
from tui_chat.store.backup_files import BACKUP_SUFFIX
from tui_chat.store.errors import store_errors

if TYPE_CHECKING:
    import sqlite3


KEPT = 3
"""Daily backups that are kept."""


def create_private(path: Path) -> None:
    """Create an empty file that only its owner can read; conversations are private."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))


def require_free_target(target: Path, *, force: bool) -> None:
    """Raise InputError if `target` exists (without `force`), or its folder does not."""
    with store_errors(target):
        if target.is_dir():
            raise InputError(f"{target} is a folder.", advice="Name the file in it.")
        if not force and target.exists():
            raise InputError(
                f"{target} exists already.", advice="Choose another name; nothing was written."
            )
        if not target.parent.is_dir():
            raise InputError(
                f"The folder {target.parent} does not exist.",
                advice="Create it, or choose another one.",
            )


def back_up(connection: sqlite3.Connection, path: Path, now: float) -> Path:
    """Copy an open database to a file beside it, named after its version and the time."""
    partial = partial_path(path)
    try:
        version = _copy_into(connection, partial)
        stamp = datetime.fromtimestamp(now, UTC).strftime("%Y%m%dT%H%M%S")
        number = 0
        while True:
            again = f"-{number}" if number else ""
            target = path.with_name(f"{path.name}.v{version}-{stamp}{again}{BACKUP_SUFFIX}")
            with suppress(FileExistsError):
                publish(partial, target, force=False)
                return target
            number += 1
    finally:
        partial.unlink(missing_ok=True)


def copy_to(connection: sqlite3.Connection, target: Path, *, force: bool) -> None:
    """Copy an open database to `target`. Raises InputError if that cannot be created."""
    require_free_target(target, force=force)
    partial = partial_path(target)
    with store_errors(target):
        try:
            _copy_into(connection, partial)
            publish(partial, target, force=force)
        except FileExistsError:  # it was created just now
            require_free_target(target, force=False)
            raise
        finally:
            partial.unlink(missing_ok=True)


def publish(partial: Path, target: Path, *, force: bool) -> None:
    """Sync a file to disk and name it. Raises FileExistsError for a taken name, unless `force`."""
    file = os.open(partial, os.O_RDWR)
    try:
        os.fsync(file)
    finally:
        os.close(file)
    if force:
        partial.replace(target)
    elif sys.platform == "win32":
        partial.rename(target)  # fails there if the target exists
    else:
        try:
            os.link(partial, target)
        except FileExistsError:
            raise
        except OSError:  # a disk without hard links
            if target.exists():
                raise FileExistsError(target) from None
            partial.rename(target)
    sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """Sync the names in a folder to the disk, if the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def partial_path(path: Path) -> Path:
    """Return the name of a copy of this file while it is written."""
    return path.with_name(f"{path.name}.{os.getpid()}.partial")


_ABANDONED_AFTER = 3600.0
"""Seconds after which a partial copy that nothing changes counts as abandoned."""


def _remove_abandoned(partial: Path) -> None:
    """Remove partial copies of killed programs beside a new one."""
    base = partial.name.removesuffix(f".{os.getpid()}.partial")
    left = re.compile(re.escape(base) + r"\.\d+\.partial(-journal)?")
    with suppress(OSError):
        present = partial.stat().st_mtime
        for item in partial.parent.iterdir():
            is_partial = left.fullmatch(item.name) is not None
            if is_partial and present - item.stat().st_mtime > _ABANDONED_AFTER:
                item.unlink()


def _copy_into(connection: sqlite3.Connection, partial: Path) -> int:
    """Copy into a new file; return its version."""
    import sqlite3

    create_private(partial)
    _remove_abandoned(partial)
    with closing(sqlite3.connect(partial, isolation_level=None)) as copy:
        connection.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")
        # From the copy itself: another program may have migrated a moment ago.
        return int(copy.execute("PRAGMA user_version").fetchone()[0])


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
