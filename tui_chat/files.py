"""Reading and writing files that the user names, and creating private folders.

1. Only regular files are read: a named pipe would wait for a writer, and a device may never end.
   The type of a path is checked before it is opened (opening a device can have effects) and again
   afterwards (the path may lead elsewhere by then); opening itself never blocks.
2. Everything is read with a size limit, the standard input included.
3. A file is written completely or not at all, by `open_for_replacement`.
4. Folders that the program creates are accessible to their owner only, whatever the umask. `Access`
   says who may read a file.
"""

from __future__ import annotations

import errno
import os
import signal
import stat
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import partial
from io import TextIOWrapper
from itertools import chain, count
from pathlib import Path
from secrets import token_hex
from typing import Any, BinaryIO, Literal, TextIO, TypeAlias, cast

from tui_chat.errors import ConfigError, InputError
from tui_chat.models.json_text import is_deeper

STANDARD_INPUT = Path("-")

LARGEST_REQUEST = 128 * 2**20
"""Maximum bytes of a request or a reply. Providers accept up to 100 MB."""

MAX_BYTES = 16 * 2**20
"""Maximum bytes of a file that people write, such as a preset."""

_MAX_TOML_BYTES = 2**20
"""Maximum bytes of a TOML file."""
_MAX_TOML_DOTS = 500
"""Maximum dots in a line: `tomllib` takes a minute for a key with 50,000 (`a.a.a = 1`)."""
_MAX_TOML_DEPTH = 50
"""Maximum levels of tables and arrays."""

Access: TypeAlias = Literal["private", "own", "shared"]
"""The readers of a file that is written.

    private   the owner: what the program remembers, and everything with conversations in it
    own       the owner if the file is new, else who could before: presets, profiles, settings
    shared    who the umask allows, and no one who could not before: other exports
"""

_CHUNK = 2**20
_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


@contextmanager
def file_errors(path: Path | str, done: str) -> Generator[None]:
    """Make an InputError of what the system refuses in the block: `path` cannot be `done`."""
    try:
        yield
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path, a lone surrogate
        fault = (error.strerror or error) if isinstance(error, OSError) else error
        raise InputError(f"{path} cannot be {done}: {fault}") from error


