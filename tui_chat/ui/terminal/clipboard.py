"""Copied text on its way past the terminal: many do not know the sequence for it.

1. Textual writes `ESC]52;c;text BEL`. xterm (by default), GNOME's terminals and macOS's ignore it.
2. tmux drops it where `set-clipboard` is `external`, as it is unless it is configured; `tmux
   load-buffer -w` (3.2 and newer) puts the text into its buffer and hands it on to the terminal.
3. Elsewhere, where the terminal is on this machine, the desktop's own command works. Over SSH it
   would fill the clipboard of the machine one is not sitting at.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

from tui_chat.ui.terminal.asking import ask

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
    return any(
        ask(command, environ, AT_MOST, text=text) is not None for command in commands(environ)
    )
