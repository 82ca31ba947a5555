"""Fixtures that the tests share with those of the core's commands about the library."""

from tests.cli.test_library_commands import home

__all__ = ["home"]
