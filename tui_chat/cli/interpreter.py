"""Setting Python up for what the commands do."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Callable


def collect_seldom() -> None:
    """Look for garbage less often. What is read by the thousands, of a file or the database, is no
    garbage, and looking at it over and over takes a tenth of an import and a quarter of a list.
    """
    gc.set_threshold(50_000, 20, 50)


def tune_interpreter() -> None:
    """Set Python up for a program that somebody looks at.

    What is loaded by now, as it stays, is kept out of the garbage collector's way, and the rest is
    looked at less often: its pauses, a tenth of a second each, would be felt while text streams in.
    Threads are given their turn ten times as often: SQLite asks for one at every row, and while a
    reply comes at full speed each would take 5 ms, so that a list of sessions takes seconds.
    """
    gc.freeze()
    collect_seldom()
    sys.setswitchinterval(0.0005)


def share_heap() -> None:
    """Have all threads take memory from one heap. The GNU C library gives each its own, where what
    SQLite's thread has let go of stays unused by the others: 10 MB after a long session was read.
    To be called before there is a second thread.
    """
    if mallopt := _of_the_c_library("mallopt"):
        mallopt(_M_ARENA_MAX, 1)


def keep_heap_small() -> None:
    """Now and then give back what is free in the heap, from the running event loop: after a long
    session was read and laid out that is 6 MB, and giving them back takes less than 1 ms.
    """
    loop, malloc_trim = asyncio.get_running_loop(), _of_the_c_library("malloc_trim")
    if malloc_trim is None:
        return
    trim = malloc_trim

    def give_back() -> None:
        trim(0)
        loop.call_later(_SECONDS, give_back)

    loop.call_later(_SECONDS, give_back)


_M_ARENA_MAX = -8  # mallopt(3)
_SECONDS = 5.0


def _of_the_c_library(name: str) -> Callable[..., int] | None:
    """Return a function of the GNU C library; None where there is another one."""
    if sys.platform != "linux":
        return None
    from ctypes import CDLL

    return getattr(CDLL(None), name, None)
