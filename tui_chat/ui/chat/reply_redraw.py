"""When a growing reply is drawn: a dozen times a second, less often where drawing takes long."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from textual.timer import Timer
from textual.widget import Widget

REDRAW_INTERVAL = 1 / 12
"""Minimum seconds between two redraws of a growing reply; three times its cost, if that is more."""


class ReplyRedraw:
    """Draws a widget soon after it was asked to, at intervals."""

    def __init__(self, widget: Widget, draw: Callable[[], None]) -> None:
        self._widget, self._draw = widget, draw
        self._is_requested = False
        """True if something changed that is not drawn yet."""
        self._drawn_at = 0.0
        self._cost = 0.0
        """Seconds that the last redraw took."""
        self._timer: Timer | None = None

    def request(self) -> None:
        """Draw now, or when the interval has passed."""
        self._is_requested = True
        if self._timer is None:
            interval = max(REDRAW_INTERVAL, 3 * self._cost)
            wait = interval - (monotonic() - self._drawn_at)
            if wait <= 0:
                self.flush()
            else:
                self._timer = self._widget.set_timer(wait, self.flush)

    def flush(self) -> None:
        """Draw now if it was requested since the last redraw."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        if self._is_requested:
            self._is_requested = False
            began = monotonic()
            self._draw()
            self._drawn_at = monotonic()
            self._cost = self._drawn_at - began
