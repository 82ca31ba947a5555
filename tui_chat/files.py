"""Files that the user names, and folders of ours: the one place that opens the first and makes
the second.

1. Only regular files are read. A named pipe would wait for a writer, a device may never end. What
   a path is, is asked before it is opened (opening a device can have effects) and again after
   (the path may lead elsewhere by then); the opening itself never waits.
2. Nothing is read without a limit, the standard input included.
3. Folders that the program makes belong to their owner alone, whatever the umask: what people
   say to a model is private.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO, BinaryIO, cast

from tui_chat.errors import InputError

LARGEST_REQUEST = 128 * 2**20
"""Bytes of a request or a reply. Providers take up to 100 MB."""

LARGEST_INPUT = 2 * 2**30
"""Bytes of conversations on the standard input, which are copied to the disk to be read."""

_CHUNK = 2**20
_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


def open_file(path: Path) -> BinaryIO:
    """Open a regular file for reading bytes.

    Raises OSError, also for whatever else has this name (its `strerror` says what it is), and
    ValueError for a path with a NUL.
    """
    _require_regular(path, os.stat(path).st_mode)
    file = os.open(path, _FLAGS)
    try:
        _require_regular(path, os.fstat(file).st_mode)
        return cast("BinaryIO", os.fdopen(file, "rb"))
    except BaseException:
        with suppress(OSError):
            os.close(file)
        raise


def read_file(path: Path, limit: int) -> bytes:
    """Return the content of a regular file of at most `limit` bytes.

    Raises InputError, which names the path and the fault.
    """
    try:
        with open_file(path) as file:
            return _within(file, limit, str(path))
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        fault = (error.strerror or error) if isinstance(error, OSError) else error
        raise InputError(f"{path}: cannot be read: {fault}") from error


def read_standard_input(limit: int = LARGEST_REQUEST) -> bytes:
    """Return the standard input, at most `limit` bytes. Raises InputError."""
    try:
        return _within(standard_input(), limit, "standard input")
    except (OSError, ValueError) as error:  # ValueError: it was closed
        fault = (error.strerror or error) if isinstance(error, OSError) else error
        raise InputError(f"standard input: cannot be read: {fault}") from error


def copy_standard_input(target: IO[bytes], limit: int = LARGEST_INPUT) -> None:
    """Write the standard input, at most `limit` bytes, into an open file. Raises InputError."""
    source, size = standard_input(), 0
    while chunk := source.read(_CHUNK):
        size += len(chunk)
        if size > limit:
            raise _too_large("standard input", limit, "Save it as a file, and name that.")
        target.write(chunk)


def standard_input() -> BinaryIO:
    """Return the standard input for reading bytes.

    Raises InputError where it is a device other than a terminal or the null device.
    """
    source = cast("BinaryIO", sys.stdin.buffer)
    try:
        number = source.fileno()
        found = os.fstat(number)
    except (OSError, ValueError):  # it is no file of the system, as in tests
        return source
    is_device = stat.S_ISCHR(found.st_mode) or stat.S_ISBLK(found.st_mode)
    if is_device and not os.isatty(number) and not _is_null(found):
        raise InputError(
            "standard input: is a device, which may never end.",
            advice="Give it a file or the output of a program.",
        )
    return source


def require_regular(path: Path) -> None:
    """Refuse what has this name and is no regular file. Raises OSError, as `open_file` does."""
    with suppress(FileNotFoundError):
        _require_regular(path, os.stat(path).st_mode)


def make_private_folder(folder: Path) -> None:
    """Make a folder, and those above it that are missing, for nobody but the owner. One that is
    there already is left as it is. Raises OSError.
    """
    missing: list[Path] = []
    above = folder
    while not above.exists():
        missing.append(above)
        if above == above.parent:
            break
        above = above.parent
    for each in reversed(missing):
        with suppress(FileExistsError):  # another program was quicker
            each.mkdir(mode=0o700)
    if not folder.is_dir():
        folder.mkdir()  # raises what is wrong with it


def restrict(path: Path, mode: int) -> None:
    """Take from a file or folder of this user all permissions beyond `mode`. What belongs to
    others, a folder that everybody uses (`/tmp`) and the home folder stay as they are; so does
    what cannot be changed, as on a disk without permissions.
    """
    if sys.platform == "win32":
        return
    with suppress(OSError, RuntimeError):  # RuntimeError: there is no home folder
        found = path.stat()
        is_shared = stat.S_ISDIR(found.st_mode) and bool(found.st_mode & stat.S_ISVTX)
        if found.st_uid != os.geteuid() or is_shared or path.resolve() == Path.home().resolve():
            return
        now = stat.S_IMODE(found.st_mode)
        if now & ~mode & 0o077:
            path.chmod(now & (mode | ~0o777))


def _within(file: BinaryIO, limit: int, name: str) -> bytes:
    """Read to the end, or one byte beyond the limit."""
    found = bytearray()
    while chunk := file.read(min(_CHUNK, limit + 1 - len(found))):
        found += chunk
        if len(found) > limit:
            raise _too_large(name, limit)
    return bytes(found)


def _too_large(name: str, limit: int, advice: str = "") -> InputError:
    return InputError(f"{name}: is larger than {limit // 2**20:,} MiB.", advice=advice)


def _require_regular(path: Path, mode: int) -> None:
    if stat.S_ISREG(mode):
        return
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    kind = next((name for test, name in _KINDS if test(mode)), "something else")
    fault = f"it is {kind}, not a regular file; save its content to a file first"
    raise OSError(errno.EINVAL, fault, str(path))


_KINDS = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def _is_null(found: os.stat_result) -> bool:
    with suppress(OSError):
        return os.path.samestat(found, os.stat(os.devnull))
    return False
