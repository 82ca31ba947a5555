"""Fixtures that the tests of the screen and of commands share."""

from tests.cli.test_import_export import chat, file, filled
from tests.cli.test_output import database, servers, stored, world

__all__ = [
    "chat",
    "database",
    "file",
    "filled",
    "servers",
    "stored",
    "world",
]
