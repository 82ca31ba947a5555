"""Copies of a database, made while others use it.

A copy gets its name when it is whole and on the disk, never earlier, and replaces nothing that
it was not told to. It is a file for itself, without a log beside it.
"""

from __future__ import annotations

import os
import re
import sys
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from tui_chat.errors import InputError
from tui_chat.store.faults import told

if TYPE_CHECKING:
    import sqlite3

SUFFIX = ".bak"
"""What the names of copies beside the database end with."""


def create(path: Path) -> None:
    """Make an empty file only its owner can read; conversations are private."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))


def refuse_existing(target: Path, *, force: bool) -> None:
    """Refuse to write over a file, and a folder that is not there. Raises InputError."""
    with told(target):
        if target.is_dir():
            raise InputError(f"{target} is a folder.", advice="Name the file in it.")
        if not force and target.exists():
            raise InputError(
                f"{target} is there already.", advice="Choose another name; nothing was written."
            )
        if not target.parent.is_dir():
            raise InputError(
                f"There is no folder {target.parent}.", advice="Make it, or choose another place."
            )


def back_up(connection: sqlite3.Connection, path: Path, now: float) -> Path:
    """Copy an open database to a file beside it, named after its version and the time."""
    partial = _partial(path)
    try:
        version = _fill(connection, partial)
        stamp = datetime.fromtimestamp(now, UTC).strftime("%Y%m%dT%H%M%S")
        number = 0
        while True:
            again = f"-{number}" if number else ""
            target = path.with_name(f"{path.name}.v{version}-{stamp}{again}{SUFFIX}")
            with suppress(FileExistsError):
                settle(partial, target, force=False)
                return target
            number += 1
    finally:
        partial.unlink(missing_ok=True)


def copy_to(connection: sqlite3.Connection, target: Path, *, force: bool) -> None:
    """Copy an open database to `target`. Raises InputError where that may not be written."""
    refuse_existing(target, force=force)
    partial = _partial(target)
    with told(target):
        try:
            _fill(connection, partial)
            settle(partial, target, force=force)
        except FileExistsError:  # it was made just now
            refuse_existing(target, force=False)
            raise
        finally:
            partial.unlink(missing_ok=True)


def backups(path: Path) -> list[Path]:
    """Return the copies that lie beside a database, oldest first."""
    with suppress(OSError):
        found = [
            item
            for item in path.parent.iterdir()
            if item.name.startswith(f"{path.name}.") and item.name.endswith(SUFFIX)
        ]
        return sorted(found, key=lambda item: (item.stat().st_mtime, item.name))
    return []


def settle(partial: Path, target: Path, *, force: bool) -> None:
    """Bring a file to the disk and give it its name. Raises FileExistsError without `force`."""
    file = os.open(partial, os.O_RDWR)
    try:
        os.fsync(file)
    finally:
        os.close(file)
    if force:
        partial.replace(target)
    elif sys.platform == "win32":
        partial.rename(target)  # refuses there
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
    """Bring the names in a folder to the disk, where the system has a way."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _partial(path: Path) -> Path:
    return path.with_name(f"{path.name}.{os.getpid()}.partial")


_ABANDONED = 3600.0
"""Seconds after which a copy that nobody wrote to is no longer being made."""


def _sweep(partial: Path) -> None:
    """Remove what is left of copies whose program was killed, beside one that begins."""
    base = partial.name.removesuffix(f".{os.getpid()}.partial")
    left = re.compile(re.escape(base) + r"\.\d+\.partial(-journal)?")
    with suppress(OSError):
        present = partial.stat().st_mtime
        for item in partial.parent.iterdir():
            if left.fullmatch(item.name) and present - item.stat().st_mtime > _ABANDONED:
                item.unlink()


def _fill(connection: sqlite3.Connection, partial: Path) -> int:
    """Copy into a new file; return the version that it has."""
    import sqlite3

    create(partial)
    _sweep(partial)
    with closing(sqlite3.connect(partial, isolation_level=None)) as copy:
        connection.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")
        # From the copy itself: another program may have migrated a moment ago.
        return int(copy.execute("PRAGMA user_version").fetchone()[0])
