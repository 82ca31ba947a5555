"""Signals that end the app: as its own way to quit does, and at once if that takes too long."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType

LONGEST_END = 10.0
"""Seconds that ending may take before the program ends at once. SQLite waits for five."""


def ending_signals() -> tuple[signal.Signals, ...]:
    """Return the signals that ask a program to end, as far as this system has them and nobody
    said, as `nohup` does, that they mean nothing.
    """
    names = ("SIGTERM", "SIGHUP", "SIGINT")
    found = (getattr(signal, name) for name in names if hasattr(signal, name))
    return tuple(each for each in found if signal.getsignal(each) is not signal.SIG_IGN)


@contextmanager
def end_on_signals(
    end: Callable[[signal.Signals], bool], restore: Callable[[], None]
) -> Generator[None]:
    """Have signals end the app that runs in the block.

    `end` is called in the signal handler; it returns False where nothing runs yet, so that
    SystemExit is raised instead. The second signal, or one that was answered too slowly, calls
    `restore` and ends the process at once. Its exit code is 128 and the signal's number.
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
        watchdog = threading.Timer(LONGEST_END, end_at_once, (number,))
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
