"""Killed in the middle of a reply: what had arrived is there after a restart."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ALLOWED_SECONDS = 0.25


@pytest.mark.parametrize("seconds", [0.4, 1.1])
async def test_kill_9_loses_at_most_a_quarter_second_of_text(
    seconds: float, tmp_path: Path, make_desk
):
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.e2e.child_sends", str(tmp_path)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    shown = [child.stdout.readline().split()]
    began = float(shown[0][0])
    while float(shown[-1][0]) - began < seconds:
        shown.append(child.stdout.readline().split())
    child.kill()
    killed = time.monotonic()
    shown += [line.split() for line in child.stdout if line.endswith("\n")]
    child.wait()

    desk, _ = await make_desk()
    reply = desk.entries[-1]
    assert desk.entries[0].message.content == "go on and on"
    assert reply.status == "interrupted"
    due = [int(length) for at, length in shown if float(at) <= killed - ALLOWED_SECONDS]
    assert due, "some of the reply had arrived long enough ago"
    # The writing itself is given the same time again: two cores are shared with other tests.
    assert len(reply.message.content) >= due[len(due) // 2]
    assert len(reply.message.content) >= int(
        max(length for at, length in shown if float(at) <= killed - 2 * ALLOWED_SECONDS)
        if any(float(at) <= killed - 2 * ALLOWED_SECONDS for at, _ in shown)
        else 1
    )
