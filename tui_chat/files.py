"""Opening files that the user names, and making folders of the program's own.

1. Only regular files are read: a named pipe would wait for a writer, and a device may never end.
   The type of a path is checked before it is opened (opening a device can have effects) and again
   afterwards (the path may lead elsewhere by then); opening itself never blocks.
2. Everything is read with a size limit, the standard input included.
3. A text file is written wholly or not at all.
4. Folders that the program makes are accessible to their owner only, whatever the umask:
   conversations are private.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import IO, BinaryIO, cast

from tui_chat.errors import InputError

LARGEST_REQUEST = 128 * 2**20
"""Bytes of a request or a reply. Providers accept up to 100 MB."""

LARGEST_INPUT = 2 * 2**30
"""Bytes of conversations on the standard input, which are copied to a temporary file."""

MAX_BYTES = 16 * 2**20
"""Bytes of a file that people write by hand, such as a preset; a larger one is a mistake."""

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

    Raises OSError, also if the path is no regular file (`strerror` says what it is), and
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

    Raises InputError, naming the path and the fault.
    """
    try:
        with open_file(path) as file:
            return _within(file, limit, str(path))
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        fault = (error.strerror or error) if isinstance(error, OSError) else error
        raise InputError(f"{path}: cannot be read: {fault}") from error


def read_text(path: Path, *, max_bytes: int = LARGEST_REQUEST) -> str:
    """Read a UTF-8 file; a byte order mark is dropped, line ends become LF. Raises InputError."""
    found = read_file(path, max_bytes)
    try:
        return found.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        line = found.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path}: line {line}: is not UTF-8 text (byte {error.start})") from error


def write_text(text: str, path: Path) -> None:
    """Write a file atomically; an existing file keeps its permissions. Raises InputError."""
    try:
        target = path.resolve()  # a symbolic link stays: the file it points to is replaced
        temporary = target.with_name(f".{target.name}.{token_hex(4)}.tmp")
        try:
            with temporary.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            if target.exists():
                temporary.chmod(target.stat().st_mode & 0o777)
            temporary.replace(target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path, a lone surrogate
        fault = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{path}: cannot be written: {fault}") from error


def read_standard_input(limit: int = LARGEST_REQUEST) -> bytes:
    """Return the standard input, at most `limit` bytes. Raises InputError."""
    try:
        return _within(standard_input(), limit, "standard input")
    except (OSError, ValueError) as error:  # ValueError: it was closed
        fault = (error.strerror or error) if isinstance(error, OSError) else error
        raise InputError(f"standard input: cannot be read: {fault}") from error


def copy_standard_input(target: IO[bytes], limit: int = LARGEST_INPUT) -> None:
    """Copy the standard input, at most `limit` bytes, to an open file. Raises InputError."""
    source, size = standard_input(), 0
    while chunk := source.read(_CHUNK):
        size += len(chunk)
        if size > limit:
            raise _too_large("standard input", limit, "Save it as a file, and name that.")
        target.write(chunk)


def standard_input() -> BinaryIO:
    """Return the standard input for reading bytes.

    Raises InputError if it is a device other than a terminal or the null device.
    """
    source = cast("BinaryIO", sys.stdin.buffer)
    try:
        number = source.fileno()
        found = os.fstat(number)
    except (OSError, ValueError):  # not a file of the system, as in tests
        return source
    is_device = stat.S_ISCHR(found.st_mode) or stat.S_ISBLK(found.st_mode)
    if is_device and not os.isatty(number) and not _is_null(found):
        raise InputError(
            "standard input: is a device, which may never end.",
            advice="Give it a file or the output of a program.",
        )
    return source


def require_regular(path: Path) -> None:
    """Raise OSError, as `open_file` does, if the path exists and is no regular file."""
    with suppress(FileNotFoundError):
        _require_regular(path, os.stat(path).st_mode)


def make_private_folder(folder: Path) -> None:
    """Make a folder and its missing parents, accessible to the owner only.

    An existing folder is left as it is. Raises OSError.
    """
    missing: list[Path] = []
    above = folder
    while not above.exists():
        missing.append(above)
        if above == above.parent:
            break
        above = above.parent
    for each in reversed(missing):
        with suppress(FileExistsError):  # another program made it meanwhile
            each.mkdir(mode=0o700)
    if not folder.is_dir():
        folder.mkdir()  # raises the reason


def restrict(path: Path, mode: int) -> None:
    """Remove all permissions of group and others beyond `mode` from a file or folder.

    Files of other users, shared folders (`/tmp`) and the home folder are left as they are, and so
    are file systems without permissions.
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
    """Read to the end. Raises InputError if there is more than `limit` bytes."""
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
