"""`tui-chat inspect`: the app, opened on a request that was captured somewhere, or on a turn that
was exported.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, cast

from tui_chat.analysis import read_captured
from tui_chat.cli.app import run_app
from tui_chat.cli.files import STANDARD_INPUT, named, read_bytes
from tui_chat.errors import InputError
from tui_chat.recipe import holds_turn, read_turn


def run_inspect(settings: dict[str, object], file: Path) -> None:
    """Open the screen on a captured request and stay until it is closed.

    Raises InputError where there is none in the file, before anything is shown.
    """
    text = read_bytes(file).decode("utf-8", "replace")
    try:
        if holds_turn(text):
            read_turn(text, "the turn")
        else:
            read_captured(text)
    except InputError as error:
        raise InputError(f"{named(file)}: {error}", advice=error.advice) from error
    if file == STANDARD_INPUT:
        _take_terminal()
    run_app(**cast("dict[str, Any]", settings), captured=text)


def _take_terminal() -> None:
    """Read keys from the terminal again, where the standard input was something else."""
    try:
        terminal = os.open("/dev/tty", os.O_RDWR)
    except OSError as error:  # no terminal, or a system that has no such file
        advice = "Keep the request in a file, and name that."
        raise InputError("The screen needs a terminal to read keys from.", advice=advice) from error
    os.dup2(terminal, 0)
    os.close(terminal)
