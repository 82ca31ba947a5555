"""Setting Python up for what the commands do."""

from __future__ import annotations

import gc
import sys
from contextlib import suppress


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
    if sys.platform == "linux":
        from ctypes import CDLL

        with suppress(AttributeError):  # another C library
            CDLL(None).mallopt(_M_ARENA_MAX, 1)


_M_ARENA_MAX = -8  # mallopt(3)
