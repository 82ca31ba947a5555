"""The files that commands are given, `-` for the standard input among them."""

from __future__ import annotations

import sys
from pathlib import Path

from tui_chat.errors import InputError

STANDARD_INPUT = Path("-")


def read_bytes(path: Path) -> bytes:
    """Read a file as it is. Raises InputError naming it and the fault."""
    try:
        return sys.stdin.buffer.read() if path == STANDARD_INPUT else path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        fault = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{named(path)}: cannot be read: {fault}") from error


def named(path: Path) -> str:
    """Return what to call a file in a sentence."""
    return "standard input" if path == STANDARD_INPUT else str(path)
