"""Which running program receives a streaming reply, and whether it still runs.

A store that receives replies holds a lock on a small file beside the database, named after
its token, and each streaming reply carries that token. Who finds the lock free knows that the
program is gone: the system releases locks of processes however they end, so there is no
heartbeat to miss while a laptop sleeps, and no process id that may since be someone else's.

The files are made, looked at and removed inside write transactions only (`close` aside), so
the database's own lock orders the programs.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path


class Owner:
    """A program's claim on the replies it receives."""

    def __init__(self, database: Path, token: str) -> None:
        self.token = token
        """What its streaming replies carry."""
        self._path = _file_of(database, token)
        self._file: int | None = None

    def claim(self) -> None:
        """Show that this program runs. Called before the first reply is stored."""
        if self._file is not None:
            return
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        if not _lock(file):  # cannot be: the file is new and nobody looks at it yet
            os.close(file)
            raise OSError(f"{self._path} is locked")
        self._file = file

    def release(self) -> None:
        """Stop showing it."""
        if self._file is None:
            return
        os.close(self._file)
        self._file = None
        # Another program may be looking at it; where that forbids removal, a later start will.
        with suppress(OSError):
            self._path.unlink()


def tokens(database: Path) -> list[str]:
    """Return the tokens that have a file, of programs that run or were killed."""
    prefix = _file_of(database, "").name
    return sorted(
        item.name.removeprefix(prefix)
        for item in database.parent.iterdir()
        if item.name.startswith(prefix)
    )


def is_alive(database: Path, token: str) -> bool:
    """Tell whether the program with this token runs; its file goes if it does not."""
    path = _file_of(database, token)
    try:
        file = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        if not _lock(file):
            return True
    finally:
        os.close(file)
    with suppress(OSError):
        path.unlink()
    return False


def _file_of(database: Path, token: str) -> Path:
    return database.with_name(f"{database.name}-live-{token}")


def _lock(file: int) -> bool:
    """Take the file's lock if it is free. It goes with the descriptor or the process."""
    if sys.platform == "win32":
        import msvcrt

        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
    import fcntl

    try:
        # `flock` belongs to the open file and not to the process: two stores in one process
        # see each other, and closing another descriptor of the file does not free it.
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
