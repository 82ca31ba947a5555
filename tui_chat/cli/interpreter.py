"""Setting Python up for what the commands do."""

from __future__ import annotations

import gc
import sys


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
