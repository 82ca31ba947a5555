"""The times of key presses: no key typed ahead must answer a question of consent."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic


class KeyClock:
    """Counts the seconds without a key."""

    def __init__(self, now: Callable[[], float] = monotonic) -> None:
        """`now` returns seconds of a clock that never goes back."""
        self.now = now
        self.are_keys_waiting: Callable[[], bool] = lambda: False
        """Returns True while keys that were pressed are not delivered; the key queue sets it."""
        self._last = now()
        """The time at which a key was last pressed or delivered."""

    def key_moved(self) -> None:
        """A key reached the app, or left it for the focused widget."""
        self._last = self.now()

    def quiet_seconds(self, since: float = float("-inf")) -> float:
        """Return the seconds without a key, at most those after `since`; 0 while keys wait."""
        return 0.0 if self.are_keys_waiting() else self.now() - max(self._last, since)
