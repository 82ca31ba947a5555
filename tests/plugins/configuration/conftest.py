"""Fixtures that the tests of the screen share."""

from tests.ui.conftest import album, cursors_stand_still, quick_pilot, time_stands_still, undrawn

__all__ = ["album", "cursors_stand_still", "quick_pilot", "time_stands_still", "undrawn"]
