"""Fixtures that the tests of salvage share with those of stores and of the screen."""

from tests.support.stores import clock, new_id, open_store, path, store

__all__ = [
    "clock",
    "new_id",
    "open_store",
    "path",
    "store",
]