def open_file(path: Path) -> BinaryIO:
    """Open a regular file for reading bytes.

    Raises OSError, also if the path is not a regular file (`strerror` says what it is), and
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
    """Return the content of a regular file, or of the standard input for `-`, of at most `limit`
    bytes.

    Raises InputError, naming the path and the fault.
    """
    if path == STANDARD_INPUT:
        return read_standard_input(limit)
    with file_errors(path, "read"), open_file(path) as file:
        return _within(file, limit, str(path))


def read_text(path: Path, *, max_bytes: int = LARGEST_REQUEST) -> str:
    """Read a UTF-8 file; a byte order mark is dropped, line ends become LF. Raises InputError."""
    return decode_text(read_file(path, max_bytes), path)


def decode_text(found: bytes, path: Path) -> str:
    """Return the content of a file as `read_text` does. Raises InputError."""
    try:
        return found.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        line = found.count(b"\n", 0, error.start) + 1
        fault = f"line {line} is not UTF-8 text (byte {error.start})"
        raise InputError(f"{input_name(path)}: {fault}") from error


def read_toml(path: Path) -> dict[str, Any]:
    """Return the tables of a TOML file; see `parse_toml`. Raises ConfigError."""
    return parse_toml(read_toml_text(path), input_name(path))


def read_toml_text(path: Path) -> str:
    """Return the text of a TOML file. Raises ConfigError, which names file and fault, if it cannot
    be read, is not a regular file, is larger than 1 MiB, or is not UTF-8.
    """
    try:
        return read_file(path, _MAX_TOML_BYTES).decode("utf-8")
    except InputError as error:
        raise ConfigError(str(error), advice=error.advice) from None
    except UnicodeDecodeError as error:
        name = input_name(path)
        raise ConfigError(f"{name} is not TOML, which is UTF-8 text: {error}") from None


def parse_toml(text: str, name: str) -> dict[str, Any]:
    """Return the tables of a TOML text; `name` is what errors call it.

    Raises ConfigError, which says where the fault is, if it is not TOML or nested too deeply.
    """
    import tomllib  # only needed here

    try:
        if any(line.count(".") > _MAX_TOML_DOTS for line in text.split("\n")):
            raise ConfigError(f"{name} {_TOML_TOO_DEEP}")
        table = tomllib.loads(text)
    except RecursionError:
        raise ConfigError(f"{name} {_TOML_TOO_DEEP}") from None
    except ValueError as error:  # TOMLDecodeError, and a number of too many digits
        raise ConfigError(f"{name} is not TOML: {error}") from None
    if is_deeper(table, _MAX_TOML_DEPTH):
        raise ConfigError(f"{name} {_TOML_TOO_DEEP}")
    return table


_TOML_TOO_DEEP = f"is nested too deeply, over {_MAX_TOML_DEPTH} levels"


@contextmanager
def open_for_replacement(
    path: Path, access: Access = "own", *, durable: bool = True
) -> Generator[TextIOWrapper]:
    """Open a UTF-8 text file for writing; the path has its content when the block has ended, and
    its old content if the block raises. Without `durable`, a power failure may lose both.

    A pipe or a device is written to directly. Raises InputError.
    """
    with file_errors(path, "written"):
        if path.exists() and not (path.is_file() or path.is_dir()):
            with path.open("w", encoding="utf-8", newline="\n") as file:
                yield file
            return
        target = path.resolve()  # a symbolic link stays: the file it points to is replaced
        temporary = target.with_name(f".{target.name}.{token_hex(4)}.tmp")
        try:
            opener = partial(os.open, mode=0o666) if access == "shared" else _open_for_owner
            with open(temporary, "x", encoding="utf-8", newline="\n", opener=opener) as file:
                yield file
                file.flush()
                if durable:
                    os.fsync(file.fileno())
            if access != "private" and target.exists():
                before = stat.S_IMODE(target.stat().st_mode)
                allowed = stat.S_IMODE(temporary.stat().st_mode) if access == "shared" else 0o777
                temporary.chmod(before & allowed)
            temporary.replace(target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def _open_for_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def write_text(text: str, path: Path, access: Access = "own") -> None:
    """Write a regular file as `open_for_replacement` does. Raises InputError."""
    if path.exists() and not path.is_file():  # a pipe would wait for a reader
        raise InputError(f"{path} cannot be written: it is not a regular file")
    with open_for_replacement(path, access) as file:
        file.write(text)


def open_private(path: Path, mode: Literal["w", "a"]) -> TextIO:
    """Open a text file that grows for a long time, which only the user can read. Raises InputError.

    A pipe or a device is written to as it is.
    """
    with file_errors(path, "written"):
        file = open(path, mode, encoding="utf-8", newline="", opener=_open_for_owner)  # noqa: SIM115  the caller closes it
    if path.is_file():
        restrict(path, 0o600)  # it may have been there
    return file


def write_private(text: str, path: Path) -> None:
    """Write a file that the user did not ask for, and its missing folders. Raises InputError."""
    with file_errors(path.parent, "created"):
        make_private_folder(path.parent)
    with open_for_replacement(path, "private", durable=False) as file:  # a key press waits for it
        file.write(text)


def write_new_file(path: Path, content: bytes) -> Path:
    """Write a private file, numbered if its name is taken; return the path. Raises InputError."""
    numbered = (path.with_stem(f"{path.stem}-{number}") for number in count(2))
    with file_errors(path, "written"):
        make_private_folder(path.parent)
        for each in chain((path,), numbered):
            with suppress(FileExistsError), open(each, "xb", opener=_open_for_owner) as file:
                file.write(content)
                return each
    raise AssertionError  # there is always another number


def write_bytes(content: bytes, path: Path, access: Access, *, overwrite: bool) -> None:
    """Write a file as `open_for_replacement` does. Raises InputError, also where one must stay."""
    if path.exists() and not (overwrite and path.is_file()):
        fault = "it exists already" if path.is_file() else "it is not a regular file"
        raise InputError(f"{path} cannot be written: {fault}")
    with open_for_replacement(path, access) as file:
        file.buffer.write(content)


def read_standard_input(limit: int = LARGEST_REQUEST) -> bytes:
    """Return at most `limit` bytes of standard input. Raises InputError, KeyboardInterrupt."""
    with file_errors("standard input", "read"), _interruptible():
        return _within(standard_input(), limit, "standard input")


def input_name(path: Path) -> str:
    """Return what errors call a file, or the standard input for `-`."""
    return "standard input" if path == STANDARD_INPUT else str(path)


@contextmanager
def _interruptible() -> Generator[None]:
    """Let Ctrl+C end the block at once: an event loop would wait for what blocks it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    if before in (signal.SIG_IGN, None):  # a program that was started in the background
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


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
    with suppress(OSError):
        is_device = is_device and not os.path.samestat(found, os.stat(os.devnull))
    if is_device and not os.isatty(number):
        raise InputError(
            "standard input is a device, which may never end.",
            advice="Use a file or the output of a program.",
        )
    return source


def make_private_folder(folder: Path) -> None:
    """Create a folder and its missing parents, accessible to the owner only.

    An existing folder is not changed. Raises OSError.
    """
    missing: list[Path] = []
    above = folder
    while not above.exists():
        missing.append(above)
        if above == above.parent:
            break
        above = above.parent
    for each in reversed(missing):
        with suppress(FileExistsError):  # another program created it meanwhile
            each.mkdir(mode=0o700)
    if not folder.is_dir():
        folder.mkdir()  # raises the reason


def restrict(path: Path, mode: int) -> None:
    """Remove all permissions of group and others beyond `mode` from a file or folder.

    Files of other users, shared folders (`/tmp`), the home folder and file systems without
    permissions are not changed.
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
    while True:
        size = min(_CHUNK, limit + 1 - len(found))
        chunk = file.read(size)
        found += chunk
        if len(found) > limit:
            raise InputError(f"{name} is larger than {limit // 2**20:,} MiB.")
        if len(chunk) < size:  # another read would need a second Ctrl+D on a terminal
            return bytes(found)


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
