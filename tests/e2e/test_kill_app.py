"""The whole program, ended at random moments of a stream; `tests.tools.benchmarks.kills` does it
300 times.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.tools.benchmarks.kills import Life, run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs a pty")


def test_exits_at_random_moments_lose_nothing(tmp_path: Path) -> None:
    lives: Sequence[Life] = run(tmp_path, kills=6, terms=4, hangups=4)
    faults = [life.faults for life in lives if life.faults]
    assert not faults, faults
    assert all(life.acknowledged for life in lives)
