"""Start-up: time to the first usable frame, beside a bare Textual app, in one run in tmux.

    uv run python -m tests.tools.benchmarks.startup [ROUNDS]

A usable frame is one that shows what was typed: a key is sent to each program the moment it is
started, and the clock runs until the screen shows it (for the bare app, which has no input:
until its one Static is there). The terminal echoes keys before a program takes over; what is
looked for is the text inside the composer's frame. The rounds alternate, so that a noisy
machine is noisy for all.

Once with no sessions and once with 2,000 sessions and 27,000 messages, of which the newest
session is opened; for both also the time until the sidebar shows what there is.
Needs tmux. Prints medians and their ratios; the goal is at most 1.5 times the bare app, and
the same with many sessions as with none.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.tools.benchmarks.store_data import fill
from tui_chat.paths import database_file
from tui_chat.store import Store

SESSIONS, MESSAGES = 2_000, 27_000

BARE = """
from textual.app import App
from textual.widgets import Static

class Bare(App):
    def compose(self):
        yield Static("ready-to-use")

Bare().run()
"""
SIZE = ("-x", "160", "-y", "45")


def tmux(*words: str) -> str:
    done = subprocess.run(
        ["tmux", "-L", "tui-chat-bench", *words], capture_output=True, text=True, check=False
    )
    return done.stdout


def seconds_until(command: str, typed: str, shown: str) -> float:
    """Start a command in a fresh pane, type at once, and wait for the screen to show it."""
    began = time.perf_counter()
    tmux("new-session", "-d", "-s", "bench", *SIZE, command)
    if typed:
        tmux("send-keys", "-t", "bench", "-l", typed)
    try:
        while shown not in tmux("capture-pane", "-p", "-t", "bench"):
            if time.perf_counter() - began > 30:
                raise TimeoutError(tmux("capture-pane", "-p", "-t", "bench"))
            time.sleep(0.005)
        return time.perf_counter() - began
    finally:
        tmux("kill-session", "-t", "bench")


async def make_many(data: Path) -> str:
    """Make a database with many sessions; return how the title of the newest begins."""
    path = database_file(data)
    path.parent.mkdir(parents=True, exist_ok=True)
    await fill(path, MESSAGES, SESSIONS)
    async with await Store.open(path, now=time.time, new_id=lambda: "none") as store:
        newest = (await store.sessions.list(1))[0]
        await store.settings.set("session", newest.session_id)
    return newest.title[:8]


def main() -> None:
    if shutil.which("tmux") is None:
        sys.exit("tmux is needed")
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    with tempfile.TemporaryDirectory() as folder:
        bare = Path(folder, "bare.py")
        bare.write_text(BARE)
        none, many = Path(folder, "none"), Path(folder, "many")
        newest = asyncio.run(make_many(many))
        python = sys.executable
        os.environ["TERM"] = "xterm-256color"
        # As for a user, whose modules are compiled once: without this, each start compiles them.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = str(Path(folder, "compiled"))

        def ours(data: Path) -> str:
            return f"{python} -m tui_chat --config-dir {folder} --data-dir {data}"

        commands = {
            "bare Textual": (f"{python} {bare}", "", "ready-to-use"),
            "no sessions": (ours(none), "first-keys", "│ first-keys"),
            "many sessions": (ours(many), "first-keys", "│ first-keys"),
            "none, listed": (ours(none), "", "No sessions yet"),
            "many, listed": (ours(many), "", newest),
        }
        times: dict[str, list[float]] = {name: [] for name in commands}
        tmux("new-session", "-d", "-s", "keeper", "cat")  # or the server would end in between
        for round_ in range(rounds + 1):
            for name, (command, typed, shown) in commands.items():
                taken = seconds_until(command, typed, shown)
                if round_:  # the first round warms the disk's cache and makes the database
                    times[name].append(taken)
        tmux("kill-server")
    medians = {name: statistics.median(taken) for name, taken in times.items()}
    for name, taken in times.items():
        low, high = min(taken), max(taken)
        print(f"{name:<14} median {medians[name]:.3f} s   ({low:.3f} to {high:.3f})")
    for one, other, goal in (
        ("no sessions", "bare Textual", "at most 1.5"),
        ("many sessions", "no sessions", "1"),
        ("many, listed", "none, listed", "1"),
    ):
        print(f"{one} / {other}: {medians[one] / medians[other]:.2f} (goal: {goal})")


if __name__ == "__main__":
    main()
