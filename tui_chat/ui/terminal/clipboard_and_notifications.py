"""Services of the terminal, or of a small command beside it: desktop notifications and the
clipboard. A command may be missing, hang or fail.

Notifications are for when another window has the focus. iTerm2, kitty, WezTerm, Ghostty and Windows
Terminal know `ESC]9;text BEL`, urxvt and foot `ESC]777;notify;title;text BEL`; other terminals
ignore both. The bell follows, with which any terminal can mark its window; of tmux, it is the bell.

Text is copied with an escape sequence, and with a command for terminals that ignore it.

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
import subprocess
import sys
from collections.abc import Mapping, Sequence
from shutil import which
from typing import TYPE_CHECKING, Literal

from textual.app import App

from tui_chat.models.sanitize import one_line
from tui_chat.models.session import Entry

if TYPE_CHECKING:
    from tui_chat.workspace.events import WorkspaceEvent

TIMEOUT = 5.0
"""Seconds to wait for a command."""

Command = tuple[str, ...]

_CLIP: Command = ("clip.exe",)
Notify = Literal["osc9", "osc777", "bell", "off"]
"""The way to notify."""

BELL = "\x07"

LONG_REPLY = 5.0
"""Seconds from which the end of a reply is notified if another window has the focus."""


def run_helper(command: Sequence[str], environ: Mapping[str, str], given: bytes) -> bool:
    """Run a command without a shell, with `given` as its standard input. Return False if it is not
    found, fails or takes too long.
    """
    program = which(command[0], path=environ.get("PATH", ""))
    if program is None:
        return False
    try:
        # Nothing may reach the screen, and some commands stay in the background with our pipes.
        done = subprocess.run(  # noqa: S603 - fixed commands
            (program, *command[1:]),
            input=given,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=dict(environ),
            timeout=TIMEOUT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return not done.returncode


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
    commands: list[Command] = [_CLIP] if environ.get("WSL_DISTRO_NAME") else []
    if environ.get("WAYLAND_DISPLAY"):
        commands.append(("wl-copy",))
    if environ.get("DISPLAY"):
        commands += [
            ("xclip", "-selection", "clipboard", "-in"),
            ("xsel", "--clipboard", "--input"),
        ]
    return tuple(commands)


def copy_with_command(text: str, environ: Mapping[str, str]) -> bool:
    """Copy a text with the first command that succeeds. Return False if none did."""
    return any(
        run_helper(command, environ, _encoded(text, command)) for command in copy_commands(environ)
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


def notification_sequence(how: Notify, title: str, text: str) -> str:
    """Return the bytes for the terminal, without control characters of the title and text."""
    title, text = one_line(title, 60).replace(";", ","), one_line(text, 120)
    match how:
        case "off":
            return ""
        case "bell":
            return BELL
        case "osc9":
            return f"\x1b]9;{title}: {text}{BELL}{BELL}"
        case "osc777":
            return f"\x1b]777;notify;{title};{text}{BELL}{BELL}"


class ReplyAlerts:
    """Notifies users who look at another window that a long reply has ended."""

    def __init__(self, app: App[None], how: Notify) -> None:
        self._app = app
        self.how: Notify = how
        """How they are notified."""
        self._streaming_id = ""
        """The id of the reply that is streaming in the active session."""

    def handle(self, event: WorkspaceEvent, entries: tuple[Entry, ...]) -> None:
        """Follow the replies; `entries` are the active branch's."""
        from tui_chat.workspace.events import BranchChanged, ReplySettled

        last = entries[-1] if entries else None
        if isinstance(event, ReplySettled) and event.title and event.entry is not None:
            self._reply_ended(event.entry, event.title)
        elif isinstance(event, BranchChanged) and last is not None:
            if last.status == "streaming":
                self._streaming_id = last.message.id
            elif last.message.id == self._streaming_id:
                self._streaming_id = ""
                self._reply_ended(last)

    def _reply_ended(self, entry: Entry, title: str = "") -> None:
        if self._app.app_focus or (entry.seconds or 0) < LONG_REPLY:
            return
        # Nothing of it is quoted: desktops keep notifications.
        text = "The reply failed." if entry.status == "failed" else "The reply has ended."
        text = f"{title}: {text}" if title else text
        sequence = notification_sequence(self.how, "tui-chat", text)
        driver = self._app._driver  # pyright: ignore[reportPrivateUsage]  Textual has no public way to write
        if sequence and driver is not None:
            driver.write(sequence)
