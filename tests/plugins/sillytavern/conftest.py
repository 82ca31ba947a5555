"""Fixtures of the command line that these tests share."""

from tests.cli.test_build import build, folder
from tests.cli.test_library_commands import home

__all__ = ["build", "folder", "home"]
