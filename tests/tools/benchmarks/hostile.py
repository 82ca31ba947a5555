"""What a hostile provider costs the whole app: memory, and how long it does not hear a key.

    uv run --no-sync python -m tests.tools.benchmarks.hostile [--megabytes N] [CASE ...]

Each case of `tests.support.hostile_server` runs in a process of its own, which sends a message to
a server in this one. Printed are the memory that the process had at its peak beyond what it had
before it sent, the longest time that the event loop did one thing, with its processor time, and
what a press of Esc took until the reply had ended, where one was needed; then how the reply ended.
The aims: 200 ms for the loop and for Esc, and twice the ceiling of a stream for the memory. On a
busy machine the processor time is what counts: the rest is waiting for a turn.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import threading
import traceback
from pathlib import Path
from time import perf_counter, sleep, thread_time
from typing import Any

from textual import events

from tests.support.hostile_server import CASES, HostileServer, serve_hostile
from tests.tools.benchmarks.stage import SIZE, fill, laid, make_app, memory, until
from tui_chat.cli.app import collect_seldom

PATIENCE = 15.0
"""Seconds until Esc is pressed."""
HELD = 200
"""Milliseconds that the event loop may be busy with one thing."""


class LoopWatch:
    """The longest time between two turns of the event loop, and the highest memory."""

    def __init__(self) -> None:
        self.gap = 0.0
        self.worked = 0.0
        """The longest processor time of one turn of the loop."""
        self.peak = memory()
        self.where: dict[str, float] = {}
        """Where the loop's thread was when it had been busy for too long, and for how long."""
        self._turn = perf_counter()
        self._thread = threading.get_ident()
        self._watching = asyncio.create_task(self._watch())
        self._stopped = False
        threading.Thread(target=self._sample, daemon=True).start()

    async def _watch(self) -> None:
        last, worked = perf_counter(), thread_time()
        while True:
            await asyncio.sleep(0.001)
            now, works = perf_counter(), thread_time()
            self.gap, self.worked = max(self.gap, now - last), max(self.worked, works - worked)
            last, worked = now, works
            self._turn = now

    def _sample(self) -> None:
        while not self._stopped:
            self.peak = max(self.peak, memory())
            busy = perf_counter() - self._turn
            if busy * 1e3 > HELD / 2:
                frames = traceback.extract_stack(sys._current_frames()[self._thread])[-7:]
                names = (f"{Path(f.filename).stem}:{f.lineno} {f.name}" for f in reversed(frames))
                self.where[" < ".join(names)] = busy * 1e3
            sleep(0.005)

    def stop(self) -> None:
        """Stop watching."""
        self._stopped = True
        self._watching.cancel()


async def suffer(port: int, name: str) -> dict[str, Any]:
    """Send a message to a case, see the reply through, and return the figures."""
    server = HostileServer(0)
    server.port = port
    with tempfile.TemporaryDirectory() as folder:
        await fill(Path(folder), {"short": 4})
        app = make_app(Path(folder), "mirror", (server.endpoint(name),))
        async with app.run_test(size=SIZE) as pilot:
            await laid(pilot)
            collect_seldom()
            workspace = app.workspace
            assert workspace is not None
            await workspace.settings.set_model("hostile", "m")
            before, watch = memory(), LoopWatch()
            began = perf_counter()
            sending = asyncio.create_task(workspace.replies.submit("Hi.", ()))
            escaped: float | None = None
            try:
                await until(lambda: sending.done() and not workspace.state.is_streaming, PATIENCE)
            except TimeoutError:
                escaped = perf_counter()
                app.post_message(events.Key("escape", None))  # a pilot waits until all is quiet
                await until(lambda: not workspace.state.is_streaming, 60)
                escaped = perf_counter() - escaped
            took = perf_counter() - began
            await asyncio.sleep(2)  # what comes after the reply counts as well
            watch.stop()
            entry = workspace.state.entries[-1]
            return {
                "memory": watch.peak - before,
                "gap": watch.gap * 1e3,
                "worked": watch.worked * 1e3,
                "escaped": escaped,
                "took": took,
                "status": entry.status,
                "kept": len(entry.message.content),
                "calls": len(entry.message.tool_calls),
                "error": entry.error,
                "where": sorted(watch.where.items(), key=lambda found: -found[1])[:5],
            }


async def show(port: int, name: str, *, where: bool) -> None:
    """Run a case in a process of its own, and print its line, and where the loop was busy."""
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.tools.benchmarks.hostile", "--port", str(port), name),
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await child.communicate()
    lines = output.decode().splitlines()
    if child.returncode or not lines:
        print(f"{name:<30} the app ended with status {child.returncode}", flush=True)
        return
    found = json.loads(lines[-1])
    escaped = "" if found["escaped"] is None else f", Esc {found['escaped'] * 1e3:.0f} ms"
    is_held = found["worked"] <= HELD and (found["escaped"] or 0) * 1e3 <= HELD
    held = "held" if is_held else "MISSED"
    print(
        f"{name:<30}{found['memory']:6.0f} MB more, loop busy {found['gap']:5.0f} ms "
        f"({found['worked']:.0f} ms of processor): {held}"
        f"{escaped}; {found['took']:.1f} s, {found['status']}, {found['kept']:,} characters, "
        f"{found['calls']:,} calls; {found['error'][:110]}",
        flush=True,
    )
    for place, busy in found["where"] if where else ():
        print(f"    {busy:5.0f} ms: {place}", flush=True)


async def main() -> None:
    """Run the cases that are named, or all of them."""
    options = argparse.ArgumentParser()
    options.add_argument("cases", nargs="*", help="names of cases; all if none is given")
    options.add_argument("--megabytes", type=int, default=1000, help="what a case sends at most")
    options.add_argument("--where", action="store_true", help="tell where the loop was busy")
    options.add_argument("--port", type=int, help=argparse.SUPPRESS)
    asked = options.parse_args()
    if asked.port:
        print(json.dumps(await suffer(asked.port, asked.cases[0])))
        return
    async with serve_hostile(asked.megabytes * 1_000_000) as server:
        for name in asked.cases or CASES:
            await show(server.port, name, where=asked.where)


if __name__ == "__main__":
    asyncio.run(main())
