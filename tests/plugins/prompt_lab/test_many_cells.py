"""What a cell costs does not grow with the run; `benchmark` measures 10,000 of them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from tests.plugins.prompt_lab.benchmark import PARTS, measure


@pytest.mark.slow
async def test_statements_of_a_cell_are_constant(tmp_path: Path):
    count = 200
    figures = await measure(tmp_path, count)
    counts = [after - before for (*_, before), (*_, after) in pairwise(figures)]
    assert len(counts) == PARTS
    assert max(counts) <= 12 * count / PARTS
