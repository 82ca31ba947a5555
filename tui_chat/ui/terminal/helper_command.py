"""Runs a small command such as tmux, which may be missing, hang or fail."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from shutil import which


def run_helper(
    command: Sequence[str],
    environ: Mapping[str, str],
    timeout: float,
    *,
    given: bytes = b"",
    wants_output: bool = False,
) -> bytes | None:
    """Run a command without a shell, with `given` as its standard input, and return its output.

    The output is empty unless `wants_output`. Returns None if the command is not found, fails or
    takes longer than `timeout` seconds.
    """
    program = which(command[0], path=environ.get("PATH", ""))
    if program is None:
        return None
    try:
        # Nothing may reach the screen, and some commands stay in the background with our pipes.
        done = subprocess.run(  # noqa: S603 - fixed commands
            (program, *command[1:]),
            input=given,
            stdout=subprocess.PIPE if wants_output else subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=dict(environ),
            timeout=timeout,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return None if done.returncode else done.stdout or b""
