"""Fixtures that the tests of the screen and of commands share."""

from tests.cli.test_import_export import chat, file, filled
from tests.cli.test_output import database, servers, stored, world
from tests.ui.conftest import album, cursors_stand_still, quick_pilot, time_stands_still, undrawn

__all__ = [
    "album",
    "chat",
    "cursors_stand_still",
    "database",
    "file",
    "filled",
    "quick_pilot",
    "servers",
    "stored",
    "time_stands_still",
    "undrawn",
    "world",
]
