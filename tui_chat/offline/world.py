"""The outside world, as three values: time, sleep and chance.

Everything else in this package is a function of the request. A test hands in a world of its own
and never sleeps for real; the app takes the default.
"""

import os
import string
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

_ALPHABET = string.ascii_letters + string.digits


async def _sleep(seconds: float) -> None:
    import asyncio  # deferred: asking for the catalogue of models must not load an event loop

    await asyncio.sleep(seconds)


def _token(length: int) -> str:
    return "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in os.urandom(length))


@dataclass(frozen=True, slots=True)
class World:
    """Where time and chance come from."""

    now: Callable[[], float] = time.time
    """Seconds since 1970, for `created`, `date` and the like."""

    monotonic: Callable[[], float] = time.monotonic
    """Seconds on a clock that never jumps, for pacing a reply."""

    sleep: Callable[[float], Coroutine[Any, Any, None]] = _sleep
    """Waits the seconds given. Only ever called with a positive number."""

    token: Callable[[int], str] = _token
    """A random string of letters and digits of the length given, for ids and signatures."""
