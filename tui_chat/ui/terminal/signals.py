"""Ends the app on signals: as if the user quit, and at once if that takes too long."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType

END_TIMEOUT = 10.0
"""Seconds that the app may take to end; SQLite waits up to five for a lock."""


def ending_signals() -> tuple[signal.Signals, ...]:
    """Return the signals that end a program, as far as they exist and are not ignored (`nohup`)."""
    names = ("SIGTERM", "SIGHUP", "SIGINT")
    signals = (getattr(signal, name) for name in names if hasattr(signal, name))
    return tuple(number for number in signals if signal.getsignal(number) is not signal.SIG_IGN)


@contextmanager
def end_on_signals(
    end: Callable[[signal.Signals], bool], restore: Callable[[], None]
) -> Generator[None]:
    """End the app that runs in the block on a signal.

    `end` is called in the signal handler. It returns False if nothing runs yet; then SystemExit is
    raised. A second signal, or a timeout, calls `restore` and ends the process at once. The exit
    code is 128 plus the signal's number.
    """
    is_ending = False

    def end_at_once(number: int) -> None:
        restore()
        os._exit(128 + number)

    def handle(number: int, _: FrameType | None) -> None:
        nonlocal is_ending
        if is_ending:
            end_at_once(number)
        is_ending = True
        watchdog = threading.Timer(END_TIMEOUT, end_at_once, (number,))
        watchdog.daemon = True
        watchdog.start()
        if not end(signal.Signals(number)):
            raise SystemExit(128 + number)

    before = {each: signal.signal(each, handle) for each in ending_signals()}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
