"""How soon the app answers a key while cases run.

    uv run python -m tests.plugins.prompt_lab.benchmark_keys [CASES]

Opens Cases with an edited preset beside the saved one, sends the plan to the offline provider, and
moves the cursor all the while. Prints the time from a key to its cursor: median, 95th percentile
and longest, with nothing sent and while requests are sent. The goal is 50 ms.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter

from tests.plugins.prompt_lab.ui.test_cases_view import PRESET, edit, open_cases
from tests.support.app import make_app, opened, until
from tui_chat.plugins.prompt_lab.cases_view import CasesView

CASES = 1_000
PAUSE = 0.02
"""Seconds between two keys, as while a key is held down."""
FRAME = 0.001


async def answered(view: CasesView, wanted: Callable[[], bool], most: int) -> list[float]:
    """Press keys while something is so; return the milliseconds until each is answered."""
    times: list[float] = []
    while wanted() and len(times) < most:
        before = view.cursor
        began = perf_counter()
        view.app.simulate_key("down" if len(times) % 2 else "up")
        while view.cursor == before and perf_counter() - began < 5:  # noqa: ASYNC110  no event says so
            await asyncio.sleep(FRAME)
        times.append((perf_counter() - began) * 1e3)
        await asyncio.sleep(PAUSE)
    return times


def shown(title: str, times: list[float]) -> None:
    worst = quantiles(times, n=20)[-1] if len(times) > 1 else times[0]
    print(
        f"{title:<14} {len(times):>5,} keys · median {median(times):.1f} ms · "
        f"95% {worst:.1f} ms · longest {max(times):.1f} ms",
        flush=True,
    )


async def main(cases: int) -> None:
    with tempfile.TemporaryDirectory() as created:
        folder = Path(created)
        for name in ("presets", "cases"):
            (folder / name).mkdir()
        (folder / "presets" / "tutor.json").write_text(json.dumps(PRESET))
        tests = [{"vars": {"draft": f"Question {number}?"}} for number in range(cases)]
        (folder / "cases" / "tutor.eval.json").write_text(json.dumps({"tests": tests}))
        app = make_app(folder, model="lorem:max:200")
        async with app.run_test(size=(160, 45)) as pilot:
            await opened(pilot)
            assert app.workspace is not None
            await app.workspace.presets.choose("tutor")
            edit(pilot, "Never tell the answer.")
            view = await open_cases(pilot)
            await until(pilot, lambda: view.table is not None and bool(view.table.plan.cells))
            table = view.table
            assert table is not None
            view.set_cursor(view._first_row + 9)
            shown("nothing sent", await answered(view, lambda: True, 100))
            began = perf_counter()
            table.send()
            shown("while sending", await answered(view, lambda: table.is_sending, 10_000))
            seconds = perf_counter() - began
            count = len(table.plan.cells) - len(table.missing)
            print(f"{count:,} requests in {seconds:.1f} s, {seconds / count * 1e3:.1f} ms each")
            await table.stop()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else CASES))
