"""Laying a long body out for another width beside the work on the screen, which comes first.

A border that is dragged passes many widths, and each would take up half a second of the
interpreter's time. So a width must stay for a moment, and the work for one that has passed ends.
"""

from __future__ import annotations

import asyncio
import time
from itertools import count
from threading import Event

from tui_chat.models.payload import Payload
from tui_chat.ui.inspector.layout import Layout

LONG = 4_000
"""Rows from which a body is long."""
SETTLED = 0.1
"""Seconds for which a width stays before a body is laid out for it."""


class _Passed(Exception):
    """There is another width."""


async def laid_out(payload: Payload, width: int, passed: Event) -> Layout | None:
    """Return how a payload is laid out; None where `passed` was set meanwhile."""
    pauses = count()

    def pause() -> None:
        if passed.is_set():
            raise _Passed
        if next(pauses) % 8 == 0:  # each takes a tenth of a millisecond
            time.sleep(0)  # gives the interpreter to whoever waits for it

    await asyncio.sleep(SETTLED)
    try:
        return await asyncio.to_thread(Layout, payload, width, pause=pause)
    except _Passed:
        return None
    finally:
        passed.set()
