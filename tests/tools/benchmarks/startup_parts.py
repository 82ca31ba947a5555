"""Which parts the start consists of: processor time and memory of each, as ratios to bare Textual.

    uv run python -m tests.tools.benchmarks.startup_parts [ROUNDS]

Each run is a process of its own, without a terminal, at 160x45, until the last session, the list
and the request of the draft are shown. A part is measured where it is entered; what it calls
counts for the part called (the parse of a style sheet not for applying it, the vocabulary not for
composing). The unit is the whole first frame of a bare Textual app, from `startup_costs`. Figures
are the lowest of all rounds; measuring adds about a third. What is used while nothing happens
(polls, the cursor) is `startup_costs --idle`.
"""

from __future__ import annotations

import argparse
import builtins
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from time import thread_time
from typing import Any

from tests.tools.benchmarks import startup_costs
from tests.tools.benchmarks.startup_costs import resident

PARTS = ("Python and Textual", "our modules", "vocabulary", "style sheets read", "styles applied",
         "layout", "drawing", "thread of the store", "the rest")  # fmt: skip


class Meter:
    """Processor time in seconds and memory in megabytes of each part, without the parts inside."""

    def __init__(self) -> None:
        self.used = {part: [0.0, 0.0] for part in PARTS}
        self.found: dict[str, dict[str, list[float]]] = {}
        """The same at each milestone."""
        self._now = threading.local()

    def enter(self, part: str) -> str:
        """Count what this thread uses for another part from now on; return the one before."""
        before, seconds, memory = getattr(self._now, "part", ("the rest", 0.0, 0.0))
        now = thread_time(), resident()
        if before != "the rest":
            self.used[before][0] += now[0] - seconds
            self.used[before][1] += now[1] - memory
        self._now.part = part, *now
        return before

    def measured(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function, which counts for a part."""

        @wraps(function)
        def measured(*args: Any, **kwargs: Any) -> Any:
            before = self.enter(part)
            try:
                return function(*args, **kwargs)
            finally:
                self.enter(before)

        return measured

    def milestone(self, found: dict[str, Any], name: str) -> None:
        """Note what was used until now; the last milestone ends the process."""
        used = {part: [*each] for part, each in self.used.items()}
        for thread in threading.enumerate():
            target = getattr(thread, "_target", None)
            if getattr(target, "__module__", "").startswith("aiosqlite") and thread.ident:
                clock = time.pthread_getcpuclockid(thread.ident)
                used["thread of the store"][0] += time.clock_gettime(clock)
        seconds, memory = (sum(each[i] for each in used.values()) for i in (0, 1))
        used["the rest"] = [time.process_time() - seconds, resident() - memory]
        found[name] = True
        self.found.setdefault(name, used)
        if name == "whole":
            print(json.dumps(self.found), flush=True)
            os._exit(0)
        from tui_chat.tokens import vocabularies  # not before: the first frame does without

        vocabularies._counting = self.measured("vocabulary", vocabularies._counting)


def child(folder: Path) -> None:
    meter = Meter()
    meter.enter("Python and Textual")
    from textual._compositor import Compositor
    from textual.css.stylesheet import Stylesheet
    from textual.screen import Screen

    meter.used["Python and Textual"] = [0.0, 0.0]
    meter.enter("the rest")
    meter.used["Python and Textual"] = [time.process_time(), resident()]
    for holder, name, part in (
        (builtins, "__import__", "our modules"),
        (Stylesheet, "_parse_rules", "style sheets read"),
        (Stylesheet, "apply", "styles applied"),
        (Screen, "_refresh_layout", "layout"),
        (Compositor, "render_update", "drawing"),
    ):
        setattr(holder, name, meter.measured(part, getattr(holder, name)))
    startup_costs.milestone = meter.milestone
    startup_costs.ours({}, 0, folder)


def run(cache: str) -> dict[str, dict[str, list[float]]]:
    environ = {k: v for k, v in os.environ.items() if k != startup_costs._NO_BYTECODE}
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-m", __spec__.name, "--child", folder],
            capture_output=True, text=True, check=True, timeout=120,
            env={**environ, "PYTHONPYCACHEPREFIX": cache},
        )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("rounds", type=int, nargs="?", default=5)
    parser.add_argument("--child", type=Path)
    given = parser.parse_args()
    if given.child:
        child(given.child)
        return
    with tempfile.TemporaryDirectory() as cache:
        bare = [startup_costs.run("bare", 0, cache)["typing"][0] for _ in range(given.rounds + 1)]
        runs = [run(cache) for _ in range(given.rounds + 1)][1:]
    unit = min(bare)
    print(f"{'':<20}{'typing':>9}{'MB':>6}{'whole':>9}{'MB':>6}   (bare Textual: {unit:.3f} s)")
    total = {name: [0.0, 0.0] for name in ("typing", "whole")}
    for part in PARTS:
        line = f"{part:<20}"
        for name in total:
            seconds, memory = (min(each[name][part][i] for each in runs) for i in (0, 1))
            total[name][0] += seconds / unit
            total[name][1] += memory
            line += f"{seconds / unit:>9.2f}{memory:>6.0f}"
        print(line)
    print(f"{'sum':<20}" + "".join(f"{r:>9.2f}{mb:>6.0f}" for r, mb in total.values()))


if __name__ == "__main__":
    main()
