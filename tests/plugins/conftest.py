"""Fixtures that the tests of plugins share with those of the command line and the workspace."""

from tests.support.command_line import run
from tests.support.workspace import make_workspace

__all__ = ["make_workspace", "run"]
