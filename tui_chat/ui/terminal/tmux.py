"""Whether anybody sees our window of tmux, which tells a program only with `focus-events on`."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from shutil import which

AT_MOST = 2.0
"""Seconds to wait for tmux."""


def is_unseen(environ: Mapping[str, str]) -> bool:
    """Whether another window of tmux is shown in place of ours, or none; False without tmux."""
    tmux = which("tmux", path=environ.get("PATH", "")) if environ.get("TMUX") else None
    if tmux is None:
        return False
    asked = (tmux, "display-message", "-p", "-t", environ.get("TMUX_PANE", ""))
    try:
        done = subprocess.run(  # noqa: S603 - a constant of ours, no shell
            (*asked, "#{window_active} #{session_attached}"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(environ),
            timeout=AT_MOST,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    words = done.stdout.split()
    return done.returncode == 0 and len(words) == 2 and b"0" in words
