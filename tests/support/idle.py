"""When the app under test has come to rest.

Textual's own test waits until the process used almost no CPU time for 20 ms, at least twice a key,
and lets the screen's timer draw at its next tick: four fifths of what the screen tests took. Here
what is due on the screen is drawn at once, and a shorter look is enough.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from time import monotonic, process_time
from typing import Any

from textual.app import App, ScreenStackError

from tui_chat.ui.app import TuiChat

LOOK = 0.004
"""Seconds in which an app at rest uses a tenth of the CPU time at most."""


async def wait_for_rest(apps: Iterable[App[Any]], seconds: float = 1, looks: int = 1) -> None:
    """Wait until so many looks, one after another, find that nothing is drawn or computed and no
    key waits, for so many seconds at most.
    """
    began, at_rest, watched = monotonic(), 0, list(apps)
    while at_rest < looks and monotonic() - began < seconds:
        used = process_time()
        await asyncio.sleep(LOOK)
        is_busy = sum(map(_draw, watched)) or process_time() - used > LOOK / 10
        at_rest = 0 if is_busy or any(map(_has_keys, watched)) else at_rest + 1


def _has_keys(app: App[Any]) -> bool:
    return isinstance(app, TuiChat) and not app.key_queue.is_idle


def _draw(app: App[Any]) -> bool:
    """Draw what the screen's timer would draw at its next tick; false if there is nothing."""
    try:
        screen = app.screen
    except ScreenStackError:
        return False
    if not screen._update_timer._active.is_set():
        return False
    screen._on_timer_update()
    return True
