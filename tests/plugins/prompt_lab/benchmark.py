"""Many cells against the offline provider: memory, and what a cell costs, as the run grows.

python -m tests.plugins.prompt_lab.benchmark 10000
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

from tests.plugins.prompt_lab.conftest import LOOPBACK, make_case, make_suite, make_variant
from tui_chat.cli.app import new_id, open_http_client
from tui_chat.config import Config
from tui_chat.library.prices import load_prices
from tui_chat.plugins.prompt_lab.budget import RunBudget
from tui_chat.plugins.prompt_lab.plan import plan
from tui_chat.plugins.prompt_lab.results import LabStore
from tui_chat.plugins.prompt_lab.runner import Runner
from tui_chat.plugins.prompt_lab.values import Cell, ReplyCheck
from tui_chat.store import Store

PARTS = 10


def resident() -> int:
    """Return the memory of this process in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


async def measure(folder: Path, count: int) -> list[tuple[float, int, int]]:
    """Run so many cells; return seconds, memory and statements after each tenth of them."""
    text = "A line of the case. " * 20
    check = ReplyCheck("icontains", "line")
    cases = (make_case(f"{number} {text}", check) for number in range(count // 4))
    variants = [make_variant(name, f"Rule {name}. " * 40) for name in "abcd"]
    planned = plan(make_suite(*cases), variants)
    figures: list[tuple[float, int, int]] = []
    ended = statements = 0

    def on_cell(cell: Cell) -> None:
        nonlocal ended
        ended += cell.is_ended
        if cell.is_ended and ended % (count // PARTS) == 0:
            figures.append((time.perf_counter(), resident(), statements))

    def trace(_: str) -> None:
        nonlocal statements
        statements += 1

    async with (
        await Store.open(folder / "chat.db", now=time.time, new_id=new_id) as store,
        open_http_client() as client,
    ):
        lab = await LabStore.open(store)
        run = await lab.add(planned, new_id(), time.time())
        del planned
        await store.database._connection.set_trace_callback(trace)
        config = Config(endpoints=(LOOPBACK,))
        prices = load_prices(folder)
        figures.append((time.perf_counter(), resident(), 0))
        runner = Runner(
            lab,
            run,
            config=config,
            client=client,
            prices=prices,
            budget=RunBudget(None),
            on_cell=on_cell,
        )
        await runner.send("waiting")
        assert (await lab.run()).counts == {"passed": run.total}
    return figures


def main(count: int) -> None:
    """Print what each tenth of the cells costs."""
    with tempfile.TemporaryDirectory() as folder:
        figures = asyncio.run(measure(Path(folder), count))
    per = count // PARTS
    for (began, _, before), (ended, memory, after) in pairwise(figures):
        statements = (after - before) / per
        print(
            f"{(ended - began) / per * 1000:6.2f} ms a cell, {statements:5.1f} statements, "
            f"{memory / 2**20:6.1f} MB"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]))
