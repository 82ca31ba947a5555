"""What each interpreter setting of the app buys: measured alone, against a run without any.

    uv run --no-sync python -m tests.tools.benchmarks.interpreter_settings [REPEATS]

Each run is a process of its own: the whole app, without a terminal, opens a session of 5,000
messages, types 60 characters while a reply streams, lists the sessions meanwhile, and goes back
to a short session. Runs with a setting alternate with runs without one; the figures are medians,
and in brackets their ratio to the run without a setting. Below 1 is better.
"""

from __future__ import annotations

import asyncio
import gc
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from statistics import median
from time import process_time, thread_time

from tests.tools.benchmarks.stage import (
    SIZE,
    Clock,
    fill,
    laid,
    make_app,
    memory,
    p95,
    paint,
    quiet,
)
from tui_chat.cli import app as composition_root
from tui_chat.cli import interpreter
from tui_chat.paths import database_file
from tui_chat.store import Store
from tui_chat.ui.areas.chat.composer import Composer

SETTINGS = ("none", "arenas", "trim", "freeze", "threshold", "switch", "all")
SESSIONS = {"short": 4, "long": 5_000} | {f"s{number}": 2 for number in range(300)}


def apply(setting: str) -> Callable[[], None]:
    """Apply what must precede the first thread; return what is to be called with the store open."""
    composition_root.collect_seldom = lambda: None
    composition_root.keep_heap_small = lambda: None
    if setting in ("arenas", "all"):
        interpreter.share_heap()

    def later() -> None:
        if setting in ("trim", "all"):
            interpreter.keep_heap_small()
        if setting in ("freeze", "all"):
            gc.freeze()
        if setting in ("threshold", "all"):
            interpreter.collect_seldom()
        if setting in ("switch", "all"):
            sys.setswitchinterval(0.0005)

    return later


async def run(setting: str, folder: Path) -> dict[str, float]:
    """Return the figures of one run."""
    later = apply(setting)
    pauses: list[float] = []
    began = 0.0

    def watch(phase: str, _: dict[str, int]) -> None:
        nonlocal began
        if phase == "start":
            began = thread_time()
        else:
            pauses.append((thread_time() - began) * 1e3)

    await fill(folder, SESSIONS)
    app = make_app(folder, "mirror")
    ids = (f"b{number}" for number in count())
    path = database_file(folder)
    async with (
        await Store.open(path, now=time.time, new_id=lambda: next(ids)) as store,
        app.run_test(size=SIZE) as pilot,
    ):
        await laid(pilot)
        later()
        gc.callbacks.append(watch)
        desk = app.workspace
        assert desk is not None
        await desk.open("long")
        await quiet(pilot)
        paint(app)
        opened = process_time()
        await desk.choose("loopback", "lorem:max:4000")
        app.query_one(Composer).focus()
        reply = asyncio.create_task(desk.submit("Go on."))
        await asyncio.sleep(0.2)
        keys: list[float] = []
        lists: list[float] = []
        for number in range(60):
            clock = Clock()
            await pilot.press("a")
            paint(app)
            keys.append(clock.read()[0])
            if number % 10 == 0:
                clock = Clock()
                await store.sessions.list()
                lists.append(clock.read()[0])
        worked = process_time() - opened
        await reply
        await desk.open("short")
        await asyncio.sleep(6)  # longer than the interval of `keep_heap_small`
        gc.callbacks.remove(watch)
        return {
            "memory MB": memory(),
            "longest collection ms": max(pauses, default=0.0),
            "all collections ms": sum(pauses),
            "key p95 ms": p95(keys),
            "session list ms": max(lists),
            "work s": worked,
        }


def child(setting: str) -> None:
    """Run once and print the figures as JSON."""
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(asyncio.run(run(setting, Path(folder)))))


def main() -> None:
    """Run every setting in turn, several times; print medians and ratios."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    found: dict[str, list[dict[str, float]]] = {setting: [] for setting in SETTINGS}
    for _ in range(repeats):
        for setting in SETTINGS:
            command = [
                sys.executable,
                "-m",
                "tests.tools.benchmarks.interpreter_settings",
                "-",
                setting,
            ]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            found[setting].append(json.loads(done.stdout.splitlines()[-1]))
    print(time.strftime("%Y-%m-%d"), f"{repeats} runs each")
    for figure in found["none"][0]:
        base = median(run[figure] for run in found["none"])
        print(f"{figure:<24}", end="")
        for setting in SETTINGS:
            value = median(run[figure] for run in found[setting])
            print(f"  {setting} {value:.1f} ({value / base if base else 1:.2f})", end="")
        print()


if __name__ == "__main__":
    if sys.argv[1:2] == ["-"]:
        child(sys.argv[2])
    else:
        main()
