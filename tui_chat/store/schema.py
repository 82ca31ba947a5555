"""The versions of the database: detecting, creating and migrating.

1. The version is SQLite's `user_version`; 0 is an empty file. Migration N leads from N-1 to N. They
   are the numbered SQL files in `migrations`; the way back is the backup.
2. A migration and the new version are committed together, in a transaction that begins with a
   check of the version: if two programs start at the same time, one migrates.
3. Before a database with content is migrated, other programs are locked out, since one of an older
   version would go on with tables that are gone, and a backup is made beside it.
4. A file that is newer, damaged or another program's is refused and not changed: it is first
   inspected through a read-only connection.

Everything here is synchronous and opens its own connection; `Store.open` runs it in a thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING

from tui_chat.errors import InputError, StoreBusy, StoreDamaged, StoreError, StoreNewer
from tui_chat.files import make_private_folder, restrict
from tui_chat.lazy_dataclass import dataclass
from tui_chat.store.backup import back_up, create_private, publish
from tui_chat.store.backup_files import list_backups
from tui_chat.store.errors import damage_error, store_errors

if TYPE_CHECKING:
    import sqlite3

APPLICATION_ID = 0x74756943
"""The id of our files in SQLite's header."""

NO_VERSION = 10_000
"""The first impossible version. A file with a higher one is damaged there."""

_OLDEST_SQLITE = (3, 37, 0)  # the first with STRICT tables


@dataclass(frozen=True, slots=True)
class Migration:
    """One step between two versions."""

    number: int
    name: str
    up: str
    """SQL that leads from `number - 1` to `number`."""
    fill: Callable[[sqlite3.Connection], None] | None = None
    """What follows the SQL, in the same transaction, if content cannot be computed in SQL."""


def _fill_blocks(connection: sqlite3.Connection) -> None:
    from tui_chat.store.blocks_migration import convert
    from tui_chat.store.index import fill_empty

    convert(connection)
    fill_empty(connection)  # version 20 made the index


_FILLS = {21: _fill_blocks}


@cache
def migrations() -> tuple[Migration, ...]:
    """Return all migrations, in order, numbered from 1 without gaps."""
    from importlib.resources import files

    scripts = [
        (item.name, item.read_text(encoding="utf-8"))
        for item in files("tui_chat.store").joinpath("migrations").iterdir()
        if item.name.endswith(".sql")
    ]
    return tuple(
        Migration(int(name[:4]), name[5:-4], sql, _FILLS.get(int(name[:4])))
        for name, sql in sorted(scripts)
    )


def prepare(path: Path, *, now: float, busy_timeout: float) -> Path | None:
    """Create or migrate the database at `path`, so that it has the current version.

    Waits up to `busy_timeout` seconds for other programs. Returns the path of the backup, None if
    none was needed.
    """
    import sqlite3

    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        raise StoreError(
            f"This Python comes with SQLite {sqlite3.sqlite_version}, which is too old.",
            advice="Use a Python with SQLite 3.37 or newer.",
        )
    with store_errors(path):
        make_private_folder(path.parent)
        restrict(path.parent, 0o700)
        left = companion(path, "-wal").exists()  # checked first: another program may start just now
        if not path.exists():
            if left:
                raise _log_without_database(path)
            _create(path, busy_timeout)
        require_regular_file(path)
        refuse_empty(path)
        for each in (
            path,
            *(companion(path, end) for end in ("-wal", "-shm")),
            *list_backups(path),
        ):
            restrict(each, 0o600)
        version = inspect_version(path, busy_timeout)
        if version == len(migrations()):
            return None
        with closing(connect(path, busy_timeout)) as connection:
            lock_others_out(connection, path, busy_timeout)
            if version_of(connection) == len(migrations()):
                return None  # another program was faster
            saved = back_up(connection, path, now) if version else None
            connection.execute("PRAGMA journal_mode = WAL")
            migrate(connection, path)
        return saved


def lock_others_out(connection: sqlite3.Connection, path: Path, seconds: float) -> None:
    """Lock other programs out of a database until the connection is closed.

    Waits as long for those that have it open, then raises StoreBusy.
    """
    import sqlite3

    until = time.monotonic() + seconds
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    while True:
        try:
            connection.execute("BEGIN EXCLUSIVE")
            connection.execute("COMMIT")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise
            if time.monotonic() > until:
                raise in_use_error(path) from error
            time.sleep(RETRY_PAUSES[0])


def in_use_error(path: Path) -> StoreBusy:
    """Return the error for a file that another program has open."""
    return StoreBusy(
        f"Another program has the database {path} open.",
        advice="Close tui-chat in all windows and try again; nothing was changed.",
    )


