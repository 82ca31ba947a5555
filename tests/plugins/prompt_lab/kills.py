"""Kills a run at random moments and resumes it, until it has ended: every cell exactly once.

python -m tests.plugins.prompt_lab.kills 50
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

CELLS = 60


def run_with_kills(folder: Path, kills: int, seed: int = 0) -> int:
    """Run a suite, kill it, resume it, again and again; return how many runs there were. Raises
    AssertionError if a cell was not stored exactly once.
    """
    dice = random.Random(seed)
    check = {"type": "contains", "value": "Hello"}
    tests = [{"draft": f"Hello {number}", "assert": [check]} for number in range(CELLS)]
    suite = {"presets": ["none"], "models": ["loopback/echo:20"], "tests": tests}
    path, lines = folder / "talk.eval.json", folder / "lines.jsonl"
    path.write_text(json.dumps(suite))
    folders = ["--data-dir", str(folder / "data"), "--config-dir", str(folder / "config")]
    program = [sys.executable, "-m", "tui_chat", *folders, "eval"]

    def start(*words: str) -> subprocess.Popen[bytes]:
        command = [*program, "run", *words, "--jsonl", str(lines)]
        nowhere = subprocess.DEVNULL
        return subprocess.Popen(command, stdin=nowhere, stdout=nowhere, stderr=nowhere)

    killed, word, code = 0, str(path), None
    while killed < kills or code != 0:
        process = start(word)
        if killed < kills:
            with suppress(subprocess.TimeoutExpired):
                process.wait(dice.uniform(0.5, 4.0))
            if process.poll() is None:
                process.kill()
                killed += 1
        code = process.wait()
        # 0: it ended, so begin another; 2: it was killed before its plan was stored
        word = str(path) if code in (0, 2) else "--resume"
    shown = subprocess.run([*program, "list", "--json"], capture_output=True, check=True)
    runs = json.loads(shown.stdout)
    assert all(run["cells"] == {"passed": CELLS} for run in runs), runs
    stored = map(json.loads, lines.read_text().splitlines())
    counts = Counter((c["run"], c["case"]) for c in stored if c["status"] == "passed")
    assert max(counts.values()) == 1, "a cell that had ended was sent again"
    return len(runs)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as created:
        print(run_with_kills(Path(created), int(sys.argv[1]), time.time_ns()), "runs")
