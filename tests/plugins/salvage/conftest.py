"""Fixtures that the tests of salvage share with those of stores and of the screen."""

from tests.support.stores import clock, new_id, open_store, path, store
from tests.ui.conftest import _parsed_once, cursors_stand_still, quick_pilot, undrawn

__all__ = [
    "_parsed_once",
    "clock",
    "cursors_stand_still",
    "new_id",
    "open_store",
    "path",
    "quick_pilot",
    "store",
    "undrawn",
]
