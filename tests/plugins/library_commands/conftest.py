"""Fixtures that the tests share with those of the core's commands about the library."""

from tests.support.library_home import home

__all__ = ["home"]
