"""Fixtures that the tests of the screen and of commands share."""

from tests.support.hostile_world import database, servers, stored, world
from tests.support.imported_sessions import chat, file, filled

__all__ = [
    "chat",
    "database",
    "file",
    "filled",
    "servers",
    "stored",
    "world",
]
