"""Workspaces wired like in the app; see `tests/e2e/conftest.py`."""

from __future__ import annotations

from tests.e2e.conftest import make_workspace

__all__ = ["make_workspace"]
