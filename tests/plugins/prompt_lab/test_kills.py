"""Killed runs, resumed: every cell exactly once. `kills` does it as often as wanted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plugins.prompt_lab.kills import run_with_kills


@pytest.mark.slow
def test_every_cell_is_stored_once(tmp_path: Path):
    assert run_with_kills(tmp_path, kills=3) >= 1
