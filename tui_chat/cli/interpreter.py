"""The garbage collector in commands, with figures of the app with a session of 5,000 messages."""

from __future__ import annotations

import gc


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
