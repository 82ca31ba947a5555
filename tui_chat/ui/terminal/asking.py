"""Asking a small program beside us, such as tmux, which may be missing, hang or fail."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from shutil import which


def ask(
    command: Sequence[str],
    environ: Mapping[str, str],
    seconds: float,
    *,
    text: str = "",
    listens: bool = False,
) -> bytes | None:
    """Run a command of ours, without a shell, with `text` as its standard input, and return what
    it says, nothing unless one `listens`; None where it did not do it within so many seconds.
    """
    program = which(command[0], path=environ.get("PATH", ""))
    if program is None:
        return None
    try:
        # Nothing of it may reach our screen, and some go on in the background with our pipes.
        done = subprocess.run(  # noqa: S603 - constants of ours
            (program, *command[1:]),
            input=text.encode("utf-8", "replace"),
            stdout=subprocess.PIPE if listens else subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=dict(environ),
            timeout=seconds,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return None if done.returncode else done.stdout or b""
