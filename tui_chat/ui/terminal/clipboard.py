"""Copies text with a command, for terminals that ignore the escape sequence for it.

1. Textual writes `ESC]52;c;text BEL`. xterm (by default), GNOME's terminals and macOS's ignore it.
2. tmux drops it where `set-clipboard` is `external`, as it is unless it is configured; `tmux
   load-buffer -w` (3.2 and newer) puts the text into its buffer and hands it on to the terminal.
3. Elsewhere the desktop's own command works if the terminal is on this machine. Over SSH it would
   fill the clipboard of the wrong machine.
4. Windows and WSL have `clip.exe`, which reads UTF-16 with a byte order mark, and else the system's
   code page.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping

from tui_chat.ui.terminal.helper_command import run_helper

TIMEOUT = 5.0
"""Seconds to wait for a command."""

Command = tuple[str, ...]

_CLIP: Command = ("clip.exe",)


def copy_commands(environ: Mapping[str, str], platform: str = sys.platform) -> tuple[Command, ...]:
    """Return the commands that may copy their standard input, the best one first."""
    if environ.get("TMUX"):
        return ("tmux", "load-buffer", "-w", "-"), ("tmux", "load-buffer", "-")
    if environ.get("SSH_CONNECTION") or environ.get("SSH_TTY"):
        return ()
    if platform == "darwin":
        return (("pbcopy",),)
    if platform == "win32":
        return (_CLIP,)
    found: list[Command] = [_CLIP] if environ.get("WSL_DISTRO_NAME") else []
    if environ.get("WAYLAND_DISPLAY"):
        found.append(("wl-copy",))
    if environ.get("DISPLAY"):
        found += [("xclip", "-selection", "clipboard", "-in"), ("xsel", "--clipboard", "--input")]
    return tuple(found)


def copy_with_command(text: str, environ: Mapping[str, str]) -> bool:
    """Copy a text with the first command that succeeds. Return False if none did."""
    return any(
        run_helper(command, environ, TIMEOUT, given=_encoded(text, command)) is not None
        for command in copy_commands(environ)
    )


def _encoded(text: str, command: Command) -> bytes:
    return text.encode("utf-16" if command == _CLIP else "utf-8", "replace")


class Clipboard:
    """Copies texts with a command, one after the other."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._lock = asyncio.Lock()
        """Held while a command runs: the last copy must win."""

    async def copy(self, text: str) -> None:
        """Copy a text, if any command can."""
        async with self._lock:
            await asyncio.to_thread(copy_with_command, text, self._environ)
