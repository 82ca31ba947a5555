"""The locks of running programs, by which others see who receives a streaming reply.

A store that receives replies holds a lock on a small file beside the database, named after its
token, and each streaming reply has that token. If the lock is free, the program is gone: the system
releases the locks of a process however it ends. So there is no heartbeat to miss while a laptop
sleeps, and no process id that another program may have now.

The files are created, checked and removed only in write transactions (except by `close`), so the
database's own lock orders the programs.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path


class ProcessLock:
    """The lock that shows that this program runs and receives its replies."""

    def __init__(self, database: Path | None, token: str) -> None:
        """`database` is None for one in memory, which no other program sees."""
        self.token = token
        """The token of its streaming replies."""
        self._path = _lock_file(database, token) if database is not None else None
        self._file: int | None = None

    def claim(self) -> None:
        """Create and lock the file. Called before the first reply is stored."""
        if self._file is not None or self._path is None:
            return
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        if not _try_lock(file):  # impossible: the file is new and unknown to others
            os.close(file)
            raise OSError(f"{self._path} is locked")
        self._file = file

    def release(self) -> None:
        """Unlock and remove the file."""
        if self._file is None or self._path is None:
            return
        os.close(self._file)
        self._file = None
        # Another program may have it open; if that forbids removal, a later start removes it.
        with suppress(OSError):
            self._path.unlink()


def lock_tokens(database: Path) -> list[str]:
    """Return the tokens of all lock files, of running and of killed programs."""
    prefix = _lock_file(database, "").name
    return sorted(
        item.name.removeprefix(prefix)
        for item in database.parent.iterdir()
        if item.name.startswith(prefix)
    )


def is_running(database: Path, token: str) -> bool:
    """Return True if the program with this token runs; remove its file if it does not."""
    path = _lock_file(database, token)
    try:
        file = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        if not _try_lock(file):
            return True
    finally:
        os.close(file)
    with suppress(OSError):
        path.unlink()
    return False


def _lock_file(database: Path, token: str) -> Path:
    return database.with_name(f"{database.name}-live-{token}")


def _try_lock(file: int) -> bool:
    """Lock the file; return False if it is locked. Closing it or ending the process unlocks it."""
    if sys.platform == "win32":
        import msvcrt

        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
    import fcntl

    try:
        # `flock` belongs to the open file, not to the process: two stores in one process see
        # each other's lock, and closing another descriptor of the file does not release it.
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
