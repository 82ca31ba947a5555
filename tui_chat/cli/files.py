"""The files that commands are given, `-` for the standard input among them."""

from __future__ import annotations

from pathlib import Path

from tui_chat.files import LARGEST_REQUEST, read_file, read_standard_input

STANDARD_INPUT = Path("-")


def read_bytes(path: Path) -> bytes:
    """Read a file as it is. Raises InputError naming it and the fault."""
    return read_standard_input() if path == STANDARD_INPUT else read_file(path, LARGEST_REQUEST)


def named(path: Path) -> str:
    """Return what to call a file in a sentence."""
    return "standard input" if path == STANDARD_INPUT else str(path)
