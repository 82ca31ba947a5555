"""Interpreter settings of the commands, each with the figure that it is worth: measured alone, in
the whole app with a session of 5,000 messages.
"""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Callable


def postpone_collections() -> None:
    """Run the garbage collector hardly ever until `collect_seldom`: neither the modules that the
    start imports nor the first screen are garbage, and to find that out takes 60 ms.
    """
    gc.set_threshold(500_000, 20, 50)


def collect_seldom() -> None:
    """Run the garbage collector less often, and never on what there is already.

    Objects that are read by the thousands, from a file or the database, are not garbage. While a
    session is open the longest collection takes 22 ms instead of 103 ms, and all of them together
    33 ms instead of 559 ms.
    """
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def share_heap() -> None:
    """Let all threads allocate from one heap of the GNU C library, which saves 20 MB after a long
    session was closed. To be called before there is a second thread.
    """
    if mallopt := _c_library_function("mallopt"):
        mallopt(_M_ARENA_MAX, 1)


def keep_heap_small() -> None:
    """Return free heap memory to the system every few seconds, from the running event loop: 40 MB
    after a long session was closed; one call takes less than 1 ms.
    """
    if trim := _c_library_function("malloc_trim"):
        _trim_often(asyncio.get_running_loop(), trim)


def _trim_often(loop: asyncio.AbstractEventLoop, trim: Callable[..., int]) -> None:
    trim(0)
    loop.call_later(5.0, _trim_often, loop, trim)


_M_ARENA_MAX = -8  # mallopt(3)


def _c_library_function(name: str) -> Callable[..., int] | None:
    """Return a function of the GNU C library; None if there is another one."""
    if sys.platform != "linux":
        return None
    from ctypes import CDLL

    return getattr(CDLL(None), name, None)
