"""Where the time and the memory of starting go, as ratios to a bare Textual app in the same run.

    uv run python -m tests.tools.benchmarks.startup_costs [ROUNDS] [--idle SECONDS] [--imports]

Each program runs without a terminal at 160x45 and says at each milestone how much processor time it
has used and how much memory it holds, so that a machine with other work gives the same figures. The
rounds alternate, and all modules are compiled before. `startup` measures in a terminal, by the
clock.

    typing    the first frame is drawn; the composer takes keys
    whole     the last session, the list and the request of the draft are shown
    message   a message was sent and its reply is shown
    idle      share of a core that is used while nothing happens

`--imports` lists the modules that cost most of our own share, by `python -X importtime`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

SIZE = (160, 45)
_NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"
"""Where it is set, every start compiles all modules: two thirds of its time, and no user's."""
AIMS = {"typing": 1.2, "whole": 2.0}


def resident() -> float:
    """Memory of this process in megabytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def milestone(found: dict[str, Any], name: str) -> None:
    found[name] = [time.process_time(), resident()]


async def rest(found: dict[str, Any], seconds: float) -> None:
    """Measure what is used while nothing happens."""
    if seconds:
        await asyncio.sleep(13)  # the cursor stands still, and polls are rare
        before = time.process_time()
        await asyncio.sleep(seconds)
        found["idle"] = 100 * (time.process_time() - before) / seconds


def bare(found: dict[str, Any], idle: float) -> None:
    from textual.app import App, ComposeResult
    from textual.widgets import Static

    class Bare(App[None]):
        def compose(self) -> ComposeResult:
            yield Static("ready-to-use")

        def on_mount(self) -> None:
            self.call_after_refresh(self.drawn)

        async def drawn(self) -> None:
            milestone(found, "typing")
            await rest(found, idle)
            self.exit()

    milestone(found, "imports")
    Bare().run(headless=True, size=SIZE)


def ours(found: dict[str, Any], idle: float, folder: Path) -> None:
    from tui_chat.cli.app import open_workspace, postpone_collections
    from tui_chat.cli.common_options import CommonOptions

    postpone_collections()  # as `run_app` does
    config = CommonOptions(folder, folder, endpoint="loopback", model="echo").config()
    from tui_chat.ui.app import TuiChat

    class Measured(TuiChat):
        def on_mount(self) -> None:  # Textual also calls that of the class above
            self.call_after_refresh(self.drawn)

        def drawn(self) -> None:
            milestone(found, "typing")
            self.run_worker(self.go_on())

        async def until(self, true: Any) -> None:
            while not true():  # noqa: ASYNC110 - polled, so that nothing of ours is changed
                await asyncio.sleep(0.02)

        async def go_on(self) -> None:
            await self.until(lambda: self.is_workspace_open)
            workspace = self.workspace
            assert workspace is not None
            await self.until(lambda: workspace.state.request.live is not None)
            self.call_after_refresh(milestone, found, "whole")
            await self.until(lambda: "whole" in found)
            await rest(found, idle)
            assert await workspace.replies.submit("Hello")
            await self.until(lambda: not workspace.state.is_streaming)
            await self.until(lambda: len(workspace.state.entries) == 2)
            self.call_after_refresh(milestone, found, "message")
            await self.until(lambda: "message" in found)
            self.exit()

    milestone(found, "imports")
    Measured(config, lambda: open_workspace(config)).run(headless=True, size=SIZE)


def run(kind: str, idle: float, cache: str) -> dict[str, Any]:
    environ = {key: value for key, value in os.environ.items() if key != _NO_BYTECODE}
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-m", __spec__.name, "--child", kind, "--folder", folder,
             "--idle", str(idle)],
            capture_output=True, text=True, check=True, timeout=120,
            env={**environ, "PYTHONPYCACHEPREFIX": cache},
        )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])


def imports() -> None:
    """Print our modules and third-party ones by the time of their own import."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c",
         "import textual.app, textual.widgets; import sys; print('---', file=sys.stderr);"
         "import tui_chat.ui.app; print('---', file=sys.stderr);"
         "import tui_chat.workspace.workspace, tui_chat.store"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    for title, part in zip(
        ("Textual", "the first frame", "the workspace"), done.stderr.split("---"), strict=True
    ):
        rows = [line.split("|") for line in part.splitlines() if "|" in line and "[us]" not in line]
        costs = [(int(row[0].split(":")[1]), row[2].strip()) for row in rows]
        print(f"{title}: {sum(cost for cost, _ in costs) / 1000:.0f} ms, {len(costs)} modules")
        for cost, name in sorted(costs, reverse=True)[:15]:
            print(f"  {cost / 1000:6.1f} ms  {name}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("rounds", type=int, nargs="?", default=5)
    parser.add_argument("--idle", type=float, default=0)
    parser.add_argument("--imports", action="store_true")
    parser.add_argument("--child")
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    if given.child:
        found: dict[str, Any] = {}
        if given.child == "bare":
            bare(found, given.idle)
        else:
            ours(found, given.idle, given.folder)
        print(json.dumps(found), flush=True)
        os._exit(0)  # what is left to be closed does not count
    if given.imports:
        imports()
        return
    runs: dict[str, list[dict[str, Any]]] = {"bare": [], "ours": []}
    with tempfile.TemporaryDirectory() as cache:
        for round_ in range(given.rounds + 1):
            for kind, done in runs.items():
                found = run(kind, given.idle if round_ else 0, cache)
                if round_:  # the first round compiles the modules
                    done.append(found)
    base = statistics.median(each["typing"][0] for each in runs["bare"])
    for kind, done in runs.items():
        for name in done[0]:
            if name == "idle":
                share = statistics.median(each[name] for each in done)
                print(f"{kind} idle: {share:.2f} % of a core")
                continue
            seconds = statistics.median(each[name][0] for each in done)
            memory = statistics.median(each[name][1] for each in done)
            aim = f", aim {AIMS[name]}" if kind == "ours" and name in AIMS else ""
            ratio = f"{seconds / base:.2f} times bare{aim}"
            print(f"{kind} {name:<8} {seconds:.3f} s of CPU, {memory:3.0f} MB, {ratio}")


if __name__ == "__main__":
    main()
