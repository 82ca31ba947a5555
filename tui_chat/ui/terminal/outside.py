"""Another program in our place on the terminal until it is left."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from textual.app import App, SuspendNotSupported

from tui_chat.errors import InputError

ENDING_SECONDS = 1.0
"""How long a program has to give the terminal back when we end before it does."""


async def run_outside(app: App[Any], command: Sequence[str], *, advice: str = "") -> None:
    """Run a program. Meanwhile nothing is drawn, but replies go on. Raises InputError where it
    cannot be started, with `advice`, or ended with an error.
    """
    name = command[0]
    try:
        with app.batch_update(), app.suspend():
            process = await asyncio.create_subprocess_exec(*command)
            try:
                code = await process.wait()
            except asyncio.CancelledError:  # a signal ends us: the terminal is not to be its own
                with suppress(ProcessLookupError):
                    process.terminate()
                with suppress(TimeoutError):
                    await asyncio.wait_for(process.wait(), ENDING_SECONDS)
                raise
    except SuspendNotSupported as error:
        raise InputError("No other program can be opened in this terminal.") from error
    except OSError as error:
        raise InputError(f"{name} cannot be started: {error.strerror}.", advice=advice) from error
    if code:
        raise InputError(f"{name} ended with {code}; nothing is changed.")
