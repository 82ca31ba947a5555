"""Whether anybody sees our window of tmux, which tells a program only with `focus-events on`."""

from __future__ import annotations

from collections.abc import Mapping

from tui_chat.ui.terminal.asking import ask

AT_MOST = 2.0
"""Seconds to wait for tmux."""


def is_unseen(environ: Mapping[str, str]) -> bool:
    """Whether another window of tmux is shown in place of ours, or none; False without tmux."""
    if not environ.get("TMUX"):
        return False
    pane = environ.get("TMUX_PANE", "")
    words = "#{window_active} #{session_attached}"
    command = ("tmux", "display-message", "-p", "-t", pane, words)
    told = (ask(command, environ, AT_MOST, listens=True) or b"").split()
    return len(told) == 2 and b"0" in told
