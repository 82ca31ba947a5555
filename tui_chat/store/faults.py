"""SQLite's errors, and values of ours that cannot be read, told in words a person understands.

Whatever SQLite or the file system says about the database becomes a `StoreError`, with the
file's name in its sentence and what to do about it as its advice.
"""

from __future__ import annotations

import errno
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tui_chat.errors import InputError, StoreBusy, StoreDamaged, StoreError

if TYPE_CHECKING:
    import sqlite3

# SQLite's primary result codes; `sqlite3` has these names, but importing it takes time.
_PERM, _BUSY, _LOCKED, _READONLY, _IOERR, _CORRUPT = 3, 5, 6, 8, 10, 11
_FULL, _CANTOPEN, _NOTADB = 13, 14, 26

_RESCUE = (
    "Restore a backup (they lie beside it, *.bak) with `tui-chat db restore FILE`, or save what "
    "can be read with `tui-chat db salvage --to NEW`."
)


@contextmanager
def told(path: Path) -> Generator[None]:
    """Turn what goes wrong with the database at `path` inside the block into our errors."""
    import sqlite3

    try:
        yield
    except sqlite3.Error as error:
        raise fault(error, path) from error
    except UnicodeDecodeError as error:  # of SQLite's own words, which quote what is in the file
        raise damaged(path) from error
    except OSError as error:
        raise _file_fault(error, path) from error
    except OverflowError as error:
        raise InputError("A number is too large to be stored.") from error


UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, RecursionError)
"""What reading a stored value may raise that is not what it was."""


@contextmanager
def readable(what: str) -> Generator[None]:
    """Have it told that a value cannot be read, where the block fails at reading one."""
    try:
        yield
    except UNREADABLE as error:
        raise unreadable(what, error) from error


def unreadable(what: str, error: Exception) -> StoreDamaged:
    """Return the error that says that a value cannot be read."""
    return StoreDamaged(f"The stored {what} cannot be read: {error}.", advice=_RESCUE)


def damaged(path: Path) -> StoreDamaged:
    """Return the error for a file that is damaged."""
    return StoreDamaged(f"The database {path} is damaged.", advice=_RESCUE)


def damage(error: Exception) -> str:
    """Return how an error says that the file is damaged; empty where it says something else."""
    # Errors that the Python module raises by itself carry no code.
    code: int = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (_CORRUPT, _NOTADB) or str(error) == _NO_FORMAT:
        return str(error)
    if isinstance(error, UNREADABLE) or (not code and _NO_TEXT in str(error)):
        return "a text in it is not UTF-8"
    return ""


_NO_FORMAT = "unsupported file format"
"""What SQLite says of a schema format that there has never been."""
_NO_TEXT = "Could not decode to UTF-8"
"""What Python says of a text in the file that is no UTF-8. It goes on with the whole text."""


def _file_fault(error: OSError, path: Path) -> StoreError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return _no_room(path)
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return StoreError(
            f"The database {path} may not be used: {error.strerror}.",
            advice="Check the permissions of the file and of its folder, or choose another place "
            "with --data-dir.",
        )
    return StoreError(
        f"The folder of the database {path} cannot be used: {error.strerror or error}.",
        advice="Check that it is a folder you may write to, or choose another place with "
        "--data-dir.",
    )


def _no_room(path: Path) -> StoreError:
    return StoreError(
        f"There is no room left on the disk of the database {path}.",
        advice="Free some space and try again; what was stored before is safe.",
    )


def fault(error: sqlite3.Error, path: Path) -> StoreError:
    """Return the error that says what SQLite's means for the user of `path`."""
    code: int = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (_BUSY, _LOCKED):
        return StoreBusy(
            f"Another program is using the database {path}.",
            advice="Wait until it is done, or close it, and try again.",
        )
    if code == _NOTADB:
        return StoreDamaged(
            f"{path} is not a database, or its beginning is damaged.",
            advice="It was not changed. If it was one, save what can be read with "
            "`tui-chat db salvage --to NEW`; else move it away.",
        )
    if damage(error):
        return damaged(path)
    if code in (_PERM, _READONLY):
        return StoreError(
            f"The database {path} cannot be written to.",
            advice="Check the permissions of the file and of its folder, or choose another place "
            "with --data-dir.",
        )
    if code == _FULL:
        return _no_room(path)
    if code == _CANTOPEN:
        return StoreError(
            f"The database {path} cannot be opened.",
            advice="Check that its folder exists and that you may write to it.",
        )
    if code == _IOERR:
        return StoreError(
            f"The disk of the database {path} reported an error.",
            advice="Check the disk and the space left on it; what was stored before is safe.",
        )
    return StoreError(
        f"The database {path} refused the operation: {error}.",
        advice="Look whether it is sound with `tui-chat db check`; nothing was changed.",
    )
