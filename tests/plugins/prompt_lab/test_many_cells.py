"""Runs of many cells: what a cell costs does not grow, and a killed run goes on where it was."""

from __future__ import annotations

import json
import random
import subprocess
import time
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest

from tests.plugins.prompt_lab.conftest import LOOPBACK, make_case, make_suite, make_variant
from tests.support.program import DEVNULL, Program, run_program
from tui_chat.cli.app import new_id, open_http_client
from tui_chat.config import Config
from tui_chat.library.prices import load_prices
from tui_chat.plugins.prompt_lab.costs import RunBudget
from tui_chat.plugins.prompt_lab.plan import plan
from tui_chat.plugins.prompt_lab.results import LabStore
from tui_chat.plugins.prompt_lab.runner import Runner
from tui_chat.plugins.prompt_lab.values import Cell, ReplyCheck
from tui_chat.store import Store

PARTS, COUNT, CELLS = 10, 200, 40


@pytest.mark.slow
async def test_statements_of_a_cell_are_constant(tmp_path: Path) -> None:
    check = ReplyCheck("icontains", "line")
    cases = (make_case(f"{number} A line of the case.", check) for number in range(COUNT // 4))
    variants = [make_variant(name, f"Rule {name}.") for name in "abcd"]
    figures = [0]
    ended = statements = 0

    def on_cell(cell: Cell) -> None:
        nonlocal ended
        ended += cell.is_ended
        if cell.is_ended and ended % (COUNT // PARTS) == 0:
            figures.append(statements)

    def trace(_: str) -> None:
        nonlocal statements
        statements += 1

    async with (
        await Store.open(tmp_path / "chat.db", now=time.time, new_id=new_id) as store,
        open_http_client() as client,
    ):
        lab = await LabStore.open(store)
        run = await lab.add(plan(make_suite(*cases), variants), new_id(), time.time())
        await store.database._connection.set_trace_callback(trace)  # nothing public counts them
        runner = Runner(
            lab,
            run,
            config=Config(endpoints=(LOOPBACK,)),
            client=client,
            prices=load_prices(),
            budget=RunBudget(None),
            on_cell=on_cell,
        )
        await runner.send()
        assert (await lab.run()).counts == {"passed": run.total}
    counts = [after - before for before, after in pairwise(figures)]
    assert len(counts) == PARTS
    assert max(counts) <= 12 * COUNT / PARTS


@pytest.mark.slow
def test_what_killed_runs_got_is_taken_over(tmp_path: Path) -> None:
    dice, kills, folder = random.Random(0), 2, tmp_path
    check = {"type": "contains", "value": "Hello"}
    tests = [{"draft": f"Hello {number}", "assert": [check]} for number in range(CELLS)]
    suite = {"presets": ["none"], "models": ["loopback/echo:20"], "tests": tests}
    path = folder / "talk.eval.json"
    path.write_text(json.dumps(suite))
    folders = ["--data-dir", str(folder / "data"), "--config-dir", str(folder / "config")]

    command = [*folders, "eval", "run", str(path), "--reuse"]
    for _ in range(kills):
        process = Program(command, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL)
        with suppress(subprocess.TimeoutExpired):
            process.wait(dice.uniform(0.5, 4.0))
        process.kill()
        process.wait()
    run_program(*command, check=True)
    shown = run_program(*folders, "eval", "list", "--json", check=True)
    runs = json.loads(shown.stdout)
    counts = [run["cells"].get("passed", 0) for run in runs]
    assert counts == sorted(counts, reverse=True), "the newest comes first"
    assert counts[0] == CELLS
