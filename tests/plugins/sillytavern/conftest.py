"""Fixtures of the command line that these tests share."""

from tests.support.build_command import build, folder
from tests.support.library_home import home

__all__ = ["build", "folder", "home"]
