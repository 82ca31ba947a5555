"""Translation of SQLite's errors, and errors about unreadable stored values.

Every error of SQLite or the file system about the database becomes a `StoreError`, with the file's
name in its sentence and with advice.
"""

from __future__ import annotations

import errno
import shlex
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tui_chat.errors import InputError, StoreBusy, StoreDamaged, StoreError
from tui_chat.store.backup_files import list_backups

if TYPE_CHECKING:
    import sqlite3

# SQLite's primary result codes; `sqlite3` has these names, but importing it takes time.
_PERM, _BUSY, _LOCKED, _READONLY, _IOERR, _CORRUPT = 3, 5, 6, 8, 10, 11
_FULL, _CANTOPEN, _NOTADB = 13, 14, 26


def _rescue_advice(path: Path | None = None) -> str:
    """Return what helps; with the path of the database, a backup only if there is one."""
    means = "ave what can be read with `sqlite3 FILE .recover`."
    if path is None:
        return f"Restore a backup with `tui-chat db restore FILE`, or s{means}"
    if not (backups := list_backups(path)):
        return f"There is no backup in its folder. S{means}"
    return (
        f"Restore a backup with `tui-chat db restore {shlex.quote(str(backups[-1]))}`, or s{means}"
    )


@contextmanager
def store_errors(path: Path) -> Generator[None]:
    """Translate errors of SQLite and the file system into `StoreError`s about `path`."""
    import sqlite3

    try:
        yield
    except sqlite3.Error as error:
        raise translated(error, path) from error
    except UnicodeDecodeError as error:  # in SQLite's own message, which quotes the file
        raise damage_error(path) from error
    except OSError as error:
        raise _translated_os_error(error, path) from error
    except OverflowError as error:
        raise InputError("A number is too large to be stored.") from error


DECODE_ERRORS = (ValueError, TypeError, LookupError, AttributeError, RecursionError)
"""Errors of decoding a corrupted value."""


@contextmanager
def decoding(what: str) -> Generator[None]:
    """Raise `StoreDamaged` about `what` if the block fails to decode a stored value."""
    try:
        yield
    except DECODE_ERRORS as error:
        raise undecodable(what, error) from error


def undecodable(what: str, error: Exception) -> StoreDamaged:
    """Return the error for a stored value that cannot be read."""
    return StoreDamaged(f"The stored {what} cannot be read: {error}.", advice=_rescue_advice())


def damage_error(path: Path) -> StoreDamaged:
    """Return the error for a damaged file."""
    return StoreDamaged(f"The database {path} is damaged.", advice=_rescue_advice(path))


def describe_damage(error: Exception) -> str:
    """Return the damage that an error describes; empty if it is about something else."""
    # Errors that the Python module raises by itself carry no code.
    code: int = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (_CORRUPT, _NOTADB) or str(error) == _UNSUPPORTED_FORMAT:
        return str(error)
    if isinstance(error, DECODE_ERRORS) or (not code and _NOT_UTF8 in str(error)):
        return "a text in it is not UTF-8"
    return ""


_UNSUPPORTED_FORMAT = "unsupported file format"
"""SQLite's message for a schema format that never existed."""
_NOT_UTF8 = "Could not decode to UTF-8"
"""The beginning of Python's message for a text in the file that is not UTF-8."""


def _translated_os_error(error: OSError, path: Path) -> StoreError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return _disk_full(path)
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return StoreError(
            f"The database {path} cannot be accessed: {error.strerror}.",
            advice="Check the permissions of the file and its folder, or choose another folder "
            "with --data-dir.",
        )
    return StoreError(
        f"The folder of the database {path} cannot be used: {error.strerror or error}.",
        advice="Check that it is a folder with write permission, or choose another one with "
        "--data-dir.",
    )


def _disk_full(path: Path) -> StoreError:
    return StoreError(
        f"The disk of the database {path} is full.",
        advice="Free some space and try again. Stored data is safe.",
    )


def translated(error: sqlite3.Error, path: Path) -> StoreError:
    """Return the `StoreError` for an error of SQLite with the database at `path`."""
    code: int = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (_BUSY, _LOCKED):
        return StoreBusy(
            f"Another program is using the database {path}.",
            advice="Wait for it to finish, or close it, and try again.",
        )
    if code == _NOTADB:
        return StoreDamaged(
            f"{path} is not a database, or its beginning is damaged.",
            advice="It was not changed. If it is your database, restore a backup with `tui-chat db "
            "restore FILE`, or try `sqlite3 FILE .recover`; otherwise move the file away.",
        )
    if describe_damage(error):
        return damage_error(path)
    if code == _FULL:
        return _disk_full(path)
    other = "Check it with `tui-chat db check`. Nothing was changed."
    what, advice = _FAILURES.get(code, (f"refused the operation: {error}", other))
    subject = "The disk of the database" if code == _IOERR else "The database"
    return StoreError(f"{subject} {path} {what}.", advice=advice)


_READONLY_FAILURE = (
    "cannot be written to",
    "Check the permissions of the file and its folder, or choose another folder with --data-dir.",
)
_FAILURES = {
    _PERM: _READONLY_FAILURE,
    _READONLY: _READONLY_FAILURE,
    _CANTOPEN: ("cannot be opened", "Check that its folder exists and is writable."),
    _IOERR: ("reported an error", "Check the disk and its free space. Stored data is safe."),
}
"""What happened and the advice, by SQLite's code."""
