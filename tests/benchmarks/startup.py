"""Start-up: time to the first usable frame, beside a bare Textual app, in one run in tmux.

    uv run python tests/benchmarks/startup.py [ROUNDS]

A usable frame is one that shows what was typed: a key is sent to each program the moment it is
started, and the clock runs until the screen shows it (for the bare app, which has no input:
until its one Static is there). The terminal echoes keys before a program takes over; what is
looked for is the text inside the composer's frame. The rounds alternate, so that a noisy
machine is noisy for both.
Needs tmux. Prints medians and their ratio; the goal is a ratio of at most 1.5.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

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


def main() -> None:
    if shutil.which("tmux") is None:
        sys.exit("tmux is needed")
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    with tempfile.TemporaryDirectory() as folder:
        bare = Path(folder, "bare.py")
        bare.write_text(BARE)
        data = Path(folder, "data")
        python = sys.executable
        ours = f"env XDG_DATA_HOME={data} XDG_CONFIG_HOME={folder} {python} -m tui_chat"
        os.environ["TERM"] = "xterm-256color"
        commands = {
            "bare Textual": (f"{python} {bare}", "", "ready-to-use"),
            "tui-chat": (ours, "first-keys", "│ first-keys"),
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
    print(f"ratio {medians['tui-chat'] / medians['bare Textual']:.2f} (goal: at most 1.5)")


if __name__ == "__main__":
    main()
