"""Copied text on its way past the terminal: many do not know the sequence for it.

1. Textual writes `ESC]52;c;text BEL`. xterm (by default), GNOME's terminals and macOS's ignore it.
2. tmux drops it where `set-clipboard` is `external`, as it is unless it is configured; `tmux
   load-buffer -w` (3.2 and newer) puts the text into its buffer and hands it on to the terminal.
3. Elsewhere, where the terminal is on this machine, the desktop's own command works. Over SSH it
   would fill the clipboard of the machine one is not sitting at.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from shutil import which

AT_MOST = 5.0
"""Seconds to wait for such a command."""

Command = tuple[str, ...]


def commands(environ: Mapping[str, str], platform: str = sys.platform) -> tuple[Command, ...]:
    """Return the commands that may take a text from their standard input, the best one first."""
    if environ.get("TMUX"):
        return ("tmux", "load-buffer", "-w", "-"), ("tmux", "load-buffer", "-")
    if environ.get("SSH_CONNECTION") or environ.get("SSH_TTY"):
        return ()
    if platform == "darwin":
        return (("pbcopy",),)
    found: list[Command] = []
    if environ.get("WAYLAND_DISPLAY"):
        found.append(("wl-copy",))
    if environ.get("DISPLAY"):
        found += [("xclip", "-selection", "clipboard", "-in"), ("xsel", "--clipboard", "--input")]
    return tuple(found)


def hand_over(text: str, environ: Mapping[str, str]) -> bool:
    """Give a text to the first command that takes it; return whether one did."""
    return any(_took(command, text, environ) for command in commands(environ))


def _took(command: Command, text: str, environ: Mapping[str, str]) -> bool:
    program = which(command[0], path=environ.get("PATH", ""))
    if program is None:
        return False
    try:
        # Nothing of it may reach our screen, and some go on in the background with our pipes.
        done = subprocess.run(  # noqa: S603 - a constant of ours, no shell
            (program, *command[1:]),
            input=text.encode("utf-8", "replace"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=dict(environ),
            timeout=AT_MOST,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
