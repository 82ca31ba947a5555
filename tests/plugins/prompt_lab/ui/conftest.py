"""The fixtures of tests of the whole app."""

from tests.ui.conftest import (
    _parsed_once,
    album,
    cursors_stand_still,
    quick_pilot,
    time_stands_still,
    undrawn,
)

__all__ = [
    "_parsed_once",
    "album",
    "cursors_stand_still",
    "quick_pilot",
    "time_stands_still",
    "undrawn",
]
