"""Text files on disk: read within bounds, written wholly or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from secrets import token_hex

from tui_chat.errors import InputError
from tui_chat.files import LARGEST_REQUEST, read_file

MAX_BYTES = 16 * 2**20
"""Where a file that a person writes ends; beyond it something else was named by mistake."""


def read_text(path: Path, *, max_bytes: int = LARGEST_REQUEST) -> str:
    """Read a UTF-8 file (a byte order mark is ignored). Raises InputError."""
    found = read_file(path, max_bytes)
    try:
        return found.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        line = found.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path}: line {line}: is not UTF-8 text (byte {error.start})") from error


def write_text(text: str, path: Path) -> None:
    """Write a file, wholly or not at all; its permissions stay. Raises InputError."""
    try:
        target = path.resolve()  # a link stays a link: what it points to is replaced
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
