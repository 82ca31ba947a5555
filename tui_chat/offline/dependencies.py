"""Time, sleep and randomness, as values that a test can replace.

Everything else in this package is a function of the request.
"""

import os
import string
import time
from collections.abc import Callable, Coroutine
from typing import Any

from tui_chat.lazy_dataclass import dataclass

_ALPHABET = string.ascii_letters + string.digits


async def _sleep(seconds: float) -> None:
    import asyncio  # deferred: the catalogue of models is read without an event loop

    await asyncio.sleep(seconds)


def _random_id(length: int) -> str:
    return "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in os.urandom(length))


@dataclass(frozen=True, slots=True)
class OfflineDependencies:
    """The sources of time and randomness."""

    now: Callable[[], float] = time.time
    """Seconds since 1970, for `created`, `date` and similar fields."""

    monotonic: Callable[[], float] = time.monotonic
    """Seconds on a clock that never jumps, for the speed of a reply."""

    sleep: Callable[[float], Coroutine[Any, Any, None]] = _sleep
    """Waits the given seconds. Only called with a positive number."""

    random_id: Callable[[int], str] = _random_id
    """Returns random letters and digits of the given length, for ids and signatures."""
