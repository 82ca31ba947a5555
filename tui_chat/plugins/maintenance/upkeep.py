"""The commands of `tui-chat db`: backups, restoring, compacting.

Commands that change the whole file (restoring, compacting) need exclusive access, and are refused
while another program has it open. Everything here is synchronous and opens its own connections.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from tui_chat.errors import InputError, StoreDamaged, StoreError, StoreNewer
from tui_chat.files import make_private_folder, restrict
from tui_chat.store import schema
from tui_chat.store.access import BUSY_SECONDS, is_in_use, open_for_reading, require_database
from tui_chat.store.backup import back_up, copy_to, sync_folder
from tui_chat.store.backup_files import list_backups
from tui_chat.store.errors import store_errors
from tui_chat.store.schema import companion

if TYPE_CHECKING:
    import sqlite3


def repair(path: Path) -> list[str]:
    """Rebuild counts and search index, and replace values that cannot be read, also while the app
    is open; return a sentence for each kind of value. Raises StoreError, and InputError if the
    database does not have the current version.
    """
    from tui_chat.plugins.maintenance.faults import rebuild_derived, replace_faulty_values

    require_database(path)
    with store_errors(path):
        schema.refuse_empty(path)
        version = schema.inspect_version(path, BUSY_SECONDS)
    if version < len(schema.migrations()):
        raise InputError("The database is not up to date.", advice="Start the app, which does it.")
    with store_errors(path), closing(schema.connect(path, BUSY_SECONDS)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        replaced = replace_faulty_values(connection)
        rebuild_derived(connection)
        connection.execute("COMMIT")
    return replaced


def backup(path: Path, target: Path | None, *, now: float, force: bool = False) -> Path:
    """Copy a database, even while in use; return the path. Without `target`, beside it."""
    with open_for_reading(path) as connection, store_errors(path):
        if target is None:
            return back_up(connection, path, now)
        if target.exists() and target.samefile(path):
            raise InputError(f"{target} is the database itself.", advice="Choose another name.")
        copy_to(connection, target, force=force)
        return target


def restore(path: Path, source: Path, *, now: float) -> Path | None:
    """Replace the database by a backup; return the path of the previous database's copy.

    Raises StoreBusy while another program has the database open, InputError and StoreError if the
    backup is damaged or another program's; nothing is changed then.
    """
    with store_errors(path):
        if path.exists() and source.exists() and source.samefile(path):
            raise InputError(f"{source} is the database itself.", advice="Name a backup.")
    with open_for_reading(source) as copy, store_errors(source):
        if not schema.version_of(copy):
            raise InputError(f"{source} is empty.", advice="Choose another backup.")
        if copy.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",):
            raise StoreDamaged(
                f"{source} is damaged.",
                advice="Choose another backup.",
            )
        with store_errors(path):
            make_private_folder(path.parent)
            restrict(path.parent, 0o700)
        if not path.exists() or not path.stat().st_size:
            # SQLite would apply a log that was left behind to the copy.
            aside = move_aside(path, now) if companion(path, "-wal").exists() else None
            _replace(copy, path)
            return aside
        try:
            with open_exclusively(path) as connection:
                aside = back_up(connection, path, now)
                # Page by page into the file itself: a program that opens it now sees it before or
                # after, and after a power failure it is unchanged.
                with store_errors(path):
                    copy.backup(connection)
            return aside
        except (StoreDamaged, StoreNewer):
            refuse_in_use(path)
            aside = move_aside(path, now)
            _replace(copy, path)
            return aside


def rescue(path: Path, *, now: float) -> str:
    """Restore the newest backup beside a damaged database; return what was done. Raises StoreError,
    and InputError if there is no usable backup.
    """
    for backup in reversed(list_backups(path)):
        with suppress(StoreDamaged, InputError):
            aside = restore(path, backup, now=now)
            kept = "" if aside is None else f" The damaged file is {aside.name}."
            return f"Restored {backup.name}.{kept}"
    raise InputError(f"There is no usable backup beside {path}.")


def move_aside(path: Path, now: float) -> Path:
    """Rename an unusable database and its log; return the new path."""
    stamp = datetime.fromtimestamp(now, UTC).strftime("%Y%m%dT%H%M%S")
    aside, number = path.with_name(f"{path.name}.aside-{stamp}"), 0
    while aside.exists():
        number += 1
        aside = path.with_name(f"{path.name}.aside-{stamp}-{number}")
    with store_errors(path):
        for end in ("-wal", "-shm"):
            if (log := companion(path, end)).exists():
                log.rename(companion(aside, end))
        if path.exists():
            path.rename(aside)
        sync_folder(path.parent)
    return aside


def vacuum(path: Path, *, free: int | None = None) -> tuple[int, int]:
    """Compact a database; return the size before and after.

    `free` replaces the free bytes of the disk in tests.
    """
    with open_for_reading(path):
        before = path.stat().st_size
    with store_errors(path):
        for folder in {path.parent, Path(tempfile.gettempdir())}:
            left = shutil.disk_usage(folder).free if free is None else free
            if left < 2 * before:
                raise StoreError(
                    f"Compacting needs {2 * before:,} free bytes in {folder}, which has {left:,}.",
                    advice="Free some space; nothing was changed.",
                )
    with open_exclusively(path) as connection, store_errors(path):
        connection.execute("VACUUM")
    return before, path.stat().st_size


def _replace(copy: sqlite3.Connection, path: Path) -> None:
    with suppress(FileNotFoundError):
        path.unlink()
    copy_to(copy, path, force=False)


# Access


@contextmanager
def open_exclusively(path: Path) -> Generator[sqlite3.Connection]:
    """Open a database and keep other programs out.

    Raises StoreBusy if another program has it open.
    """
    require_database(path)
    with store_errors(path):
        schema.refuse_empty(path)
        schema.inspect_version(path, BUSY_SECONDS)
        with closing(schema.connect(path, 0.2)) as connection:
            connection.execute("PRAGMA foreign_keys = OFF")
            schema.lock_others_out(connection, path, 0)
            yield connection


def refuse_in_use(path: Path) -> None:
    """Raise StoreBusy if another program has the database open."""
    if is_in_use(path):
        raise schema.in_use_error(path)