def _create(path: Path, busy_timeout: float) -> None:
    """Create a database of the current version. It gets its name when it is complete, so an empty
    file with that name is never one that is being created.
    """
    new = path.with_name(f"{path.name}.{token_hex(4)}.new")
    try:
        create_private(new)
        with closing(connect(new, busy_timeout)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            migrate(connection, new)
            # closing does the same, and says nothing if the disk is full
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        with suppress(FileExistsError):  # another program was faster
            publish(new, path, force=False)
    finally:
        for end in ("", "-wal", "-shm"):
            companion(new, end).unlink(missing_ok=True)


def require_regular_file(path: Path) -> None:
    """Raise InputError if a path is a pipe, a device or a socket."""
    if not (path.is_file() or path.is_dir()):
        raise InputError(
            f"{path} is not a regular file, so it cannot be a database.",
            advice="Move it away, or choose another folder with --data-dir.",
        )


def companion(path: Path, end: str) -> Path:
    """Return the path of SQLite's file beside a database with this ending (`-wal`, `-shm`)."""
    return path.with_name(path.name + end)


def connect(path: Path, busy_timeout: float) -> sqlite3.Connection:
    """Open a connection without implicit transactions and with durable commits."""
    import sqlite3

    connection = sqlite3.connect(path, timeout=busy_timeout, isolation_level=None)
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA temp_store = MEMORY")
    return connection


def version_of(connection: sqlite3.Connection) -> int:
    """Return the version of an open database."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def migrate(
    connection: sqlite3.Connection, path: Path, steps: Sequence[Migration] | None = None
) -> None:
    """Run the missing `steps` (default: all migrations), each in a transaction."""
    steps = migrations() if steps is None else steps
    while (version := version_of(connection)) < len(steps):
        step = steps[version]
        _run(connection, step)  # or another program was faster; check the version again
    if version > len(steps):
        raise newer_error(path, version)


def _log_without_database(path: Path) -> StoreDamaged:
    return StoreDamaged(
        f"The database {path} is missing, but its log exists.",
        advice=f"Put the database back, or restore a copy with `tui-chat db restore FILE`; to "
        f"start over, delete {companion(path, '-wal').name}.",
    )


def refuse_empty(path: Path) -> None:
    """Raise StoreDamaged for a file of 0 bytes. This program never leaves one, so it lost its
    content; SQLite would treat it as new and delete the log beside it.
    """
    if not path.is_file() or path.stat().st_size:
        return
    saved = list_backups(path)
    restore = (
        f"Restore the newest backup with `tui-chat db restore {saved[-1]}`"
        if saved
        else "If you have a copy, restore it with `tui-chat db restore FILE`"
    )
    raise StoreDamaged(
        f"The database {path} is empty (0 bytes); its content was lost.",
        advice=f"{restore}; to start over, delete the empty file.",
    )


def inspect_version(path: Path, busy_timeout: float) -> int:
    """Return the version of the file without changing it; raise an error if it is not ours.

    An unused file is read without locks, and another program may start to write it or remove its
    log just then. Therefore an error counts only if it persists.
    """
    import sqlite3

    waited_for = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
    for pause in RETRY_PAUSES:
        try:
            return _read_version(path, busy_timeout, immutable=_is_at_rest(path))
        except (sqlite3.DatabaseError, StoreError) as fault:
            if getattr(fault, "sqlite_errorcode", None) in waited_for:
                raise
            time.sleep(pause)
    return _read_version(path, busy_timeout, immutable=_is_at_rest(path))


RETRY_PAUSES = (0.02, 0.1, 0.5)
"""Seconds before each new attempt."""


def _uri(path: Path, *, immutable: bool) -> str:
    # Read-only, SQLite neither recovers nor checkpoints into the file; `immutable` keeps it
    # from leaving an empty log beside it, and is safe if no program has the file open.
    return f"{path.absolute().as_uri()}?mode=ro{'&immutable=1' if immutable else ''}"


def _read_version(path: Path, busy_timeout: float, *, immutable: bool) -> int:
    import sqlite3

    uri = _uri(path, immutable=immutable)
    with closing(sqlite3.connect(uri, uri=True, timeout=busy_timeout)) as connection:
        version = version_of(connection)
        mark = int(connection.execute("PRAGMA application_id").fetchone()[0])
        filled = connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
    if (version or filled) and mark != APPLICATION_ID:
        raise StoreError(
            f"The database {path} belongs to another program.",
            advice="Choose another file; this one was not changed. If it is tui-chat's with a "
            "damaged beginning, restore a backup with `tui-chat db restore FILE`.",
        )
    if not 0 <= version < NO_VERSION:
        raise damage_error(path)
    if version > len(migrations()):
        raise newer_error(path, version)
    return version


def _is_at_rest(path: Path) -> bool:
    """Return True if no program has the file open: in WAL mode it would have a log."""
    with path.open("rb") as file:
        in_wal_mode = file.read(20)[18:] == b"\2\2"
    return in_wal_mode and not path.with_name(f"{path.name}-wal").exists()


def newer_error(path: Path, version: int) -> StoreNewer:
    """Return the error for a file of a newer version."""
    return StoreNewer(
        f"The database {path} was written by a newer version of tui-chat "
        f"(version {version}; this program supports {len(migrations())}).",
        advice="Update tui-chat, or choose another file; this one was not changed.",
    )


def _run(connection: sqlite3.Connection, step: Migration) -> None:
    """Run a migration as one transaction, unless the version is another than the one before it."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        if version_of(connection) == step.number - 1:
            for statement in _statements(step.up):
                connection.execute(statement)
            if step.fill is not None:
                step.fill(connection)
            connection.execute(f"PRAGMA user_version = {step.number}")
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()
        raise


def _statements(script: str) -> Iterator[str]:
    """Yield the statements of a script; `executescript` would commit first."""
    import sqlite3

    statement = ""
    for piece in script.split(";"):
        statement += piece + ";"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
